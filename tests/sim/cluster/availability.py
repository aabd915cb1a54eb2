"""Judges availability while faults go on (rule R36): where a quorum has been left for a while, writes are taken."""

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Collection

from acklog.wire.identifiers import parse_message_id
from cluster.model.values import PartitionState
from tests.sim.clients import Surroundings, outcome_of
from tests.sim.cluster.coordination import Coordination
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.links import COORDINATION
from tests.sim.cluster.machines import GatewayMachine, Host, NodeMachine
from tests.sim.cluster.quorum import GatewayName, Quorum, quorums
from tests.sim.cluster.store_observer import StoreObserver
from tests.sim.history import Outcome, Sent
from tests.sim.http_client import ConnectionLostError

AVAILABLE_AFTER_MS = 15_000
"""How long after a fault, or after whatever makes a quorum possible again, every partition takes writes: the end of a
registration, of at most 10 s here, an election, and what followers may lag. It is to become 5 s and the registration's
time."""

TRIES_MS = 5_000
"""How old the last write that was taken may be. Writes are tried all the time: a follower is late from when it lacks
something."""

LOOK_INTERVAL_S = 0.25
PAUSE_S = 0.5
TRY_S = 2.0
CLOGGED_MS = 100.0
ROOM_BYTES = 1 << 30

_Place = tuple[str, int]
_Life = tuple[Quorum, frozenset[str]]
"""A quorum, and the processes that it is made of."""


class AvailabilityJudge:
    """`run` watches for as long as it goes on. `disturbed` says that something else has gone wrong now.

    All replicas are asked for but those whose disks are called impaired: for 30 s after a disk was full nobody counts
    on it, so that leaders do not come and go, and a second fault within that time may find too few (seeds 133, 158 and
    990). Those of them that are in sync are asked for as followers, and to lead where the leader's registration ends;
    a leader that stays registered hands nothing over to them (seed 1189).
    """

    def __init__(
        self, queue: str, coordination: Coordination, hardware: Hardware, store: StoreObserver, around: Surroundings
    ) -> None:
        self.violations: list[str] = []
        self._queue = queue
        self._view = _World(coordination, hardware)
        self._hardware = hardware
        self._store = store
        self._around = around
        self._random = random.Random(f"availability {around.options.seed}")
        self._since_ms: dict[_Place, dict[_Life, float]] = defaultdict(dict)
        self._taken_ms: dict[_Place, float] = {}
        self._probes: dict[_Place, asyncio.Task[None]] = {}
        self._sent = 0

    def disturbed(self) -> None:
        self._since_ms.clear()

    async def run(self) -> None:
        try:
            while True:
                for place, state in sorted(self._store.partitions.items()):
                    self._look(place, state)
                await asyncio.sleep(LOOK_INTERVAL_S)
        finally:
            for probe in self._probes.values():
                probe.cancel()

    def _look(self, place: _Place, state: PartitionState) -> None:
        topic = self._store.topics.get(place[0])
        if topic is None or topic.name != self._queue:
            return
        now_ms = self._around.now_ms()
        minimum = min(topic.config.min_insync_replicas, len(state.replicas))
        known = self._since_ms[place]
        impaired = {node for node, registration in self._store.nodes.items() if registration.has_impaired_storage}
        found = quorums(state, minimum, self._view, impaired=impaired)
        lives = [(quorum, self._processes(quorum)) for quorum in found]
        known = self._since_ms[place] = {life: known.get(life, now_ms) for life in lives}
        if not known:
            return
        held_ms = now_ms - min(known.values())
        oldest = min(known, key=lambda life: (known[life], life[0].gateway, sorted(life[0].members)))
        self._probe(place, oldest[0].gateway)
        if held_ms >= AVAILABLE_AFTER_MS and self._taken_ms.get(place, 0.0) < now_ms - TRIES_MS:
            self._complain(place, state, oldest[0], held_ms)
        elif held_ms >= AVAILABLE_AFTER_MS:
            self._around.coverage["availability judged"] += 1

    def _complain(self, place: _Place, state: PartitionState, quorum: Quorum, held_ms: float) -> None:
        topic = self._store.topics[place[0]]
        self.violations.append(
            f"AvailabilityJudge: {topic.name}/{place[1]} takes no writes {held_ms:.0f} ms after the last fault, at "
            f"{self._around.now_ms():.0f}, though {sorted(quorum.members)} and {quorum.gateway} reach each other: "
            f"leader {state.leader}, epoch {state.leader_epoch}, ISR {state.isr} of {state.replicas}"
        )
        self._taken_ms[place] = self._around.now_ms() + 1e9  # one complaint is enough

    def _processes(self, quorum: Quorum) -> frozenset[str]:
        hosts: list[Host] = [self._hardware.nodes[node] for node in quorum.members]
        hosts += [gateway for gateway in self._hardware.gateways if gateway.name == quorum.gateway]
        return frozenset(host.process.name for host in hosts if host.process is not None)

    # --- writes ---

    def _probe(self, place: _Place, gateway: GatewayName) -> None:
        task = self._probes.get(place)
        if task is None or task.done():
            self._probes[place] = asyncio.create_task(self._write(place, gateway))

    async def _write(self, place: _Place, gateway: GatewayName) -> None:
        """One message, tried once."""
        http = next(each.http for each in self._hardware.gateways if each.name == gateway)
        if http is None:
            return
        self._sent += 1
        uid = f"probe-{self._sent}"
        body = json.dumps({"uid": uid, "pad": ""})
        request = f'{{"queue":"{self._queue}","partition":{place[1]},"body":{body}}}'.encode()
        began_ms = self._around.now_ms()
        document = {"code": "OUTCOME_UNKNOWN"}
        try:
            document = (await http.post("/messages", request, leave_after_s=TRY_S)).json
        except ConnectionLostError:
            self._around.coverage["probes without an answer"] += 1
        finally:  # also where nobody waits for it any more, it may be stored
            is_taken = self._note(place, uid, body, document, began_ms)
        if is_taken:
            await asyncio.sleep(PAUSE_S + TRY_S)
        await asyncio.sleep(self._random.uniform(0, PAUSE_S))

    def _note(self, place: _Place, uid: str, body: str, document: dict[str, str], began_ms: float) -> bool:
        code = self._around.code_of(document, "a probe")
        outcome = outcome_of(code)
        message_id = parse_message_id(document["messageId"]) if outcome is Outcome.OK else None
        self._around.history.add(
            Sent(
                began_ms=began_ms,
                ended_ms=self._around.now_ms(),
                sender=f"probe of {place[1]}",
                request=self._sent,
                index=0,
                uid=uid,
                queue=self._queue,
                body=body,
                outcome=outcome,
                code=code,
                partition=message_id.partition if message_id else -1,
                offset=message_id.offset if message_id else -1,
                epoch=message_id.epoch if message_id else -1,
            )
        )
        if message_id is not None:
            self._taken_ms[place] = max(self._taken_ms.get(place, 0.0), self._around.now_ms())
        return message_id is not None


