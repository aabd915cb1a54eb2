"""Where a streaming query is, as its checkpoint keeps it: by topic its id and the next offset of each partition.

    {"flights": {"id": "9f…", "offsets": {"0": 17, "1": 4}, "slice": 65000}}

The id tells a topic that was deleted and made anew. `slice` is how many messages of a partition one task of the
micro-batch reads that ends here: a micro-batch that is read again has the same tasks with the same rows, whatever is
known of the messages' sizes by then, and so a writer's task finds what it has written. Everything here is pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark_acklog import ranges
from pyspark_acklog.failures import SparkSourceError, TopicChangedError
from pyspark_acklog.fetch import changed
from pyspark_acklog.ranges import OffsetRange


@dataclass(frozen=True, slots=True)
class TopicOffsets:
    """The next offset of each partition of the topic with this id. `slice_length` 0: none was settled."""

    topic_id: str
    offsets: Mapping[int, int]
    slice_length: int = 0


StreamOffsets = Mapping[str, TopicOffsets]


def to_document(offsets: StreamOffsets) -> dict[str, Any]:
    """As Spark stores it: JSON, whose keys are texts."""
    return {topic: _topic_document(each) for topic, each in sorted(offsets.items())}


def _topic_document(place: TopicOffsets) -> dict[str, Any]:
    numbers = {str(number): place.offsets[number] for number in sorted(place.offsets)}
    settled = {"slice": place.slice_length} if place.slice_length else {}
    return {"id": place.topic_id, "offsets": numbers, **settled}


def of_document(document: Mapping[str, Any]) -> dict[str, TopicOffsets]:
    """Raises SparkSourceError for what is no checkpoint of this source."""
    try:
        return {
            topic: TopicOffsets(
                str(each["id"]),
                {int(number): int(at) for number, at in each["offsets"].items()},
                int(each.get("slice", 0)),
            )
            for topic, each in document.items()
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        raise SparkSourceError(f"the checkpoint's offsets are not of this source: {document!r:.200}") from None


def of_ranges(pinned: Iterable[OffsetRange], *, at_end: bool) -> dict[str, TopicOffsets]:
    """The starts of the ranges, or their ends."""
    found: dict[str, tuple[str, dict[int, int]]] = {}
    for each in pinned:
        found.setdefault(each.topic, (each.topic_id, {}))[1][each.partition] = each.end if at_end else each.start
    return {topic: TopicOffsets(topic_id, offsets) for topic, (topic_id, offsets) in found.items()}


def between(start: StreamOffsets, end: StreamOffsets) -> list[OffsetRange]:
    """What lies between two places of a query. Of a topic or a partition that `start` does not know, nothing does: it
    was found on the way, and the next micro-batch begins with it. Raises TopicChangedError."""
    found = []
    for topic, last in sorted(end.items()):
        first = start.get(topic)
        if first is not None and first.topic_id != last.topic_id:
            raise changed(topic, first.topic_id, last.topic_id)
        for partition, high in sorted(last.offsets.items()):
            low = high if first is None else first.offsets.get(partition, high)
            found.append(OffsetRange(topic, last.topic_id, partition, low, max(low, high)))
    return found


def is_same_place(one: StreamOffsets, other: StreamOffsets) -> bool:
    return {topic: (each.topic_id, each.offsets) for topic, each in one.items()} == {
        topic: (each.topic_id, each.offsets) for topic, each in other.items()
    }


def with_slices(places: StreamOffsets, slice_lengths: Mapping[str, int]) -> dict[str, TopicOffsets]:
    """`slice_lengths` by topic, of those that one was settled for."""
    return {topic: replace(each, slice_length=slice_lengths.get(topic, 0)) for topic, each in places.items()}


def beyond_the_log(start: StreamOffsets, now: StreamOffsets) -> list[OffsetRange]:
    """What the query has read already and the logs do not have, by `now`: from where they end to where the query is."""
    found = []
    for topic, first in sorted(start.items()):
        known = now.get(topic)
        if known is not None and known.topic_id == first.topic_id:
            ends = known.offsets
            found += [
                OffsetRange(topic, first.topic_id, number, ends[number], at)
                for number, at in sorted(first.offsets.items())
                if ends.get(number, at) < at
            ]
    return found


def advanced(
    start: StreamOffsets, log_starts: StreamOffsets, now: StreamOffsets, *, messages_max: int | None
) -> dict[str, TopicOffsets]:
    """The end of the next micro-batch: `now`, or less where there are more messages than `messages_max`. It is never
    before `start`, and forgets no topic and no partition. New ones are put at their first message, or at where
    `log_starts` has it. Raises TopicChangedError."""
    for topic, first in start.items():
        known = now.get(topic)
        if known is None:
            raise TopicChangedError(f"topic {topic!r} is not there any more; begin a new query with a new checkpoint")
        if known.topic_id == first.topic_id:
            now = {**now, topic: TopicOffsets(known.topic_id, {**first.offsets, **known.offsets})}
    ends = {}
    for topic, last in now.items():
        seen = start[topic].offsets if topic in start else {}
        begins = log_starts[topic].offsets if topic in log_starts else {}
        offsets = {number: high if number in seen else begins.get(number, 0) for number, high in last.offsets.items()}
        ends[topic] = TopicOffsets(last.topic_id, offsets)
    fresh = between(start, ends)
    if messages_max is not None:
        fresh = ranges.limited(fresh, messages_max=messages_max)
    return of_ranges(fresh, at_end=True)
