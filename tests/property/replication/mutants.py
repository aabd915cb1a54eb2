"""Planted bugs: each takes away one protection. The model has to notice every one of them, or it proves nothing.

A mutant is a function that patches the protocol, or the model's disk, store or controller.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from random import Random

import msgspec
import pytest
from msgspec import structs

from cluster.model.values import NodeRegistration, PartitionState
from storage.log.leader_epochs import LeaderEpochs
from storage.replication import fetch_admission, follower_replica, leader_replica
from storage.replication.assignment import Assignment, IsrMember, ReplicaIdentity
from storage.replication.divergence import Diverged, LogPosition, Restart
from storage.replication.follower_events import Answered, FollowerEffect, TruncateLog
from storage.replication.follower_progress import FollowerProgress
from storage.replication.follower_replica import FollowerReplica
from storage.replication.followers import Followers, without_late
from storage.replication.isr import ChangeOutcome, InSyncReplicas, IsrChange
from storage.replication.leader_events import AssignmentSeen
from storage.replication.leader_replica import LeaderReplica
from storage.replication.partition_replica import PartitionReplica
from storage.replication.repair import Repair
from storage.replication.replica_events import ReplicaEffect
from storage.replication.replica_log import ReplicaLog
from tests.property.replication import model_store
from tests.property.replication.model_checks import Checks
from tests.property.replication.model_controller import Controller
from tests.property.replication.model_log import ModelLog, Record
from tests.property.replication.model_node import ModelNode
from tests.property.replication.model_store import ModelStore

Mutant = Callable[[pytest.MonkeyPatch], None]


def truncate_to_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """KIP-101: a new follower cuts its log to its high watermark, which lags behind what is committed."""

    def start(self: FollowerReplica) -> list[FollowerEffect]:
        for number, log in enumerate(self._logs):
            if log.durable_end > self._high_watermarks[number]:
                self._effects.append(TruncateLog(number, self._begin(number), self._high_watermarks[number]))
        self._fetch()
        return self._take_effects()

    patch.setattr(FollowerReplica, "start", start)


def compare_offsets_only(patch: pytest.MonkeyPatch) -> None:
    """A follower that is not longer than the leader is taken to have the same."""

    def compare(log: ReplicaLog, position: LogPosition) -> Diverged | Restart | None:
        if position.offset < log.log_start:
            return Restart(log.log_start)
        return None if position.offset <= log.written_end else Diverged(position.last_epoch, log.written_end)

    patch.setattr(fetch_admission, "compare", compare)
    patch.setattr(follower_replica, "truncation_offset", lambda epochs, diverged: diverged.end_offset)


def cut_where_the_leader_says(patch: pytest.MonkeyPatch) -> None:
    """KIP-279: the follower does not look where its own part of the answered epoch ends."""
    patch.setattr(follower_replica, "truncation_offset", lambda epochs, diverged: diverged.end_offset)


def unknown_epoch_is_fine(patch: pytest.MonkeyPatch) -> None:
    """An epoch that the leader never had is answered as if nothing were wrong with it."""
    original = fetch_admission.compare

    def compare(log: ReplicaLog, position: LogPosition) -> Diverged | Restart | None:
        known = [epoch for epoch, _ in log.epochs.entries()]
        if position.last_epoch in known or position.last_epoch < 0 or position.offset > log.written_end:
            return original(log, position)
        return None

    patch.setattr(fetch_admission, "compare", compare)


def ack_before_fsync(patch: pytest.MonkeyPatch) -> None:
    """What is written counts as durable, on every replica."""
    patch.setattr(ModelLog, "durable_end", property(lambda self: self.written_end))


def leader_counts_what_it_has_written(patch: pytest.MonkeyPatch) -> None:
    """The leader's own copy counts before it is durable."""

    def committed_end(self: LeaderReplica, number: int) -> int:
        if self._is_somebody_missing:
            return -1
        return min([self._logs[number].written_end, *(each.matched[number] for each in self._members.values())])

    patch.setattr(LeaderReplica, "_committed_end", committed_end)
    patch.setattr(LeaderReplica, "check_invariants", lambda self: None)


