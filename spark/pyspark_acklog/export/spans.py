"""Ranges of offsets of one topic, and arithmetic with them."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

GapReason = Literal["retention", "compaction", "deleted", "freed"]
EndReason = Literal["complete", "deleted", "freed"]


class Span(msgspec.Struct, frozen=True, order=True, rename={"topic_id": "topicId", "start": "from", "end": "to"}):
    """The offsets `start` (inclusive) to `end` (exclusive) of a partition of the topic with this id."""

    topic_id: str
    partition: int
    start: int
    end: int

    @property
    def length(self) -> int:
        """How many offsets there are."""
        return max(0, self.end - self.start)

    def __str__(self) -> str:
        return f"p{self.partition} [{self.start}, {self.end})"


class Gap(msgspec.Struct, frozen=True, order=True, rename="camel"):
    """Offsets that an export lacks, and why: retention removed them before they were exported, compaction (and what
    else is no message) left nothing at them, or their topic was deleted, their partition freed, before that."""

    span: Span
    reason: GapReason

    def __str__(self) -> str:
        return f"{self.span}: {self.reason}"


class EndedLog(msgspec.Struct, frozen=True, order=True, rename={"topic_id": "topicId"}):
    """A partition that no later run reads: because everything is exported and nothing comes any more (`complete`), or
    because its topic was `deleted`, or it was decommissioned and `freed`, when nobody had looked behind `end` yet: how
    much was there is not known."""

    topic_id: str
    partition: int
    end: int
    reason: EndReason


def joined(spans: Iterable[Span]) -> list[Span]:
    """The same offsets in as few spans as possible, in order. Overlaps vanish."""
    found: list[Span] = []
    for span in sorted(each for each in spans if each.length):
        last = found[-1] if found else None
        if last is not None and _same_log(last, span) and span.start <= last.end:
            found[-1] = Span(last.topic_id, last.partition, last.start, max(last.end, span.end))
        else:
            found.append(span)
    return found


def without(wanted: Iterable[Span], taken: Iterable[Span]) -> list[Span]:
    """What of `wanted` is not in `taken`."""
    by_log: dict[tuple[str, int], list[Span]] = {}
    for span in joined(taken):
        by_log.setdefault((span.topic_id, span.partition), []).append(span)
    found: list[Span] = []
    for span in joined(wanted):
        at = span.start
        for hole in by_log.get((span.topic_id, span.partition), ()):
            if hole.end <= at or hole.start >= span.end:
                continue
            if hole.start > at:
                found.append(Span(span.topic_id, span.partition, at, hole.start))
            at = hole.end
        if at < span.end:
            found.append(Span(span.topic_id, span.partition, at, span.end))
    return found


def common(one: Iterable[Span], other: Iterable[Span]) -> list[Span]:
    """What is in both."""
    wanted = joined(one)
    return without(wanted, without(wanted, other))


def overlaps(spans: Sequence[Span]) -> list[Span]:
    """What is in more than one of `spans`."""
    found: list[Span] = []
    last: Span | None = None
    for span in sorted(each for each in spans if each.length):
        if last is not None and _same_log(last, span) and span.start < last.end:
            found.append(Span(span.topic_id, span.partition, span.start, min(span.end, last.end)))
        if last is None or not _same_log(last, span) or span.end > last.end:
            last = span
    return joined(found)


def total_length(spans: Iterable[Span]) -> int:
    """How many offsets they have together."""
    return sum(span.length for span in spans)


def _same_log(one: Span, other: Span) -> bool:
    return one.topic_id == other.topic_id and one.partition == other.partition
