"""Asks the servers once, at the start, and pins what will be read: the answers never change what a task does later."""

import re
from collections.abc import Iterable, Mapping

from acklog import Client
from acklog.catalog import PartitionState, TopicDescription
from acklog.errors import AcklogError
from acklog.runtime import monotonic_ms
from pyspark_acklog.archive.reading import Archive
from pyspark_acklog.connection import pause
from pyspark_acklog.failures import DataLossError, OptionError, SparkSourceError, of_server
from pyspark_acklog.options import ReadOptions
from pyspark_acklog.positions import AtOffsets, AtTime, Bound, OfGroup, Position
from pyspark_acklog.ranges import OffsetRange, PinnedPartition

LEADERLESS_PAUSE_S = 0.25
GROUP_TOPICS_MAX = 50
"""Named in one request for a group's progress: an address has a limited length."""


def pin(client: Client, options: ReadOptions) -> list[OffsetRange]:
    """What to read of every partition of every topic, by topic and partition; ranges may be empty. Ends are at the
    high watermark at most.

    Raises SparkSourceError: OptionError for topics and positions that are not there, DataLossError.
    """
    return [each.range for each in pin_partitions(client, options)]


def pin_partitions(client: Client, options: ReadOptions) -> list[PinnedPartition]:
    """As `pin`, with how large the partitions' messages are."""
    starting = Bound.EARLIEST if options.starting is None else options.starting
    try:
        topics = described(client, options)
        first = _Resolver(client, topics, starting, "starting", options)
        last = _Resolver(client, topics, options.ending, "ending", options)
        found = []
        for topic in topics:
            archive = Archive(options.archive, topic.name) if options.archive else None
            for state in topic.partition_states:
                if state.log_start is None or state.high_watermark is None:
                    continue  # decommissioned, and gone with all its messages
                held = state
                if archive is not None:
                    is_strict = options.fetch.fail_on_data_loss
                    held = archive.extended(topic.id, state, fail_on_data_loss=is_strict)
                start, end = first.offset(topic, held), last.offset(topic, held)
                pinned = OffsetRange(topic.name, topic.id, state.partition, start, max(start, end))
                found.append(_pinned(pinned, state, at_least=1.0 if archive is None else archive.bytes_per_offset))
        return found
    except AcklogError as error:
        raise of_server(error, options.connection.urls, "planning the read") from None


def described(client: Client, options: ReadOptions) -> list[TopicDescription]:
    """The topics that the options name, each with the bounds of all its partitions; by name.

    Raises AcklogError, and SparkSourceError when a partition's leader stays away.
    """
    names: Iterable[str] = options.topics
    if options.topic_pattern:
        names = [each.name for each in client.topics.list() if re.fullmatch(options.topic_pattern, each.name)]
        if not names:
            raise OptionError("topicPattern", f"no topic matches {options.topic_pattern!r}")
    return [described_topic(client, name, deadline_s=options.connection.timeout_s) for name in sorted(names)]


def described_topic(client: Client, name: str, *, deadline_s: float) -> TopicDescription:
    """The topic, once the leaders of all its partitions have answered. Raises AcklogError, SparkSourceError."""
    until_ms = monotonic_ms() + deadline_s * 1000
    while True:
        topic = client.topics.get(name)
        silent = [state for state in topic.partition_states if state.problem is not None]
        if not silent:
            return topic
        if monotonic_ms() >= until_ms:
            first = silent[0]
            why = "" if first.problem is None else first.problem.detail
            raise SparkSourceError(f"partition {first.partition} of topic {name!r} cannot be asked: {why}")
        pause(LEADERLESS_PAUSE_S)


def _pinned(range_: OffsetRange, state: PartitionState, *, at_least: float) -> PinnedPartition:
    log_start, high_watermark = state.log_start or 0, state.high_watermark or 0
    offsets = max(1, high_watermark - log_start)
    return PinnedPartition(range_, max(at_least, (state.size_bytes or 0) / offsets), log_start, high_watermark)