def restart_within_the_epoch(patch: pytest.MonkeyPatch) -> None:
    """A leader that began anew goes on in its old epoch."""
    patch.setattr(Assignment, "is_led_by", lambda self, replica: self.leader == replica.node_id)


def wiped_disk_kept_in_isr(patch: pytest.MonkeyPatch) -> None:
    """The controller elects by node, whatever became of its disk."""

    def eligible(self: Controller, now: Assignment, registrations: dict[int, ReplicaIdentity]) -> list[ReplicaIdentity]:
        return [registrations[member.node_id] for member in now.isr if member.node_id in registrations]

    patch.setattr(Controller, "_eligible", eligible)
    patch.setattr(Controller, "_without_strangers", lambda self, isr, registrations: isr)


def join_without_incarnation(patch: pytest.MonkeyPatch) -> None:
    """A change of the ISR names nodes only, and finds whichever of their lives is registered when it arrives."""

    def change_isr(self: ModelStore, change: IsrChange) -> tuple[ChangeOutcome, int]:
        members = []
        for member in change.isr:
            present = self.registrations.get(member.node_id)
            joins = any(each.node_id == member.node_id for each in change.registered)
            is_other = joins and present is not None and present.directory_id != member.directory_id
            members.append(IsrMember(member.node_id, present.directory_id) if is_other and present else member)
        return self._write_isr(tuple(members), change.expected_revision)

    patch.setattr(ModelStore, "change_isr", change_isr)


def committed_isr_only(patch: pytest.MonkeyPatch) -> None:
    """KIP-497: a joining replica does not count until the leader has heard that it joined."""
    _by_its_harm(patch)
    patch.setattr(InSyncReplicas, "maximal", property(lambda self: self.committed))


def proposed_isr_only(patch: pytest.MonkeyPatch) -> None:
    """A leaving replica does not count from when its leaving was proposed."""
    _by_its_harm(patch)
    patch.setattr(InSyncReplicas, "maximal", property(lambda self: self._proposed or self.committed))


def unknown_outcome_means_failed(patch: pytest.MonkeyPatch) -> None:
    """A change whose outcome is unknown is taken not to have happened (rule R18)."""
    _by_its_harm(patch)
    original = InSyncReplicas.ended

    def ended(self: InSyncReplicas, serial: int, outcome: ChangeOutcome, revision: int) -> bool:
        return original(self, serial, ChangeOutcome.NOT_DONE if outcome is ChangeOutcome.UNKNOWN else outcome, revision)

    patch.setattr(InSyncReplicas, "ended", ended)


def reading_settles_everything(patch: pytest.MonkeyPatch) -> None:
    """A change that is not seen in the store is taken never to happen; it may be on its way."""
    _by_its_harm(patch)
    original = InSyncReplicas.seen

    def seen(self: InSyncReplicas, assignment: Assignment) -> IsrChange | None:
        self._may_still_happen = False
        return original(self, assignment)

    patch.setattr(InSyncReplicas, "seen", seen)


def join_before_caught_up(patch: pytest.MonkeyPatch) -> None:
    """A follower joins as soon as it fetches."""

    def may_join(self: LeaderReplica, progress: FollowerProgress, now_ms: int) -> bool:
        return not self.isr.has(progress.identity.node_id) and progress.identity.incarnation > 0

    patch.setattr(LeaderReplica, "_may_join", may_join)


def join_with_one_log(patch: pytest.MonkeyPatch) -> None:
    """A follower joins when it has the messages, whatever it lacks of the delivery records."""

    def may_join(self: LeaderReplica, progress: FollowerProgress, now_ms: int) -> bool:
        return not self.isr.has(progress.identity.node_id) and progress.matched[0] >= self._high_watermarks[0]

    patch.setattr(LeaderReplica, "_may_join", may_join)


def earlier_life_counts(patch: pytest.MonkeyPatch) -> None:
    """What a follower said before it began anew is still believed."""

    def life(self: Followers, follower: ReplicaIdentity, now_ms: int) -> FollowerProgress:
        known = self._by_node[follower.node_id]
        known.identity = follower
        return known

    patch.setattr(Followers, "life", life)


