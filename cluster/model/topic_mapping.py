"""Which partitions a topic's keys were mapped to before: growth and decommissioning change it.

A message that is sent again under its idempotency key may come after such a change, and has to be found where the
first try may have put it (rule R28). So a topic remembers its earlier mappings for as long as any key is remembered.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from acklog.wire.limits import DEDUP_WINDOW_MS_MAX
from cluster.model.values import EarlierMapping, Topic

EARLIER_MAPPINGS_MAX = 8
"""The oldest is forgotten first: sends are looked for in each of them."""

CLOCK_MARGIN_MS = 60_000
"""How far the clocks of two gateways may be apart, and how long a leader may go on without hearing of a change."""


def remapped(
    topic: Topic, *, partitions: int, decommissioned: Sequence[int], ordered_mappings: int, now_ms: int
) -> Topic:
    """The topic with these partitions from now on; as it is where nothing changes."""
    if (partitions, tuple(decommissioned)) == (topic.partitions, topic.decommissioned):
        return topic
    kept = list(topic.earlier_mappings)
    while kept and not _is_remembered(kept[0], DEDUP_WINDOW_MS_MAX, now_ms):
        del kept[0]  # never one from the middle: their numbers follow from their places
    kept.append(EarlierMapping(topic.partitions, topic.decommissioned, now_ms))
    return replace(
        topic,
        partitions=partitions,
        decommissioned=tuple(decommissioned),
        mapping=topic.mapping + 1,
        earlier_mappings=tuple(kept[-EARLIER_MAPPINGS_MAX:]),
        ordered_mappings=ordered_mappings,
    )


def earlier_topics(topic: Topic, now_ms: int) -> list[Topic]:
    """The topic as it was under each mapping whose sends the dedup windows may still know, the oldest first."""
    first = topic.mapping - len(topic.earlier_mappings)
    return [
        replace(
            topic,
            partitions=each.partitions,
            decommissioned=each.decommissioned,
            mapping=first + number,
            earlier_mappings=(),
        )
        for number, each in enumerate(topic.earlier_mappings)
        if _is_remembered(each, topic.config.dedup_window_ms, now_ms)
    ]


def _is_remembered(mapping: EarlierMapping, window_ms: int, now_ms: int) -> bool:
    return mapping.until_ms + window_ms + CLOCK_MARGIN_MS > now_ms
