"""Planted bugs: each takes one protection away from the real code. The simulation has to notice every one of them, or
it proves nothing. `python -m tests.sim.cluster.hunt` looks for the first seed that does.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from acklog.wire.problems import ProblemCode
from app.services import cluster as cluster_service
from app.services import earlier_sends
from cluster.controller import leadership, partition_rules
from cluster.controller import round as controller_round
from cluster.controller.partition_rules import _Draft
from cluster.controller.progress import NodeProgress
from cluster.metadata.membership import Member, Membership
from cluster.model import keys
from cluster.model.values import Group, PartitionState, Topic
from cluster.ports.coordination import Compare, CompareTarget
from storage.delivery import settlement
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.records import Sought as SoughtRecord
from storage.delivery.states import MessageEvent
from storage.log import directory_recovery, opening, recovery
from storage.log.journal import Journal, JournalFrame
from storage.log.keys import LogKey
from storage.log.partition_log import PartitionLog
from storage.log.recovery import LogRecovery
from storage.log.recovery_points import RecoveryPoints
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.groups.partition_groups import PartitionGroups
from storage.node.partition import partition_host
from storage.node.partition.mapping_gate import MappingGate
from storage.node.replicas import isr_writer
from storage.node.replicas import replicas as node_replicas
from storage.node.replicas.opening import PartitionOpener
from storage.node.replicas.orphaned_logs import OrphanedLogs
from storage.node.replicas.producer_mirror import ProducerMirror
from storage.node.replicas.replica_host import ReplicaHost
from storage.node.replicas.replicas import Replicas
from storage.produce.dedup_window import DedupWindow
from storage.replication import leader_replica
from storage.replication.assignment import IsrMember, ReplicaIdentity
from storage.replication.follower_events import Answered
from storage.replication.follower_progress import FollowerProgress
from storage.replication.follower_replica import FollowerReplica
from storage.replication.followers import without_late
from storage.replication.isr import ChangeOutcome, InSyncReplicas
from storage.replication.leader_replica import LeaderReplica
from storage.replication.messages import PartitionId
from storage.rpc.messages import SettleItem
from tests.property.replication.mutants import (
    compare_offsets_only,
    earlier_life_counts,
    join_before_caught_up,
    join_with_one_log,
    repair_in_the_isr,
    repair_within_the_epoch,
    restart_within_the_epoch,
    truncate_to_high_watermark,
)
from tests.sim.cluster.blocked_mutants import (
    decisions_are_volatile,
    skips_pass_over_what_is_behind,
    what_is_blocked_becomes_a_letter,
    what_is_blocked_holds_up_all,
    what_is_blocked_holds_up_nothing,
)
from tests.sim.cluster.commit_mutants import COMMIT_MUTANTS
from tests.sim.cluster.coordinator_mutants import (
    coordinators_forget,
    everybody_is_taken_for_gone,
    ownerships_are_not_raised,
    partitions_are_given_to_all,
    second_instances_are_accepted,
    sessions_never_end,
    some_partitions_are_nobodys,
    static_takeovers_keep_the_ownership,
)
from tests.sim.cluster.deletion_mutants import DELETION_MUTANTS
from tests.sim.cluster.delivery_mutants import (
    dead_letters_are_done_first,
    leaders_forget_pauses,
    projections_ignore_epochs,
    snapshots_name_the_log_end,
)
from tests.sim.cluster.exclusive_mutants import (
    claims_are_volatile,
    leases_run_out_unnoticed,
    lost_answers_hold_up_nothing,
    lower_ownerships_are_served,
    owners_are_not_waited_for,
    rewinds_lose_an_offset,
    void_acks_are_answered,
    what_is_behind_stays_out,
)
from tests.sim.cluster.filter_mutants import FILTER_MUTANTS, what_was_given_back_is_not_judged_again
from tests.sim.cluster.hand_over_mutants import HAND_OVER_MUTANTS, new_leaders_forget_what_is_on_its_way
from tests.sim.cluster.key_order_mutants import (
    blocked_keys_are_passed_over,
    keys_go_on_while_they_are_out,
    runs_end_with_their_first_message,
    what_comes_back_goes_out_of_turn,
    what_is_out_is_not_met,
    what_waits_is_forgotten,
)
from tests.sim.cluster.leader_mutants import deposed_leaders_answer_readers, leaders_that_cannot_commit_stay
from tests.sim.cluster.lifetime_mutants import LIFETIME_MUTANTS
from tests.sim.cluster.mapping_mutants import MAPPING_MUTANTS, only_new_partitions_wait
from tests.sim.cluster.producer_mutants import PRODUCER_MUTANTS
from tests.sim.cluster.quota_mutants import QUOTA_MUTANTS
from tests.sim.cluster.reader_mutants import nearest_reads_go_to_the_log_end
from tests.sim.cluster.recurring_mutants import RECURRING_MUTANTS, refused_times_are_dealt_with
from tests.sim.cluster.redrive_mutants import REDRIVE_MUTANTS, runners_look_at_what_is_committed
from tests.sim.cluster.schedule_mutants import SCHEDULE_MUTANTS, what_is_refused_is_forgotten
from tests.sim.cluster.table_mutants import TABLE_MUTANTS, placeholders_are_given_whole
from tests.sim.cluster.view_mutants import VIEW_MUTANTS

Mutant = Callable[[pytest.MonkeyPatch], None]


# --- followers --------------------------------------------------------------------------------------------------------


def answers_of_any_epoch(patch: pytest.MonkeyPatch) -> None:
    """A follower believes what the leader of an earlier epoch said of its position."""
    original = FollowerReplica._answered

    def answered(self: FollowerReplica, event: Answered, now_ms: int) -> None:
        answer = msgspec.structs.replace(event.answer, leader_epoch=self.leader_epoch)
        original(self, replace(event, answer=answer), now_ms)

    patch.setattr(FollowerReplica, "_answered", answered)


# --- what is durable --------------------------------------------------------------------------------------------------


def ack_before_fsync(patch: pytest.MonkeyPatch) -> None:
    """A round counts as durable when it is written."""

    def write(_: Journal, frame: JournalFrame) -> int:
        frame.file.write(frame.position, frame.buffers)
        return frame.stored_bytes

    patch.setattr(Journal, "write", write)


def recovery_reports_page_cache(patch: pytest.MonkeyPatch) -> None:
    """After a killed process, recovery reports what it reads without making it durable."""
    patch.setattr(recovery, "sync_segments", lambda *_: None)
    patch.setattr(recovery, "sync_names", lambda *_: None)
    patch.setattr(LogRecovery, "_write_again", lambda self, segment: None)


def journal_replayed_by_offset(patch: pytest.MonkeyPatch) -> None:
    """After a crash, what a truncation cut comes back: the journal does not know that the log was cut since."""
    original = opening.replay_frame

    def replay(*arguments: Any, points: RecoveryPoints, **options: Any) -> None:
        logs = {key: msgspec.structs.replace(point, journal_floor=0) for key, point in points.logs.items()}
        original(*arguments, points=msgspec.structs.replace(points, logs=logs, removed={}), **options)

    patch.setattr(directory_recovery, "replay_frame", replay)


def truncations_are_volatile(patch: pytest.MonkeyPatch) -> None:
    """A follower says that it has cut its log, and has not."""

    async def truncate_to(self: PartitionLog, offset: int) -> None:
        return

    patch.setattr(PartitionLog, "truncate_to", truncate_to)


# --- what is committed ------------------------------------------------------------------------------------------------


def leader_alone_commits(patch: pytest.MonkeyPatch) -> None:
    """The high watermark is the leader's own log end."""
    patch.setattr(LeaderReplica, "_committed_end", lambda self, number: self._logs[number].durable_end)
    patch.setattr(LeaderReplica, "check_invariants", lambda self: None)


