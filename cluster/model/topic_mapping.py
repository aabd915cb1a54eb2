"""Which partitions a topic's keys were mapped to before: growth and decommissioning change it.

A message that is sent again under its idempotency key may come after such a change, and has to be found where the
first try may have put it (rule R28). And a key's latest value is where one of them put it, for good. So a topic
remembers its earlier mappings: all of them while its partitions say where each begins, which is bounded
(`cluster.model.mapping_starts`), else for as long as any key is remembered.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from acklog.wire.limits import DEDUP_WINDOW_MS_MAX
from cluster.model.mapping_starts import keeps_order, too_many_changes
from cluster.model.values import EarlierMapping, Topic

EARLIER_MAPPINGS_MAX = 8
"""Sends are looked for in each of so many, the last ones."""

CLOCK_MARGIN_MS = 60_000
"""How far the clocks of two gateways may be apart, and how long a leader may go on without hearing of a change."""


def remapped(
    topic: Topic, *, partitions: int, decommissioned: Sequence[int], ordered_mappings: int, now_ms: int
) -> Topic:
    """The topic with these partitions from now on; as it is where nothing changes. Raises ServerError
    TOO_MANY_CHANGES."""
    if (partitions, tuple(decommissioned)) == (topic.partitions, topic.decommissioned):
        return topic
    earlier = (*topic.earlier_mappings, EarlierMapping(topic.partitions, topic.decommissioned, now_ms))
    updated = replace(
        topic,
        partitions=partitions,
        decommissioned=tuple(decommissioned),
        mapping=topic.mapping + 1,
        earlier_mappings=earlier,
        ordered_mappings=ordered_mappings,
    )
    if keeps_order(updated):
        return updated
    if topic.config.is_compacted:
        raise too_many_changes(topic)
    return replace(updated, earlier_mappings=_remembered(earlier, now_ms))


def topic_at(topic: Topic, mapping: int) -> Topic | None:
    """As it was under this mapping; None where that is forgotten."""
    if mapping == topic.mapping:
        return topic
    place = mapping - topic.mapping + len(topic.earlier_mappings)
    return _at(topic, place) if place >= 0 else None


def earlier_topics(topic: Topic, now_ms: int) -> list[Topic]:
    """The topic as it was under each mapping whose sends the dedup windows may still know, the oldest first."""
    count = len(topic.earlier_mappings)
    return [
        _at(topic, place)
        for place in range(max(count - EARLIER_MAPPINGS_MAX, 0), count)
        if _is_remembered(topic.earlier_mappings[place], topic.config.dedup_window_ms, now_ms)
    ]


def _at(topic: Topic, place: int) -> Topic:
    """As it was under one of its earlier mappings. Their numbers follow from their places."""
    earlier = topic.earlier_mappings[place]
    return replace(
        topic,
        partitions=earlier.partitions,
        decommissioned=earlier.decommissioned,
        mapping=topic.mapping - len(topic.earlier_mappings) + place,
        earlier_mappings=(),
    )


def _remembered(earlier: Sequence[EarlierMapping], now_ms: int) -> tuple[EarlierMapping, ...]:
    """By any window of idempotency keys: the last ones, never without one from the middle. The newest is."""
    kept = list(earlier[-EARLIER_MAPPINGS_MAX:])
    while not _is_remembered(kept[0], DEDUP_WINDOW_MS_MAX, now_ms):
        del kept[0]
    return tuple(kept)


def _is_remembered(mapping: EarlierMapping, window_ms: int, now_ms: int) -> bool:
    return mapping.until_ms + window_ms + CLOCK_MARGIN_MS > now_ms
