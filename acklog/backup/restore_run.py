"""A restore: fills topics that nobody is served from, and opens all of them at its end.

Nothing has to be remembered of one that was killed: the server says how far each partition is.
"""

from collections.abc import Callable, Container, Sequence
from contextlib import suppress

import msgspec

from acklog.backup.backup_error import BackupError
from acklog.backup.content_file import FOLDER, checked_content
from acklog.backup.copy_tools import CopyTools
from acklog.backup.delayed_batches import delayed_batches
from acklog.backup.manifest import Manifest, PartitionEntry, TopicGap
from acklog.backup.partition_restore import FilledPartition, PartitionRestore, pages
from acklog.backup.restore_plan import TopicPlan
from acklog.client import copy_calls
from acklog.client.call import segment
from acklog.errors import GroupExists, ScheduleExists, TopicExists, TopicNotRestoring

SCHEDULE = "schedule"
_Filled = dict[int, FilledPartition]
"""By the partition's number."""


class RestoredTopic(msgspec.Struct, rename="camel"):
    """The topic `source` of the backup is `topic` now, whose id is `topic_id`: messages are at the offsets that they
    had, and their ids name the topic of now. `was_there`: an earlier restore of the same had finished it; how
    many messages it brought is not known."""

    source: str
    source_id: str
    topic: str
    topic_id: str
    messages: int | None
    was_there: bool = False


class RestoreOutcome(msgspec.Struct, rename="camel"):
    """`groups` were made, or were there with the settings of the backup; `kept_groups` were there with others, which
    they keep. `gaps` are what the backup does not have of the topics, as they are called there, and `left_out` what
    backups never have."""

    run_id: str
    topics: list[RestoredTopic]
    groups: list[str]
    kept_groups: list[str]
    gaps: list[TopicGap]
    left_out: list[str]


class RestoreRun:
    def __init__(self, tools: CopyTools, *, now_ms: Callable[[], int]) -> None:
        self._copies = tools.copies
        self._store = tools.store
        self._now_ms = now_ms
        self._partitions = PartitionRestore(tools)
        self._kept_groups: list[str] = []

    def restore(self, manifest: Manifest, plans: Sequence[TopicPlan]) -> RestoreOutcome:
        """Raises BackupError where a topic is there that this restore did not make, BackupDamaged, and AcklogError.
        Whatever it raises, nothing of it is served: restore the same again, or give it up."""
        states = [self._begin(plan) for plan in plans]
        under_way = [(plan, state) for plan, state in zip(plans, states, strict=True) if state.restoring]
        groups = self._make_groups(manifest, [plan for plan, _ in under_way])
        known = {group.name for group in manifest.groups}
        filled = {plan.name: self._fill(plan, state, known) for plan, state in under_way}
        for plan, _ in under_way:
            self._finish(plan, filled[plan.name])
        for plan in plans:
            self._put_schedules(plan)
        topics = [_restored(plan, state, filled.get(plan.name)) for plan, state in zip(plans, states, strict=True)]
        ends = {name: {number: each.end for number, each in of.items()} for name, of in filled.items()}
        gaps = [gap for plan in plans for gap in plan.copy.gaps(ends.get(plan.name, {}))]
        return RestoreOutcome(manifest.run_id, topics, groups, self._kept_groups, gaps, manifest.left_out)

    def _begin(self, plan: TopicPlan) -> copy_calls.RestoreState:
        document = {
            "restoreId": plan.restore_id,
            "partitions": plan.copy.partition_count,
            "replicationFactor": plan.copy.replication_factor,
            "config": plan.copy.config,
        }
        try:
            return self._copies.perform(copy_calls.begin_restore(plan.name, document))
        except TopicExists as error:
            raise BackupError(
                f"there is a topic {plan.name} that this restore did not make; restore it under another name"
            ) from error

    def _make_groups(self, manifest: Manifest, plans: Sequence[TopicPlan]) -> list[str]:
        wanted = {name for plan in plans for each in plan.copy.partitions for name in each.groups.values()}
        made = []
        for group in manifest.groups:
            if group.name not in wanted:
                continue
            try:
                document = {"mode": group.mode, "settings": group.settings}
                self._copies.perform(copy_calls.put_document(f"/groups/{segment(group.name)}", document))
                made.append(group.name)
            except GroupExists:
                self._kept_groups.append(group.name)
        return made

    def _fill(self, plan: TopicPlan, state: copy_calls.RestoreState, known: Container[str]) -> _Filled:
        there = {each.partition: each for each in state.partitions}
        filled = {number: FilledPartition(each.end, 0) for number, each in there.items()}
        for copy in plan.copy.partitions:
            filled[copy.partition] = self._partitions.fill(plan, copy, end=there[copy.partition].end)
            self._partitions.groups(plan, copy, known)
            self._fill_schedule(plan, copy, end=there[copy.partition].scheduled_end)
        return filled

    def _fill_schedule(self, plan: TopicPlan, copy: PartitionEntry, *, end: int) -> None:
        """Delayed messages get other ids; when they are due stays."""
        folder = f"{FOLDER}/{plan.copy.id}-{copy.partition}/"
        first, append_ms = 0, self._now_ms()
        for name in plan.copy.scheduled_names if plan.is_whole else ():
            if not name.startswith(folder):
                continue
            content = checked_content(self._store, name)
            batches, behind = delayed_batches(content, first, append_ms=append_ms)
            for page in pages(batches) if behind > end else ():
                call = copy_calls.restore_batches(plan.name, copy.partition, plan.restore_id, page, log=SCHEDULE)
                self._copies.perform(call)
            first = behind

    def _put_schedules(self, plan: TopicPlan) -> None:
        """Also of a topic that was finished before: the restore may have been killed right behind that."""
        for name, document in plan.copy.recurring.items():
            path = f"/topics/{segment(plan.name)}/schedules/{segment(name)}"
            with suppress(ScheduleExists):  # somebody has set it otherwise since
                self._copies.perform(copy_calls.put_document(path, document))

    def _finish(self, plan: TopicPlan, filled: _Filled) -> None:
        starts = {each.partition: each.log_start for each in plan.copy.partitions}
        document = {
            "restoreId": plan.restore_id,
            "partitions": [
                {"partition": number, "logStart": min(starts.get(number, 0), each.end), "end": each.end}
                for number, each in sorted(filled.items())
            ],
            "decommissioned": plan.copy.decommissioned,
        }
        try:
            self._copies.perform(copy_calls.finish_restore(plan.name, document))
        except TopicNotRestoring:
            # An earlier try, whose answer was lost, has done it; else the topic is not ours any more.
            state = self._copies.perform(copy_calls.look_at_restore(plan.name))
            if state.restoring or state.restore_id != plan.restore_id:
                raise


def _restored(plan: TopicPlan, state: copy_calls.RestoreState, filled: _Filled | None) -> RestoredTopic:
    messages = None if filled is None else sum(each.messages for each in filled.values())
    return RestoredTopic(plan.copy.name, plan.copy.id, plan.name, state.topic_id, messages, not state.restoring)