class _Resolver:
    """Turns one of the two positions into offsets."""

    def __init__(
        self, client: Client, topics: list[TopicDescription], position: Position, which: str, options: ReadOptions
    ) -> None:
        self._client = client
        self._position = position
        self._which = which
        self._options = options
        self._progress = _progress(client, position.group, topics) if isinstance(position, OfGroup) else {}
        if isinstance(position, AtOffsets):
            self._check_partitions(position, topics)

    def offset(self, topic: TopicDescription, state: PartitionState) -> int:
        """Where the partition's reading begins or ends. Raises AcklogError, DataLossError, OptionError."""
        log_start, high_watermark = state.log_start or 0, state.high_watermark or 0
        position = self._position
        if isinstance(position, AtTime):
            whole = OffsetRange(topic.name, topic.id, state.partition, log_start, high_watermark)
            return offset_at_time(self._client, whole, position.time_ms)
        if isinstance(position, OfGroup):
            progress = self._progress.get((topic.name, state.partition), log_start)
            return min(max(progress, log_start), high_watermark)
        bound: int | Bound = self._default if isinstance(position, AtOffsets) else position
        if isinstance(position, AtOffsets):
            named = position.offsets.get(topic.name) or position.offsets.get("") or {}
            bound = named.get(state.partition, bound)
        if isinstance(bound, Bound):
            return log_start if bound is Bound.EARLIEST else high_watermark
        return self._checked(topic.name, state.partition, bound, log_start, high_watermark)

    @property
    def _default(self) -> Bound:
        return Bound.EARLIEST if self._which == "starting" else Bound.LATEST

    def _checked(self, topic: str, partition: int, offset: int, log_start: int, high_watermark: int) -> int:
        option = f"{self._which}Offsets"
        if offset > high_watermark:
            raise OptionError(option, f"{topic}-{partition} ends at {high_watermark}, {offset} is beyond it")
        if offset >= log_start:
            return offset
        if self._options.fetch.fail_on_data_loss and self._which == "starting":
            raise lost(topic, partition, offset, log_start)
        return log_start

    def _check_partitions(self, position: AtOffsets, topics: list[TopicDescription]) -> None:
        for topic in topics:
            named = position.offsets.get(topic.name) or position.offsets.get("") or {}
            for partition in named:
                if partition >= topic.partitions:
                    why = f"topic {topic.name!r} has the partitions 0 to {topic.partitions - 1}, not {partition}"
                    raise OptionError(f"{self._which}Offsets", why)


def offset_at_time(client: Client, range_: OffsetRange, time_ms: int) -> int:
    """The first offset of the range that was appended at this time or later; its end if there is none. Raises
    AcklogError."""
    page = client.records(range_.topic, range_.partition, time_ms=time_ms, max_bytes=1)
    return min(max(page.offset, range_.start), range_.end)


def lost(topic: str, partition: int, start: int, end: int, *, reason: str = "retention") -> DataLossError:
    """The error for offsets that are gone: by `retention`, or `missing` in the middle of the log."""
    why = "retention has removed them" if reason == "retention" else "the log leaves them out"
    return DataLossError(
        f"offsets {start} to {end - 1} of {topic}-{partition} are not there any more: {why}; "
        "failOnDataLoss=false goes on without them"
    )


def _progress(client: Client, group: str, topics: list[TopicDescription]) -> Mapping[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    names = [topic.name for topic in topics]
    for at in range(0, len(names), GROUP_TOPICS_MAX):
        for each in client.groups.offsets(group, names[at : at + GROUP_TOPICS_MAX]).offsets:
            if each.progress is None:
                why = "its leader cannot be asked" if each.problem is None else each.problem.detail
                raise SparkSourceError(f"where group {group!r} is in {each.topic}-{each.partition} is not known: {why}")
            found[each.topic, each.partition] = each.progress
    return found
