"""What has to hold after every step, seen from outside with everything in view."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from storage.replication.acks import ACKS_ALL
from storage.replication.assignment import IsrMember
from storage.replication.leader_events import Service
from storage.replication.replica_events import Role
from tests.property.replication.model_log import Record

if TYPE_CHECKING:
    from tests.property.replication.model_cluster import ModelCluster
    from tests.property.replication.model_node import Disk, ModelNode


class BrokenRuleError(AssertionError):
    """What the checks found, apart from what an assertion of the machines found."""


@dataclass
class _Append:
    log: int
    offset: int
    values: list[int]
    acks: int


class Checks:
    """`committed` is, per log, what some leader's high watermark has ever covered."""

    def __init__(self, cluster: "ModelCluster") -> None:
        self.cluster = cluster
        self.committed: list[list[Record]] = [[], []]
        self.leaders: dict[int, tuple[int, int]] = {}
        self.acknowledged_count = 0
        self._appends: dict[int, _Append] = {}
        self._lost_disks: list[tuple[int, Disk]] = []
        self._watermarks: dict[tuple[int, int, int, int], int] = {}
        self._versions: tuple[object, ...] = ()
        self._may_lose_a_disk = True

    def fail(self, what: str) -> None:
        raise BrokenRuleError(f"at {self.cluster.now_ms} ms: {what}")

    # --- what happens ------------------------------------------------------------------------------------------------

    def touch(self) -> None:
        self._versions = ()

    def role_taken(self, node: "ModelNode", role: Role, epoch: int) -> None:
        if role is not Role.LEADER:
            return
        self.cluster.count("leader")
        known = self.leaders.setdefault(epoch, (node.node_id, node.incarnation))
        if known != (node.node_id, node.incarnation):
            self.fail(f"epoch {epoch} is led by {known} and by {(node.node_id, node.incarnation)}")
        for number, log in enumerate(node.disk.logs):
            if log.records[: len(self.committed[number])] != self.committed[number]:
                self.fail(f"the leader of epoch {epoch}, node {node.node_id}, lacks what is committed in log {number}")

    def advanced(self, node: "ModelNode", number: int, high_watermark: int) -> None:
        """A leader's high watermark covers more, at a place where enough replicas have it."""
        self._rises(node, number, high_watermark)
        records = node.disk.logs[number].records[:high_watermark]
        committed = self.committed[number]
        common = min(len(records), len(committed))
        if records[:common] != committed[:common]:
            self.fail(f"node {node.node_id} commits other records in log {number} than were committed before")
        if len(records) <= len(committed):
            return
        self.committed[number] = list(records)
        holders = self._holders(number, len(records), records)
        if len(holders) < self.cluster.options.min_insync_replicas:
            self.fail(f"{high_watermark} is committed in log {number}, and durable on {holders} only")
        self.touch()

    def learned(self, node: "ModelNode", number: int, high_watermark: int) -> None:
        self._rises(node, number, high_watermark)
        records = node.disk.logs[number].records[:high_watermark]
        if records != self.committed[number][:high_watermark]:
            self.fail(f"follower {node.node_id} takes for committed in log {number} what is not")

    def appended(self, token: int, log: int, offset: int, values: list[int], acks: int) -> None:
        self._appends[token] = _Append(log, offset, values, acks)

    def acknowledged(self, node: "ModelNode", tokens: tuple[int, ...]) -> None:
        for token in tokens:
            append = self._appends.pop(token)
            self.acknowledged_count += 1
            self.cluster.count("acknowledged")
            end = append.offset + len(append.values)
            if append.acks == ACKS_ALL:
                if [record.value for record in self.committed[append.log][append.offset : end]] != append.values:
                    self.fail(f"an append to log {append.log} at {append.offset} is acknowledged and not committed")
            elif self._were_durable(append.log, end, node.disk.logs[append.log].records[end - 1]) < append.acks:
                self.fail(f"an append at {append.offset} is acknowledged by fewer than {append.acks}")

    def unknown(self, tokens: tuple[int, ...]) -> None:
        for token in tokens:
            del self._appends[token]

    def may_wipe(self, node: "ModelNode") -> bool:
        """With a minimum of two any one disk may be lost, and the next one when the ISR is whole again; with a minimum
        of one only one that is not the last."""
        if self.cluster.options.min_insync_replicas > 1:
            self._count_lost_disks()
            return self._may_lose_a_disk
        return any(member.node_id != node.node_id for member in self._intact_members())

    def may_rot(self, node: "ModelNode") -> bool:
        """As a disk that is lost, and one at a time; with a minimum of one it may be the last that is in sync."""
        is_anybody_rotten = any(each.is_rotten for each in self.cluster.nodes.values())
        return self.cluster.options.min_insync_replicas > 1 and self.may_wipe(node) and not is_anybody_rotten

    def rotten(self) -> None:
        self._may_lose_a_disk = False

    def _count_lost_disks(self) -> None:
        """One that is lost while its joining is on its way counts from when it has joined. An ISR that is too small and
        lost nobody changes nothing: it must not keep its last disk from being lost."""
        isr = self.cluster.store.assignment.isr
        if len(self._intact_members()) < len(isr):
            self._may_lose_a_disk = False
        elif len(isr) > 1 and not any(node.is_rotten for node in self.cluster.nodes.values()):
            self._may_lose_a_disk = True

    def _intact_members(self) -> list[IsrMember]:
        nodes = self.cluster.nodes
        isr = self.cluster.store.assignment.isr
        return [member for member in isr if nodes[member.node_id].disk.directory_id == member.directory_id]

    def wiped(self, node: "ModelNode") -> None:
        """What was on the disk counts as having been durable."""
        self._may_lose_a_disk = False
        self._lost_disks.append((node.node_id, node.disk))

    def _rises(self, node: "ModelNode", number: int, high_watermark: int) -> None:
        key = (node.node_id, node.incarnation, node.replica.leader_epoch, number)
        if high_watermark <= self._watermarks.get(key, -1):
            self.fail(f"the high watermark of log {number} falls to {high_watermark} on node {node.node_id}")
        self._watermarks[key] = high_watermark

    def _holders(self, number: int, end: int, records: list[Record]) -> list[int]:
        """Nodes that have, or had before their disk was lost, these records durably."""
        holders = []
        for node_id, disk in self._disks():
            log = disk.logs[number]
            if log.synced_end >= end and log.records[:end] == records:
                holders.append(node_id)
        return sorted(set(holders))

    def _were_durable(self, number: int, end: int, last: Record) -> int:
        """On how many nodes the log was ever durable up to `end`: a newer leader may have had them cut it since."""
        return len({node_id for node_id, disk in self._disks() if (end, last) in disk.logs[number].ever_durable})

    def _disks(self) -> list[tuple[int, "Disk"]]:
        return [*((node.node_id, node.disk) for node in self.cluster.nodes.values()), *self._lost_disks]

    # --- what holds --------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """After every step in which something changed."""
        nodes = self.cluster.nodes.values()
        versions = (
            self.cluster.store.assignment.revision,
            *((node.disk.directory_id, *(log.version for log in node.disk.logs)) for node in nodes),
        )
        if versions == self._versions:
            return
        self._versions = versions
        self._count_lost_disks()
        self._in_sync_replicas_have_everything()
        self._logs_match()
        self._leader_counts_with_every_member()

    def _in_sync_replicas_have_everything(self) -> None:
        """Whoever may be elected durably has all that is committed."""
        for member in self._intact_members():
            node = self.cluster.nodes[member.node_id]
            for number, log in enumerate(node.disk.logs):
                committed = self.committed[number]
                if log.synced_end < len(committed) or log.records[: len(committed)] != committed:
                    self.fail(f"node {node.node_id} is in the ISR and lacks what is committed in log {number}")

    def _logs_match(self) -> None:
        """Equal epochs at equal offsets mean equal logs up to there."""
        nodes = [*self.cluster.nodes.values()]
        for number in range(len(self.committed)):
            for at, one in enumerate(nodes):
                for other in nodes[at + 1 :]:
                    self._match(number, one, other)

    def _match(self, number: int, one: "ModelNode", other: "ModelNode") -> None:
        first, second = one.disk.logs[number].records, other.disk.logs[number].records
        for offset in range(min(len(first), len(second)) - 1, -1, -1):
            if first[offset].epoch == second[offset].epoch:
                if first[: offset + 1] != second[: offset + 1]:
                    self.fail(f"logs {number} of nodes {one.node_id} and {other.node_id} differ below {offset + 1}")
                return

    def _leader_counts_with_every_member(self) -> None:
        """The true ISR is a part of what its leader takes for possible, and is never empty."""
        assignment = self.cluster.store.assignment
        if not assignment.isr:
            self.fail("the ISR is empty")
        for node in self.cluster.nodes.values():
            leader = node.replica.leader if node.is_up else None
            if leader is None or leader.leader_epoch != assignment.leader_epoch:
                continue
            missing = [member for member in assignment.isr if member not in leader.isr.maximal]
            if missing:
                self.fail(f"the leader of epoch {leader.leader_epoch} does not count with {missing}")

    # --- the end -----------------------------------------------------------------------------------------------------

    def has_converged(self) -> bool:
        """One leader serves, everybody is in sync and has the same logs, all of it committed."""
        assignment = self.cluster.store.assignment
        nodes = [*self.cluster.nodes.values()]
        if len(assignment.isr) < len(nodes) or not all(node.is_up for node in nodes):
            return False
        if not assignment.has_leader or any(each.is_rotten for each in nodes):
            return False
        node = self.cluster.nodes[assignment.leader]
        leader = node.replica.leader
        if leader is None or leader.leader_epoch != assignment.leader_epoch or leader.service is not Service.SERVING:
            return False
        return (
            self.has_appended(node)
            and not leader.waiting_acks
            and all(
                [log.records for log in each.disk.logs] == [log.records for log in node.disk.logs] == self.committed
                for each in nodes
            )
        )

    def has_appended(self, node: "ModelNode") -> bool:
        """In its present epoch, to every log."""
        return all(log.epochs.last_epoch == node.replica.leader_epoch for log in node.disk.logs)

    def converged(self) -> None:
        if self._is_lost_for_good():
            if self.cluster.options.min_insync_replicas > 1:
                self.fail(f"nobody is left that may be elected: {self.cluster.store.history[-3:]}")
            self.cluster.count("lost for good")
        elif not self.has_converged():
            self.fail(f"it has not converged: {self.cluster.store.assignment}")

    def _is_lost_for_good(self) -> bool:
        """Every disk that had everything is gone."""
        return not self._intact_members()