def committed_isr_only(patch: pytest.MonkeyPatch) -> None:
    """KIP-497: a joining replica does not count until the leader has heard that it joined."""
    patch.setattr(InSyncReplicas, "maximal", property(lambda self: self.committed))
    patch.setattr(InSyncReplicas, "check_invariants", lambda self: None)


def proposed_isr_only(patch: pytest.MonkeyPatch) -> None:
    """A leaving replica does not count from when its leaving was proposed."""
    patch.setattr(InSyncReplicas, "maximal", property(lambda self: self._proposed or self.committed))
    patch.setattr(InSyncReplicas, "check_invariants", lambda self: None)


def acks_when_logged(patch: pytest.MonkeyPatch) -> None:
    """An ack is answered when the leader has logged it, before any follower has."""
    original = DeliveryHost._flushed

    def flushed(self: DeliveryHost, batch: Any, length: int, future: Any) -> None:
        original(self, batch, length, future)
        if self._uncommitted:
            self.high_watermark_advanced(self._uncommitted[-1].next_offset)

    patch.setattr(DeliveryHost, "_flushed", flushed)


# --- who is in sync ---------------------------------------------------------------------------------------------------


def join_without_incarnation(patch: pytest.MonkeyPatch) -> None:
    """A change of the ISR names nodes only, and finds whichever of their lives, and of their disks, is registered."""
    original = isr_writer._with_isr

    def registered(self: isr_writer.IsrWriter, identity: ReplicaIdentity) -> Compare:
        return Compare(f"{keys.ROOT}nothing/{identity.node_id}", CompareTarget.CREATE_REVISION, 0)

    async def change(self: isr_writer.IsrWriter, partition: Any, change: Any) -> Any:
        members = []
        for member in change.isr:
            present = self._metadata.node(member.node_id)
            members.append(member if present is None else IsrMember(member.node_id, present.directory_id))
        return await unchanged(self, partition, replace(change, isr=tuple(members)))

    unchanged = isr_writer.IsrWriter._change
    patch.setattr(isr_writer.IsrWriter, "_registered", registered)
    patch.setattr(isr_writer.IsrWriter, "_change", change)
    patch.setattr(isr_writer, "_with_isr", original)