def below_minimum_is_enough(patch: pytest.MonkeyPatch) -> None:
    """The high watermark moves however few replicas are in sync."""
    patch.setattr(InSyncReplicas, "minimal_size", property(lambda self: 99))
    patch.setattr(InSyncReplicas, "check_invariants", lambda self: None)


def answers_of_any_epoch(patch: pytest.MonkeyPatch) -> None:
    """A follower believes what the leader of an earlier epoch said of its position."""
    original = FollowerReplica._answered

    def answered(self: FollowerReplica, event: Answered, now_ms: int) -> None:
        original(
            self, replace(event, answer=msgspec.structs.replace(event.answer, leader_epoch=self.leader_epoch)), now_ms
        )

    patch.setattr(FollowerReplica, "_answered", answered)


def unclean_election(patch: pytest.MonkeyPatch) -> None:
    """Whoever lives may be elected."""

    def eligible(self: Controller, now: Assignment, registrations: dict[int, ReplicaIdentity]) -> list[ReplicaIdentity]:
        return list(registrations.values())

    def elect(
        self: Controller, now: Assignment, isr: tuple[IsrMember, ...], eligible: list[ReplicaIdentity]
    ) -> Assignment:
        chosen = self.cluster.random.choice(eligible)
        isr = (IsrMember(chosen.node_id, chosen.directory_id),)
        return Assignment(chosen.node_id, chosen.incarnation, now.leader_epoch + 1, now.replicas, isr, now.revision)

    patch.setattr(Controller, "_eligible", eligible)
    patch.setattr(Controller, "_elect", elect)


def epochs_are_reused(patch: pytest.MonkeyPatch) -> None:
    """An election does not take a new epoch."""
    original = Controller._elect

    def elect(
        self: Controller, now: Assignment, isr: tuple[IsrMember, ...], eligible: list[ReplicaIdentity]
    ) -> Assignment:
        chosen = original(self, now, isr, eligible)
        epoch = now.leader_epoch + (chosen.leader_epoch % 2)
        return Assignment(chosen.leader, chosen.leader_incarnation, epoch, chosen.replicas, chosen.isr, chosen.revision)

    patch.setattr(Controller, "_elect", elect)


def journal_replayed_by_offset(patch: pytest.MonkeyPatch) -> None:
    """After a crash, what a truncation cut comes back over what was written in its place."""
    original = ModelLog.crash

    def crash(self: ModelLog, random: Random, *, is_power_loss: bool) -> None:
        original(self, random, is_power_loss=is_power_loss)
        if self.cut_tail:
            start = self.cut_tail[0].batch_start
            del self.records[start:]
            self.records += self.cut_tail
            self._durable_end = len(self.records)
            self.epochs = _epochs_of(self.records)

    patch.setattr(ModelLog, "crash", crash)


def _epochs_of(records: list[Record]) -> LeaderEpochs:
    starts: dict[int, int] = {}
    for offset, record in enumerate(records):
        starts.setdefault(record.epoch, offset)
    epochs = LeaderEpochs(sorted(starts.items()))
    epochs.log_end = len(records)
    return epochs


def recovery_reports_page_cache(patch: pytest.MonkeyPatch) -> None:
    """After a killed process, recovery reports what it reads without making it durable."""
    original = ModelLog.crash
    reported: dict[int, int] = {}

    def crash(self: ModelLog, random: Random, *, is_power_loss: bool) -> None:
        synced = self._durable_end
        original(self, random, is_power_loss=is_power_loss)
        self._durable_end = min(synced, len(self.records))
        reported[id(self)] = len(self.records)

    def durable_end(self: ModelLog) -> int:
        return max(self._durable_end, min(reported.get(id(self), 0), len(self.records)))

    patch.setattr(ModelLog, "crash", crash)
    patch.setattr(ModelLog, "durable_end", property(durable_end))