class _World:
    """`quorum.View` of the simulated machines."""

    def __init__(self, coordination: Coordination, hardware: Hardware) -> None:
        self._coordination = coordination
        self._links = coordination.links
        self._hardware = hardware

    def is_sound(self, node: int) -> bool:
        machine = self._hardware.nodes.get(node)
        return (
            machine is not None
            and machine is not self._hardware.rotten
            and _serves(machine)
            and self._reaches_store(machine.name)
        )

    def stays_registered(self, node: int) -> bool:
        machine = self._hardware.nodes.get(node)
        return machine is not None and _runs(machine) and self._reaches_store(machine.name)

    def hear_each_other(self, one: int, other: int) -> bool:
        return self._is_open(self._hardware.nodes[one].name, self._hardware.nodes[other].name)

    def sound_gateways(self) -> Collection[GatewayName]:
        return [
            gateway.name
            for gateway in self._hardware.gateways
            if _serves(gateway) and self._reaches_store(gateway.name)
        ]

    def is_reached(self, node: int, gateway: GatewayName) -> bool:
        return self._is_open(self._hardware.nodes[node].name, gateway)

    def _reaches_store(self, host: str) -> bool:
        return self._coordination.has_quorum and self._is_open(host, COORDINATION)

    def _is_open(self, one: str, other: str) -> bool:
        links = (self._links.link(one, other), self._links.link(other, one))
        return not any(link.is_blocked or link.extra_ms > CLOGGED_MS for link in links)


def _runs(host: Host) -> bool:
    return host.process is not None and not host.process.is_dead and not host.process.is_paused


def _serves(host: NodeMachine | GatewayMachine) -> bool:
    if not _runs(host):
        return False
    if isinstance(host, GatewayMachine):
        return host.http is not None
    is_quick = host.executor is not None and host.executor.speed == host.speed
    return host.node is not None and is_quick and host.disk.capacity_bytes - host.disk.used_bytes >= ROOM_BYTES
