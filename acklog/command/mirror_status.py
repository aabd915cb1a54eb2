"""How a mirror is, by the state that it keeps in the target and by what the source has: whether it runs or not."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from acklog.catalog import PartitionProgress
from acklog.errors import AcklogError, OffsetOutOfRange, TopicNotFound
from acklog.mirror.checkpoint import Checkpoint, StoppedTopic
from acklog.mirror.ends import MirrorSource, MirrorTarget
from acklog.mirror.mirror import state_topic_of
from acklog.mirror.mirror_state import read_state
from acklog.mirror.position_mirror import EXCLUSIVE
from acklog.mirror.position_rule import PositionMove, Stays, decide_position
from acklog.wire.name_patterns import is_pattern_for

MISSED_BEATS_MAX = 3
BEAT_SLACK_MS = 5_000


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """`lag` counts offsets, `lag_ms` is how long the first message that is not copied has waited."""

    topic: str
    target: str
    partition: int
    next_offset: int | None = None
    high_watermark: int | None = None
    lag: int | None = None
    lag_ms: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """`translated` is the source's `progress` as an offset of the target. `again` is how many messages a consumer that
    moved over now would get again of those that are done in the source."""

    group: str
    topic: str
    target: str
    partition: int
    progress: int
    translated: int | None
    target_progress: int | None
    again: int | None
    state: str


@dataclass(slots=True)
class MirrorStatus:
    """`is_good`: it runs, nothing is stopped, and it is not further behind than it may be."""

    name: str
    seen_ms_ago: int | None
    is_alive: bool
    is_good: bool = False
    partitions: list[PartitionStatus] = field(default_factory=list)
    groups: list[GroupStatus] = field(default_factory=list)
    stopped: Sequence[StoppedTopic] = ()

    @property
    def lag(self) -> int:
        return sum(each.lag or 0 for each in self.partitions)

    @property
    def lag_ms(self) -> int:
        return max((each.lag_ms or 0 for each in self.partitions), default=0)


class StatusReader:
    """Reads one mirror's."""

    def __init__(self, source: MirrorSource, target: MirrorTarget, name: str, *, now_ms: int) -> None:
        self._source = source
        self._target = target
        self._name = name
        self._now_ms = now_ms

    async def read(
        self, patterns: Sequence[str], groups: Sequence[str], *, lag_max: int, lag_ms_max: int | None
    ) -> MirrorStatus:
        """Of the source's topics that a pattern is for. Raises AcklogError; TopicNotFound where there never was such a
        mirror."""
        kept = await read_state(self._target, state_topic_of(self._name))
        beat = kept.heartbeat
        status = MirrorStatus(self._name, None, is_alive=False)
        if beat is not None:
            status.seen_ms_ago = max(0, self._now_ms - beat.at_ms)
            status.is_alive = status.seen_ms_ago <= MISSED_BEATS_MAX * beat.interval_ms + BEAT_SLACK_MS
            status.stopped = beat.stopped
        by_topic: dict[str, list[Checkpoint]] = {}
        for checkpoint in kept.checkpoints.values():
            if not any(is_pattern_for(pattern, checkpoint.source_topic) for pattern in patterns):
                continue
            by_topic.setdefault(checkpoint.source_topic, []).append(checkpoint)
        for topic, checkpoints in sorted(by_topic.items()):
            status.partitions += await self._topic(topic, checkpoints)
        for group in groups:
            status.groups += await self._group(group, by_topic)
        is_close = status.lag <= lag_max and (lag_ms_max is None or status.lag_ms <= lag_ms_max)
        is_whole = not status.stopped and not any(each.problem for each in status.partitions)
        status.is_good = status.is_alive and is_close and is_whole
        return status

    async def _topic(self, topic: str, checkpoints: Sequence[Checkpoint]) -> list[PartitionStatus]:
        known = {each.partition: each for each in checkpoints}
        target = checkpoints[0].target_topic
        try:
            there = await self._source.describe(topic)
        except TopicNotFound:
            return [PartitionStatus(topic, target, number, problem="gone from the source") for number in sorted(known)]
        found: list[PartitionStatus] = []
        for state in there.partition_states:
            checkpoint = known.get(state.partition)
            if checkpoint is None:
                found.append(
                    PartitionStatus(
                        topic, target, state.partition, lag=state.high_watermark, problem="nothing is copied yet"
                    )
                )
            elif checkpoint.source_topic_id != there.id:
                found.append(PartitionStatus(topic, target, state.partition, problem="made anew in the source"))
            elif state.high_watermark is None:
                problem = "its leader cannot be asked"
                found.append(PartitionStatus(topic, target, state.partition, checkpoint.next_offset, problem=problem))
            else:
                found.append(await self._partition(checkpoint, state.high_watermark))
        return found

    async def _partition(self, checkpoint: Checkpoint, high_watermark: int) -> PartitionStatus:
        begin = checkpoint.next_offset
        lag = max(0, high_watermark - begin)
        lag_ms: int | None = 0
        problem = ""
        if lag:
            try:
                page = await self._source.read(
                    checkpoint.source_topic, checkpoint.partition, offset=begin, epoch=None, max_bytes=1
                )
                lag_ms = max(0, self._now_ms - page.messages[0].append_time_ms) if page.messages else 0
            except OffsetOutOfRange:
                lag_ms, problem = None, "the source removed what was not copied"
        return PartitionStatus(
            checkpoint.source_topic,
            checkpoint.target_topic,
            checkpoint.partition,
            begin,
            high_watermark,
            lag,
            lag_ms,
            problem,
        )

    async def _group(self, group: str, by_topic: dict[str, list[Checkpoint]]) -> list[GroupStatus]:
        offsets = await self._source.group_offsets(group)
        mode = next((each.mode for each in await self._source.groups() if each.name == group), "")
        try:
            there = await self._target.group_offsets(group)
            places = {(each.topic, each.partition): each for each in there.offsets}
        except AcklogError as error:
            if error.code != "GROUP_NOT_FOUND":
                raise
            places = {}
        found: list[GroupStatus] = []
        for each in offsets.offsets:
            checkpoint = next((c for c in by_topic.get(each.topic, ()) if c.partition == each.partition), None)
            if checkpoint is not None and each.progress is not None:
                found.append(_group_status(group, each, checkpoint, places, is_exclusive=mode == EXCLUSIVE))
        return found


def _group_status(
    group: str,
    source: PartitionProgress,
    checkpoint: Checkpoint,
    places: dict[tuple[str, int], PartitionProgress],
    *,
    is_exclusive: bool,
) -> GroupStatus:
    progress = source.progress or 0
    translated = checkpoint.offset_map().target_of(progress)
    here = places.get((checkpoint.target_topic, checkpoint.partition))
    decision = decide_position(translated, here)
    target_progress = None if here is None else here.progress
    again = None
    if translated is not None:
        again = max(0, translated - (target_progress or 0)) + (source.done_above or 0)
    return GroupStatus(
        group,
        source.topic,
        checkpoint.target_topic,
        source.partition,
        progress,
        translated,
        target_progress,
        again,
        _state_text(decision, is_exclusive=is_exclusive),
    )


def _state_text(decision: PositionMove | Stays, *, is_exclusive: bool) -> str:
    if isinstance(decision, PositionMove):
        return "seekByHand" if is_exclusive else "behind"
    return str(decision)
