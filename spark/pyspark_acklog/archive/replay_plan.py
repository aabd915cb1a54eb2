"""What a replay sends, and under which names: pure, and the same however often it is begun again."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from acklog.wire.partitioner import partition_for_key
from pyspark_acklog.export.spans import Span

BATCH_MESSAGES_MAX = 1_000
BATCH_BYTES_MAX = 1024 * 1024
NAME_DIGEST_LENGTH = 16
Placing = Literal["keep", "key"]


class TargetPartition(msgspec.Struct, frozen=True, rename="camel"):
    """A partition that takes messages, and where it ended before the replay began: what the replay has sent is at
    `end_before` or behind it."""

    partition: int
    end_before: int


class Selection(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What to send again: all that was exported, but for what the fields leave out. Times are of appending, in
    milliseconds since 1970, -1 for no limit."""

    topic: str
    topic_id: str = ""
    partitions: tuple[int, ...] = ()
    start: int | None = None
    end: int | None = None
    since_ms: int = -1
    until_ms: int = -1


class ReplayPlan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A replay, written down before its first message. `spans` are of one topic id: what the selection meant then,
    however much is exported later."""

    name: str
    selection: Selection
    spans: tuple[Span, ...]
    target: str
    target_id: str
    dedup_window_ms: int
    targets: tuple[TargetPartition, ...]
    placing: Placing
    batch_messages_max: int = BATCH_MESSAGES_MAX
    batch_bytes_max: int = BATCH_BYTES_MAX
    begun_at_ms: int

    def is_of(self, other: "ReplayPlan") -> bool:
        """Whether both send the same to the same; the export and the target may have grown since."""
        fields = ("selection", "target", "target_id")
        return all(getattr(self, field) == getattr(other, field) for field in fields)

    def partition_for(self, source: int, key: str | None) -> int:
        """Where a message goes: where it was, or where its key belongs; one key always to one partition."""
        if self.placing == "keep":
            return source
        if key is None:
            return self.targets[source % len(self.targets)].partition
        return self.targets[partition_for_key(key.encode(), len(self.targets))].partition


class Batch(msgspec.Struct):
    """Messages of one source partition for one target partition, in order: one request, stored whole or not at all."""

    key: str
    target: int
    rows: list[int]


def name_of(root: str, selection: Selection, target: str) -> str:
    """The name of a replay that was given none: the same for the same work."""
    parts = [root.encode(), msgspec.json.encode(selection), target.encode()]
    return hashlib.sha256(b"\n".join(parts)).hexdigest()[:NAME_DIGEST_LENGTH]


class Lanes:
    """Cuts the messages of one source partition, which come in order, into batches.

    Where a batch ends depends on the messages and the plan alone, so one that is sent again has the same name and the
    same content, which is what the server tells repeated requests by.
    """

    def __init__(self, plan: ReplayPlan, source: int) -> None:
        self._plan = plan
        self._source = source
        self._lanes: dict[int, _Lane] = {}

    def add(self, number: int, offset: int, key: str | None, size_bytes: int) -> Iterator[Batch]:
        """Take the message with this number (whatever the caller counts by); yields a batch that is full without it."""
        target = self._plan.partition_for(self._source, key)
        lane = self._lanes.get(target)
        if lane is not None and (
            len(lane.rows) >= self._plan.batch_messages_max or lane.size_bytes + size_bytes > self._plan.batch_bytes_max
        ):
            yield self._batch(target, self._lanes.pop(target))
            lane = None
        if lane is None:
            lane = self._lanes[target] = _Lane([], offset, offset, 0)
        lane.rows.append(number)
        lane.last = offset
        lane.size_bytes += size_bytes

    def rest(self) -> Iterator[Batch]:
        """What is left when there are no more messages, by target."""
        for target in sorted(self._lanes):
            yield self._batch(target, self._lanes[target])
        self._lanes.clear()

    def _batch(self, target: int, lane: "_Lane") -> Batch:
        key = batch_key(self._plan.name, self._source, lane.first, lane.last, target)
        return Batch(key, target, lane.rows)


class _Lane(msgspec.Struct):
    rows: list[int]
    first: int
    last: int
    size_bytes: int


def batch_key(name: str, source: int, first: int, last: int, target: int) -> str:
    """The idempotency key of a batch. It is stored with the messages, so a replay that is begun again days later finds
    in the log what it has sent."""
    return f"replay-{name}-{source}-{first}-{last}-{target}"


def stored_keys(keys: Iterable[str], name: str) -> set[str]:
    """Which of a log's idempotency keys are those of the replay's batches."""
    prefix = f"replay-{name}-"
    return {key.partition("\n")[0] for key in keys if key.startswith(prefix)}


def narrowed(
    positions: Sequence[Span], *, partitions: Sequence[int], start: int | None, end: int | None
) -> tuple[Span, ...]:
    """The spans of the partitions that are wanted (all without any), between two offsets."""
    found = []
    for span in positions:
        if partitions and span.partition not in partitions:
            continue
        low = span.start if start is None else max(span.start, start)
        high = span.end if end is None else min(span.end, end)
        if low < high:
            found.append(Span(span.topic_id, span.partition, low, high))
    return tuple(sorted(found))