def isr_shrinks_below_minimum(patch: pytest.MonkeyPatch) -> None:
    """KIP-966: late members leave also when too few are left, and the last replica standing loses its disk."""

    def without_all_late(
        members: Collection[IsrMember], late: Iterable[FollowerProgress], *, least: int
    ) -> tuple[IsrMember, ...]:
        return without_late(members, late, least=0)

    patch.setattr(leader_replica, "without_late", without_all_late)
    patch.setattr(_Draft, "_isr_floor", property(lambda self: 1))


def unknown_outcome_means_failed(patch: pytest.MonkeyPatch) -> None:
    """R18: a change of the ISR whose outcome is unknown is taken not to have happened."""
    original = InSyncReplicas.ended

    def ended(self: InSyncReplicas, serial: int, outcome: ChangeOutcome, revision: int) -> bool:
        return original(self, serial, ChangeOutcome.NOT_DONE if outcome is ChangeOutcome.UNKNOWN else outcome, revision)

    patch.setattr(InSyncReplicas, "ended", ended)
    patch.setattr(InSyncReplicas, "check_invariants", lambda self: None)


# --- who leads --------------------------------------------------------------------------------------------------------


def epochs_are_reused(patch: pytest.MonkeyPatch) -> None:
    """An election does not take a new epoch."""
    original = leadership.led_by

    def led_by(self: _Draft, state: PartitionState, node_id: int) -> PartitionState:
        return msgspec.structs.replace(original(state, node_id, self.membership), leader_epoch=self.leader_epoch)

    patch.setattr(_Draft, "led_by", led_by)


def wiped_disk_kept_in_isr(patch: pytest.MonkeyPatch) -> None:
    """The controller elects by node, whatever became of its disk."""
    patch.setattr(_Draft, "mind_disks", lambda self: None)


def unclean_election(patch: pytest.MonkeyPatch) -> None:
    """Whoever lives may be elected."""
    original = leadership.best_leader

    def best_leader(state: PartitionState, membership: Membership, *, among: Any) -> int | None:
        found = original(state, membership, among=among)
        living = [node for node in state.replicas if membership.get(node).is_live]
        return living[0] if found is None and living else found

    def led_by(state: PartitionState, node_id: int, membership: Membership) -> PartitionState:
        isr = state.isr if node_id in state.isr else (*state.isr, node_id)
        return unchanged(msgspec.structs.replace(state, isr=isr), node_id, membership)

    unchanged = leadership.led_by
    patch.setattr(partition_rules, "best_leader", best_leader)
    patch.setattr(partition_rules, "led_by", led_by)


# --- what a new leader knows ------------------------------------------------------------------------------------------


def producers_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """R19: a leader that begins does not know which batches of the gateways are in its log."""

    async def rebuild(self: ProducerMirror, log: PartitionLog, *, bytes_max: int) -> None:
        return

    patch.setattr(ProducerMirror, "rebuild", rebuild)
    patch.setattr(ProducerMirror, "note", lambda self, batches: None)


def keys_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """R28: a leader that begins does not know the idempotency keys in its log."""

    async def rebuild(self: PartitionOpener, topic: Topic, log: PartitionLog) -> DedupWindow:
        return DedupWindow(window_ms=topic.config.dedup_window_ms, limit_bytes=self._settings.dedup_window_bytes_max)

    patch.setattr(PartitionOpener, "_rebuild_dedup", rebuild)