def role_begins_before_rest(patch: pytest.MonkeyPatch) -> None:
    """A role begins while the one before still writes."""

    def rest(self: ModelNode) -> None:
        pending, self.pending_io = self.pending_io, 0
        original(self)
        self.pending_io = pending

    original = ModelNode._rest_if_idle
    patch.setattr(ModelNode, "_rest_if_idle", rest)


def isr_shrinks_below_minimum(patch: pytest.MonkeyPatch) -> None:
    """KIP-966: late members leave also when too few are left, and the last replica standing loses its disk."""

    def without_all_late(
        members: Collection[IsrMember], late: Iterable[FollowerProgress], *, least: int
    ) -> tuple[IsrMember, ...]:
        return without_late(members, late, least=0)

    patch.setattr(leader_replica, "without_late", without_all_late)


def repair_within_the_epoch(patch: pytest.MonkeyPatch) -> None:
    """A damaged replica that is out of the ISR begins anew in the epoch in which its leader knows the old log."""
    patch.setattr(
        Repair,
        "may_begin",
        lambda self, assignment: (
            bool(self.damaged) and all(each.node_id != self._me.node_id for each in assignment.isr)
        ),
    )
    patch.setattr(ModelStore, "next_epoch", lambda self, now: now.leader_epoch)
    original = PartitionReplica._seen_again

    def seen_again(self: PartitionReplica, event: AssignmentSeen, now_ms: int) -> list[ReplicaEffect]:
        is_due = self.follower is not None and not self.follower.damaged and self._repair.may_begin(event.assignment)
        return self._change_role(event.assignment) if is_due else original(self, event, now_ms)

    patch.setattr(PartitionReplica, "_seen_again", seen_again)


def repair_in_the_isr(patch: pytest.MonkeyPatch) -> None:
    """A damaged replica begins anew with the next epoch, whether it counts as in sync or not."""
    patch.setattr(
        Repair,
        "may_begin",
        lambda self, assignment: bool(self.damaged) and assignment.leader_epoch > self._told_in_epoch,
    )


def handed_to_anybody(patch: pytest.MonkeyPatch) -> None:
    """A leader that cannot commit gives its leadership to any replica that lives."""
    original = model_store.handed_over

    def to_anybody(
        state: PartitionState,
        node_id: int,
        *,
        living: Mapping[int, NodeRegistration],
        heard: Collection[int],
        isr_floor: int,
    ) -> PartitionState | None:
        everybody = structs.replace(state, isr=state.replicas)
        return original(everybody, node_id, living=living, heard=heard, isr_floor=isr_floor)

    patch.setattr(model_store, "handed_over", to_anybody)


def handed_over_within_the_epoch(patch: pytest.MonkeyPatch) -> None:
    """Two leaders write under one epoch."""
    patch.setattr(ModelStore, "next_epoch", lambda self, now: now.leader_epoch)


def _by_its_harm(patch: pytest.MonkeyPatch) -> None:
    """The bug shows in what the leader takes for possible; it is to be found by what is lost."""
    patch.setattr(Checks, "_leader_counts_with_every_member", lambda self: None)
    patch.setattr(InSyncReplicas, "check_invariants", lambda self: None)


# The seeds meet the histories of cut_where_the_leader_says and answers_of_any_epoch too seldom: those two are found by
# files of tests/scenarios/replication.

MUTANTS: tuple[Mutant, ...] = (
    truncate_to_high_watermark,
    compare_offsets_only,
    unknown_epoch_is_fine,
    ack_before_fsync,
    leader_counts_what_it_has_written,
    restart_within_the_epoch,
    wiped_disk_kept_in_isr,
    join_without_incarnation,
    committed_isr_only,
    proposed_isr_only,
    unknown_outcome_means_failed,
    reading_settles_everything,
    join_before_caught_up,
    join_with_one_log,
    earlier_life_counts,
    below_minimum_is_enough,
    unclean_election,
    epochs_are_reused,
    journal_replayed_by_offset,
    recovery_reports_page_cache,
    role_begins_before_rest,
    isr_shrinks_below_minimum,
    repair_within_the_epoch,
    repair_in_the_isr,
    handed_to_anybody,
    handed_over_within_the_epoch,
)
