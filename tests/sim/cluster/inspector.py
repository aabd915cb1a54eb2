"""Looks into the replicas of living nodes, and compares what they hold below their high watermarks.

It is stricter than any client can be: a difference between two replicas is found although nobody has read it, and a
leader that lacks something committed although nobody has asked for it yet.
"""

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from acklog.wire.compacted_batch import stored_records
from app.processes.cluster_node import ClusterNode
from cluster.errors import ServerError
from storage.disk.port import Buffer
from storage.log.log_table import LOGS, LogKind
from storage.log.partition_log import PartitionLog
from storage.log.segment_reader import StoredBatch
from storage.node.replicas.replica_host import ReplicaHost
from storage.replication.replica_events import Role
from tests.sim.cluster.machines import NodeMachine
from tests.sim.cluster.store_observer import StoreObserver
from tests.sim.process import ProcessDiedError
from tests.sim.queue_label import TICKS

LogName = tuple[str, int, LogKind]
READ_BYTES = 100_000
SOON_MS = 60_000


@dataclass(frozen=True, slots=True)
class Seen:
    """A batch that was committed, and who showed it first."""

    next_offset: int
    epoch: int
    checksum: int
    node_id: int


@dataclass(slots=True)
class Committed:
    """What is known to be committed of one log, by base offset; `end` is the highest high watermark seen."""

    end: int = 0
    node_id: int = 0
    batches: dict[int, Seen] = field(default_factory=dict)


def checksum_of(batch: Buffer) -> int:
    """Of a whole batch, with what its leader stamped."""
    return zlib.crc32(batch)


def replicas_of(node: ClusterNode) -> list[ReplicaHost]:
    """All that the node holds, whatever their role."""
    return node.node.replicas()


async def _read_to_the_end(log: PartitionLog) -> None:
    offset = log.log_start
    while offset < log.log_end:
        found = await log.read(offset, max_bytes=READ_BYTES)
        if not found:
            return
        offset = found[-1].header.next_offset


class Inspector:
    """1, 4. What is committed is the same on every replica, and each that is in sync has all of it."""

    def __init__(self, store: StoreObserver, coverage: Counter[str]) -> None:
        self.violations: list[str] = []
        self._store = store
        self._coverage = coverage
        self._committed: dict[LogName, Committed] = {}
        self._compared: dict[tuple[object, LogName], int] = {}

    async def look(self, machine: NodeMachine) -> None:
        """At every replica of one node, if it lives and goes on living."""
        node, process = machine.node, machine.process
        if node is None or process is None or process.is_paused:
            return
        for host in replicas_of(node):
            for kind in LOGS:
                try:
                    await process.call(self._compare(machine, host, kind))
                except (ProcessDiedError, ServerError) as error:
                    self._coverage[f"inspection {type(error).__name__}"] += 1

    async def read_everything(self, machine: NodeMachine) -> None:
        """So that whatever is damaged is found, wherever nobody has looked for a while."""
        node, process = machine.node, machine.process
        if node is None or process is None:
            return
        for host in replicas_of(node):
            for log in host.logs:
                try:
                    await process.call(_read_to_the_end(log))
                except (ProcessDiedError, ServerError) as error:
                    self._coverage[f"inspection {type(error).__name__}"] += 1

    async def _compare(self, machine: NodeMachine, host: ReplicaHost, kind: int) -> None:
        name = (host.topic.id, host.number, kind)
        log, high_watermark = host.logs[kind], host.high_watermark(kind)
        committed = self._committed.setdefault(name, Committed())
        if host.contradiction is not None:
            self._complain(f"{machine.name} stands still at {name}: {host.contradiction}")
        self._check_member(machine, host, name, committed)
        if high_watermark > committed.end:
            committed.end, committed.node_id = high_watermark, machine.node_id
        replica = (machine.process, name)
        offset = max(self._compared.get(replica, 0), log.log_start)
        while offset < high_watermark:
            found = await log.read(offset, max_bytes=READ_BYTES, until=high_watermark)
            if not found:
                return
            for batch in found:
                offset = batch.header.next_offset
                if host.topic.config.is_compacted and kind == LogKind.MESSAGES:
                    self._agree_on_what_is_left(name, batch, committed, machine.node_id)
                    continue
                seen = Seen(offset, batch.header.leader_epoch, checksum_of(batch.data), machine.node_id)
                self._agree(name, batch.header.base_offset, seen, committed)
            self._compared[replica] = offset

    def _check_member(self, machine: NodeMachine, host: ReplicaHost, name: LogName, committed: Committed) -> None:
        """Whoever is in sync, and so may lead, has what is committed."""
        state = self._store.partitions.get((host.topic.id, host.number))
        if state is None or host.role is Role.NONE or host.leader_epoch != state.leader_epoch:
            return
        if machine.node_id not in state.isr or state.directory_of(machine.node_id) != machine.directory_id:
            return
        log_end = host.logs[name[2]].log_end
        if log_end < committed.end:
            self._complain(
                f"{machine.name} is in sync ({host.role.value}) at {name} in epoch {host.leader_epoch} "
                f"with a log up to {log_end}, node {committed.node_id} had committed {committed.end}"
            )

    def _agree_on_what_is_left(self, name: LogName, batch: StoredBatch, committed: Committed, node_id: int) -> None:
        """Each replica compacts for itself: what it has is what others have, or had, at the same offset."""
        header = batch.header
        for each in stored_records(batch.data, header)[1]:
            offset = header.base_offset + each.index
            checksum = checksum_of(bytes(each.content))
            self._agree(name, offset, Seen(offset + 1, header.leader_epoch, checksum, node_id), committed)

    def _agree(self, name: LogName, base_offset: int, seen: Seen, committed: Committed) -> None:
        first = committed.batches.setdefault(base_offset, seen)
        same = (first.next_offset, first.epoch, first.checksum) == (seen.next_offset, seen.epoch, seen.checksum)
        if not same:
            self._complain(f"{name} at {base_offset}: {first} and {seen} are both committed")

    def _complain(self, violation: str) -> None:
        if violation not in self.violations:
            self.violations.append(violation)


def is_anything_scheduled(machines: Iterable[NodeMachine]) -> bool:
    """Whether some replica, whatever its role, has a message that is to be seen soon, or may hear of one. By a clock
    that went back it may be hours, and nobody waits for that. What recurs is no group's to receive, and by a slow clock
    one follows the other for minutes; whether all of it comes is judged by `recurring_topic`."""
    return any(
        _is_scheduled_soon(host)
        for machine in machines
        if machine.node is not None
        for host in replicas_of(machine.node)
        if host.topic.name != TICKS
    )


def _is_scheduled_soon(host: ReplicaHost) -> bool:
    keeper = host.schedule
    if keeper.state.applied < host.high_watermarks[LogKind.SCHEDULE]:
        return True
    if not keeper.state.pending or host.partition is None:
        return False
    next_in_ms = host.partition.schedule.next_in_ms()
    return next_in_ms is None or next_in_ms < SOON_MS