def keys_stay_where_they_were(patch: pytest.MonkeyPatch) -> None:
    """R28: after a topic has grown, keys are not looked for where they were mapped to before."""
    patch.setattr(earlier_sends, "earlier_topics", lambda topic, now_ms: [])


def earlier_mappings_go_on(patch: pytest.MonkeyPatch) -> None:
    """R28: a partition takes keys by an earlier mapping after it has said what it has."""
    patch.setattr(partition_host, "check_mapping", lambda request, topic: None)
    patch.setattr(MappingGate, "check", lambda self, mapping, topic: None)


# --- who joins and leaves ---------------------------------------------------------------------------------------------


def moves_end_before_the_copy(patch: pytest.MonkeyPatch) -> None:
    """R15: a replica that is being filled counts as in sync, and the one in whose place it comes goes."""
    original = controller_round.retargeted

    def retargeted(*arguments: Any, **options: Any) -> PartitionState | None:
        state = original(*arguments, **options)
        return None if state is None else msgspec.structs.replace(state, isr=(*state.isr, *state.adding))

    patch.setattr(controller_round, "retargeted", retargeted)


def drained_nodes_look_empty(patch: pytest.MonkeyPatch) -> None:
    """The operator is told that a node holds nothing while its replicas still move."""
    original = cluster_service.node_view

    def node_view(node: NodeProgress) -> cluster_service.ClusterNodeView:
        return original(replace(node, replicas=0) if node.is_draining else node)

    patch.setattr(cluster_service, "node_view", node_view)


def drained_nodes_get_replicas(patch: pytest.MonkeyPatch) -> None:
    """A node that is to be emptied takes what others have to give."""
    patch.setattr(Member, "is_usable", property(lambda self: self.is_live and not self.is_leaving))


# --- seeks ------------------------------------------------------------------------------------------------------------


def seeks_are_volatile(patch: pytest.MonkeyPatch) -> None:
    """R24: a seek is true for the leader that was asked, and for none that follows it."""

    async def seek(self: PartitionGroups, group: Group, offset: int) -> int:
        state = self._state.group(group.id)
        assert state is not None
        previous = state.progress
        state.apply(state.seek(offset), now_ms=self._clock.monotonic_ms(), wall_now_ms=self._clock.now_ms())
        return previous

    patch.setattr(PartitionGroups, "seek", seek)


def seeks_are_answered_early(patch: pytest.MonkeyPatch) -> None:
    """R25: before they are durable, and before they are true."""
    original = DeliveryHost.commit

    async def commit(self: DeliveryHost, record: Any) -> None:
        if isinstance(record, SoughtRecord):
            self.write(record)
        else:
            await original(self, record)

    patch.setattr(DeliveryHost, "commit", commit)


def receipts_outlive_seeks(patch: pytest.MonkeyPatch) -> None:
    """R22: what was handed out before a seek may be settled after it."""
    original = settlement.judge

    def judge(item: SettleItem, event: MessageEvent, state: PartitionGroupState, **options: int) -> ProblemCode | None:
        present = SettleItem(item.offset, state.progress.generation, item.leader_epoch, item.attempt)
        return original(present, event, state, **options)

    patch.setattr(settlement, "judge", judge)


# --- topics that are deleted ------------------------------------------------------------------------------------------


def logs_go_by_name(patch: pytest.MonkeyPatch) -> None:
    """R14: a topic that is created under the name of a deleted one finds its logs."""
    names: dict[str, str] = {}
    original = Replicas._make

    async def make(self: Replicas, topic: Topic, state: PartitionState) -> ReplicaHost:
        names[topic.id] = topic.name.replace(".", "_").replace("-", "_")
        return await original(self, topic, state)

    patch.setattr(Replicas, "_make", make)
    patch.setattr(node_replicas, "LogKey", lambda topic_id, *rest: LogKey(names[topic_id], *rest))


def deleted_topics_stay(patch: pytest.MonkeyPatch) -> None:
    """Their data is on the disks for ever."""

    async def remove(self: OrphanedLogs, held: set[PartitionId]) -> None:
        return

    patch.setattr(OrphanedLogs, "remove", remove)


