"""Machines that join a running cluster, and machines that leave it for good, the way that the manual says.

Who joins is started under a new number, with an empty disk, and is given replicas by orders; the controller may give it
more. Who leaves is drained, and taken away when the cluster says that it holds nothing.
"""

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

from tests.sim.cluster.administrator import Administrator
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.machines import NodeMachine, Surrounding
from tests.sim.cluster.store_observer import StoreObserver

TRIES_MAX = 5
TRIES_TO_LEAVE_MAX = 120


class Topology:
    """`changes` are to be run at the same time, and return when everybody has joined and left; `unfinished` says for
    whom that is still to come."""

    def __init__(
        self, around: Surrounding, hardware: Hardware, store: StoreObserver, administrator: Administrator
    ) -> None:
        self.unfinished: set[str] = set()
        self._options = around.options
        self._coverage = around.coverage
        self._hardware = hardware
        self._store = store
        self._administrator = administrator
        self._random = random.Random(f"topology changes {around.options.seed}")

    def changes(self) -> list[Coroutine[Any, Any, None]]:
        kinds = [self._join] * self._options.joins + [self._leave] * self._options.leaves
        return [kind(self._random.uniform(0, self._options.duration_ms / 1000)) for kind in kinds]

    # --- joining ---

    async def _join(self, at_s: float) -> None:
        await asyncio.sleep(at_s)
        machine = self._hardware.add_node()
        self.unfinished.add(f"{machine.name} joins")
        while machine.node_id not in self._store.nodes:
            if machine.node_id not in self._hardware.nodes:  # it came, and was taken away before this looked again
                self.unfinished.remove(f"{machine.name} joins")
                return
            await self._administrator.pause()
        self._coverage["nodes that joined"] += 1
        for topic_id, partition in sorted(self._store.partitions):
            if self._random.random() < 0.7:
                await self._give(machine, topic_id, partition)
        self.unfinished.remove(f"{machine.name} joins")

    async def _give(self, machine: NodeMachine, topic_id: str, partition: int) -> None:
        """It takes the place of another replica; maybe that of the leader."""
        for _ in range(TRIES_MAX):
            state = self._store.partitions.get((topic_id, partition))
            topic = self._store.topics.get(topic_id)
            if state is None or topic is None:  # it was deleted
                return
            if machine.node_id in state.replicas or len(state.replicas) != topic.replication_factor:
                return
            replicas = list(state.replicas)
            replicas[self._random.randrange(len(replicas))] = machine.node_id
            if await self._administrator.reassign(topic.name, partition, replicas):
                self._coverage["replicas ordered to a node that joined"] += 1
                return
            await self._administrator.pause()

    # --- leaving ---

    async def _leave(self, at_s: float) -> None:
        await asyncio.sleep(at_s)
        machine = await self._somebody_dispensable()
        if machine is None:
            self._coverage["nodes that could not be missed"] += 1
            return
        self._hardware.leaving.add(machine.node_id)
        self.unfinished.add(f"{machine.name} leaves")
        while not await self._is_empty(machine):
            await self._administrator.pause()
        await self._hardware.take_away(machine)
        self._coverage["nodes that left"] += 1
        self.unfinished.remove(f"{machine.name} leaves")

    async def _somebody_dispensable(self) -> NodeMachine | None:
        """None where nobody was in all this time."""
        for _ in range(TRIES_TO_LEAVE_MAX):
            if (machine := self._dispensable()) is not None:
                return machine
            await asyncio.sleep(0.5)
        return None

    def _dispensable(self) -> NodeMachine | None:
        """One of those that there are too many of, none while no more are there than some partition has replicas: those
        of Acklog's own topics have three where there were three nodes, whatever was asked for others."""
        staying = [machine for number, machine in self._hardware.nodes.items() if number not in self._hardware.leaving]
        registered = [machine for machine in staying if machine.node_id in self._store.nodes]
        factors = [topic.replication_factor for topic in self._store.topics.values()]
        needed = max(self._options.replication_factor, *factors)
        return self._random.choice(staying) if len(registered) > needed else None

    async def _is_empty(self, machine: NodeMachine) -> bool:
        """By what the cluster says to whoever asks; the wish to drain it is made as often as it does not show."""
        status = await self._administrator.look()
        found = [] if status is None else [node for node in status["nodes"] if node["node"] == machine.node_id]
        if not found:
            return False
        if not found[0]["draining"]:
            await self._administrator.drain(machine.node_id)
            return False
        return bool(found[0]["replicas"] == 0)
