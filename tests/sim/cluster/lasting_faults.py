"""Misfortunes that stay while the availability judge watches (rule R36)."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager

from tests.sim.cluster.availability import AVAILABLE_AFTER_MS, AvailabilityJudge
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.links import COORDINATION, Link
from tests.sim.cluster.machines import NodeMachine, Surrounding
from tests.sim.options import LastingFault

LASTS_MS = AVAILABLE_AFTER_MS + 6_000
FREE_BYTES = (0, 100, 5_000)
CAPACITY_BYTES = 1 << 40


class LastingMisfortune:
    def __init__(self, around: Surrounding, hardware: Hardware, judge: AvailabilityJudge) -> None:
        self._judge = judge
        self._around = around
        self._hardware = hardware
        self._random = random.Random(f"lasting faults {around.options.seed}")

    async def go_through(self, kind: LastingFault) -> None:
        """Begins at some moment, and is over when this returns."""
        await asyncio.sleep(self._random.uniform(0, 3))
        self._around.coverage[f"fault: {kind.value}"] += 1
        with self._going_on(kind):
            self._judge.disturbed()
            await asyncio.sleep(LASTS_MS / 1000)

    @contextmanager
    def _going_on(self, kind: LastingFault) -> Iterator[None]:
        machine = self._victim()
        match kind:
            case LastingFault.FULL_DISK:
                machine.disk.capacity_bytes = machine.disk.used_bytes + self._random.choice(FREE_BYTES)
                yield
                machine.disk.capacity_bytes = CAPACITY_BYTES
            case LastingFault.LONG_PAUSE:
                process = machine.process
                machine.pause()
                yield
                if process is not None:
                    process.resume()
            case _:
                links = self._links(kind, machine.name)
                for link in links:
                    link.block()
                yield
                for link in links:
                    link.open()

    def _victim(self) -> NodeMachine:
        leader = self._hardware.leader_of_some_partition()
        nodes = list(self._hardware.nodes.values())
        return leader if leader is not None and self._random.random() < 0.75 else self._random.choice(nodes)

    def _links(self, kind: LastingFault, victim: str) -> list[Link]:
        nodes = [machine.name for machine in self._hardware.nodes.values() if machine.name != victim]
        links = self._around.network.links
        match kind:
            case LastingFault.CUT_OFF:
                return [*links.between([victim], nodes), *links.between(nodes, [victim])]
            case LastingFault.UNHEARD:
                return list(links.between([victim], nodes))
            case LastingFault.DEAF:
                return list(links.between(nodes, [victim]))
            case LastingFault.UNHEARD_BY_ONE:
                return list(links.between([victim], self._random.sample(nodes, min(1, len(nodes)))))
            case _:
                return self._shores(victim, has_store=kind is LastingFault.ISLAND)

    def _shores(self, victim: str, *, has_store: bool) -> list[Link]:
        """All that an island of the node and a gateway is cut off from."""
        island = [victim, self._random.choice(self._hardware.gateways).name]
        rest = [host.name for host in self._hardware.hosts if host.name not in island]
        if not has_store:
            rest.append(COORDINATION)
        links = self._around.network.links
        return [*links.between(island, rest), *links.between(rest, island)]