MUTANTS: tuple[Mutant, ...] = (
    truncate_to_high_watermark,
    compare_offsets_only,
    ack_before_fsync,
    recovery_reports_page_cache,
    journal_replayed_by_offset,
    truncations_are_volatile,
    leader_alone_commits,
    acks_when_logged,
    committed_isr_only,
    join_before_caught_up,
    isr_shrinks_below_minimum,
    restart_within_the_epoch,
    epochs_are_reused,
    wiped_disk_kept_in_isr,
    unclean_election,
    producers_are_forgotten,
    keys_are_forgotten,
    keys_stay_where_they_were,
    earlier_mappings_go_on,
    repair_in_the_isr,
    moves_end_before_the_copy,
    drained_nodes_look_empty,
    drained_nodes_get_replicas,
    seeks_are_volatile,
    seeks_are_answered_early,
    receipts_outlive_seeks,
    logs_go_by_name,
    deleted_topics_stay,
    dead_letters_are_done_first,
    leaders_forget_pauses,
    snapshots_name_the_log_end,
    projections_ignore_epochs,
    nearest_reads_go_to_the_log_end,
    deposed_leaders_answer_readers,
    leaders_that_cannot_commit_stay,
    keys_go_on_while_they_are_out,
    runs_end_with_their_first_message,
    what_comes_back_goes_out_of_turn,
    what_is_out_is_not_met,
    blocked_keys_are_passed_over,
    what_waits_is_forgotten,
    decisions_are_volatile,
    skips_pass_over_what_is_behind,
    what_is_blocked_becomes_a_letter,
    what_is_blocked_holds_up_all,
    what_is_blocked_holds_up_nothing,
    claims_are_volatile,
    leases_run_out_unnoticed,
    lost_answers_hold_up_nothing,
    lower_ownerships_are_served,
    owners_are_not_waited_for,
    rewinds_lose_an_offset,
    void_acks_are_answered,
    what_is_behind_stays_out,
    coordinators_forget,
    everybody_is_taken_for_gone,
    ownerships_are_not_raised,
    partitions_are_given_to_all,
    second_instances_are_accepted,
    sessions_never_end,
    some_partitions_are_nobodys,
    static_takeovers_keep_the_ownership,
    *SCHEDULE_MUTANTS,
    *FILTER_MUTANTS,
    *DELETION_MUTANTS,
    *RECURRING_MUTANTS,
    *PRODUCER_MUTANTS,
    *REDRIVE_MUTANTS,
    *MAPPING_MUTANTS,
    *TABLE_MUTANTS,
    *LIFETIME_MUTANTS,
    *HAND_OVER_MUTANTS,
    *QUOTA_MUTANTS,
    *VIEW_MUTANTS,
    *COMMIT_MUTANTS,
)

_SCENARIOS = "tests/scenarios/test_planted_bugs.py"

FOUND_ELSEWHERE: dict[str, str] = {
    earlier_mappings_go_on.__name__: _SCENARIOS,
    repair_in_the_isr.__name__: _SCENARIOS,
    what_is_refused_is_forgotten.__name__: "tests/unit/storage/node/schedule/test_schedule.py",
    placeholders_are_given_whole.__name__: "tests/unit/storage/node/replicas/test_compacted_fetches.py",
    refused_times_are_dealt_with.__name__: "tests/unit/storage/schedule/test_recurring_runs.py",
    lost_answers_hold_up_nothing.__name__: "tests/property/test_exclusive_delivery.py",
    what_was_given_back_is_not_judged_again.__name__: "tests/property/test_filtered_groups.py",
    runners_look_at_what_is_committed.__name__: "tests/unit/app/services/test_redrives_survive.py",
    void_acks_are_answered.__name__: "tests/unit/storage/delivery/test_exclusive_delivery.py",
    leases_run_out_unnoticed.__name__: "tests/unit/storage/delivery/test_exclusive_delivery.py",
    only_new_partitions_wait.__name__: "tests/unit/app/services/test_growth_in_order.py",
    new_leaders_forget_what_is_on_its_way.__name__: "tests/unit/storage/node/schedule/test_hand_overs.py",
}
"""Bugs that seeds meet too seldom to count on it, and who finds each of them in every run of the tests."""

# Histories that whole clusters meet too seldom for 500 seeds; the model in `tests/property/replication` finds these.
RARE: tuple[Mutant, ...] = (
    answers_of_any_epoch,
    proposed_isr_only,
    join_with_one_log,
    join_without_incarnation,
    earlier_life_counts,
    unknown_outcome_means_failed,
    repair_within_the_epoch,
)
