"""A simulated cluster for a script: nothing goes wrong but what the script makes go wrong, and when.

`play` runs the script, lets everything come to its end, and has every checker judge what happened.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from acklog.wire.identifiers import parse_message_id
from app.processes.cluster_node import ClusterNode
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import ControllerClaim, PartitionState
from storage.node.replicas.replica_host import ReplicaHost
from tests.sim.clients import items_of, outcome_of
from tests.sim.cluster.coordination import NO_FAULTS
from tests.sim.cluster.inspector import replicas_of
from tests.sim.cluster.links import COORDINATION, LinkSpeed
from tests.sim.cluster.machines import GatewayMachine, NodeMachine
from tests.sim.drawn_options import draw_cluster_options
from tests.sim.history import Outcome, Sent
from tests.sim.http_client import ConnectionLostError
from tests.sim.loop import SimLoop, simulate
from tests.sim.options import Options
from tests.sim.world import QUEUE, World

Script = Callable[["Stage"], Coroutine[Any, Any, None]]
PATIENCE_S = 60.0


class Stage:
    """What a script can see and do. Partition 0 of the one topic is all there is."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.hardware = world.hardware
        self._sent = 0

    # --- seeing ---

    @property
    def state(self) -> PartitionState:
        """As the coordination store has it."""
        return next(state for place, state in self.world.store.partitions.items() if place[1] == 0)

    @property
    def leader(self) -> NodeMachine:
        return self.hardware.nodes[self.state.leader]

    def others(self, *machines: NodeMachine) -> list[NodeMachine]:
        """The nodes that are not these."""
        return [machine for machine in self.hardware.nodes.values() if machine not in machines]

    def is_up(self, machine: NodeMachine) -> bool:
        """It runs, and holds its replica."""
        return machine.node is not None and any(host.topic.name == QUEUE for host in replicas_of(machine.node))

    def replica(self, machine: NodeMachine) -> ReplicaHost:
        return next(host for host in replicas_of(running(machine)) if host.topic.name == QUEUE)

    def log_end(self, machine: NodeMachine) -> int:
        return self.replica(machine).logs[0].log_end

    async def controller(self) -> int | None:
        item = await self.world.coordination.store.get(keys.CONTROLLER)
        return None if item is None else decode(ControllerClaim, item.value).node_id

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        for _ in range(int(PATIENCE_S / 0.02)):
            if condition():
                return
            await self.sleep(0.02)
        raise AssertionError(f"waited in vain until {what}: {self.state}")

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s)

    # --- doing ---

    async def send(self, *, acks: int | str = "all", gateway: GatewayMachine | None = None) -> Sent:
        """One message, tried once. What is acknowledged by fewer than all replicas may be lost, so it counts as
        unknown."""
        self._sent += 1
        uid = f"script-{self._sent}"
        body = json.dumps({"uid": uid, "pad": ""})
        request = f'{{"queue":"{QUEUE}","body":{body},"acks":{json.dumps(acks)}}}'.encode()
        http = (gateway or self.hardware.gateways[0]).http
        assert http is not None
        began_ms = self.world.around.now_ms()
        item: dict[str, Any] = {"code": "OUTCOME_UNKNOWN"}
        with contextlib.suppress(ConnectionLostError):
            item = items_of(await http.post("/messages", request, leave_after_s=PATIENCE_S), False, 1)[0]
        code = str(item.get("code", ""))
        outcome = outcome_of(code) if acks == "all" or code else Outcome.UNKNOWN
        place = parse_message_id(item["messageId"]) if outcome is Outcome.OK else None
        sent = Sent(
            began_ms=began_ms,
            ended_ms=self.world.around.now_ms(),
            sender=uid,  # several may be on their way at a time
            request=self._sent,
            index=0,
            uid=uid,
            queue=QUEUE,
            body=body,
            outcome=outcome,
            code=code,
            partition=place.partition if place else -1,
            offset=place.offset if place else -1,
            epoch=place.epoch if place else -1,
        )
        self.world.history.add(sent)
        return sent

    async def send_acknowledged(self, count: int) -> list[Sent]:
        """So many that are acknowledged, however often it has to be tried."""
        acknowledged: list[Sent] = []
        for _ in range(100 * count):
            sent = await self.send()
            if sent.outcome is Outcome.OK:
                acknowledged.append(sent)
                if len(acknowledged) == count:
                    return acknowledged
            await self.sleep(0.2)
        raise AssertionError(f"{len(acknowledged)} of {count} messages were acknowledged")

    async def first_contact(self) -> None:
        """A group begins to read, which is a record in the delivery log. Before anything is sent, so that nothing is
        delivered."""
        http = self.hardware.gateways[0].http
        assert http is not None
        answer = await http.get("/messages", {"queue": QUEUE, "group": "group-0"})
        assert (answer.status, answer.json["messages"]) == (200, [])

    def kill(self, machine: NodeMachine, *, loses_power: bool = False) -> None:
        """And keep it down until `start`."""
        self.hardware.kept_down.add(machine.name)
        machine.end(loses_power=loses_power)

    def start(self, machine: NodeMachine) -> None:
        self.hardware.restart_at_once.add(machine.name)
        self.hardware.kept_down.discard(machine.name)

    async def drain(self, machine: NodeMachine) -> None:
        http = self.hardware.gateways[0].http
        assert http is not None
        assert (await http.request("PUT", f"/cluster/nodes/{machine.node_id}/drain")).status == 202

    def cut(self, *hosts: str) -> None:
        """No two of these reach each other any more."""
        for link in self.world.network.links.between(hosts, hosts):
            link.block()

    def cut_from_store(self, machine: NodeMachine) -> None:
        self.cut(machine.name, COORDINATION)

    def heal(self) -> None:
        self.world.network.links.heal()

    async def all_in_sync(self) -> None:
        await self.until(lambda: set(self.state.isr) == set(self.state.replicas), "all are in sync")


def running(machine: NodeMachine) -> ClusterNode:
    assert machine.node is not None, f"{machine.name} does not run"
    return machine.node


def calm_options(seed: int, **changes: Any) -> Options:
    """Three nodes, three replicas, two of which must be in sync, two gateways; quick, and nothing fails."""
    drawn = draw_cluster_options(seed)
    server = replace(
        drawn.server,
        partitions=1,
        consumers=1,
        segment_bytes=50_000,
        journal_file_bytes=65_536,
        disk_mean_ms=0.2,
        disk_stall_probability=0.0,
        group_visibility_ms=3_000,
        max_attempts=16,
        auto_ack_probability=0.0,
        nack_probability=0.0,
        slow_probability=0.0,
        forget_probability=0.0,
        disconnect_probability=0.0,
    )
    calm: dict[str, Any] = {
        "server": server,
        "faults": (),
        "restart_delays_ms": (50,),
        "nodes": 3,
        "gateways": 2,
        "has_racks": False,
        "replication_factor": 3,
        "min_insync_replicas": 2,
        "max_replica_lag_ms": 500,
        "link": LinkSpeed(min_ms=0.1, mean_ms=0.2),
        "cut_probability": 0.0,
        "coordination": NO_FAULTS,
        "clock_skew_ms": 0,
        "clock_drift": 0.0,
        "registration_ttl_ms": 4_000,
        "election_ttl_ms": 1_500,
        "fetch_wait_ms": 200,
        "contact_ms": 800,
        "live_lag_records_max": 10_000,
        "fetch_bytes_max": 50_000,
        "repair_delay_ms": 300_000,
        "joins": 0,
        "leaves": 0,
        "seeks": 0,
        "deletions": 0,
        "readers": 0,
        "lasting_faults": (),
    }
    return replace(drawn, **(calm | changes))


def play(script: Script, *, seeds: range = range(3), **changes: Any) -> None:
    """Play the script in a few seeds, which order what is ready at the same time differently; raises AssertionError
    with what any checker complains about."""
    for seed in seeds:
        worlds: list[World] = []

        async def main(loop: SimLoop, seed: int = seed, worlds: list[World] = worlds) -> None:
            worlds.append(World(loop, calm_options(seed, **changes)))
            await worlds[0].set_up()
            await script(Stage(worlds[0]))
            await worlds[0].finish_calmly()

        simulate(seed, main)
        assert worlds[0].violations == [], "\n".join([f"seed {seed}", *worlds[0].violations])
