"""What a topic remembers of how its keys were mapped before."""

import pytest
from msgspec.structs import replace

from acklog.wire.limits import DEDUP_WINDOW_MS_MAX
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.codec import decode, encode
from cluster.model.mapping_starts import ORDERED_MAPPINGS_MAX
from cluster.model.topic_mapping import CLOCK_MARGIN_MS, EARLIER_MAPPINGS_MAX, earlier_topics, remapped, topic_at
from cluster.model.values import CleanupPolicy, Topic, TopicConfig

WINDOW_MS = 60_000
TOPIC = Topic("0123456789abc", "orders", 3, 1, 0, TopicConfig(dedup_window_ms=WINDOW_MS))


def grown(topic: Topic, partitions: int, now_ms: int) -> Topic:
    return remapped(
        topic, partitions=partitions, decommissioned=topic.decommissioned, ordered_mappings=0, now_ms=now_ms
    )


def shapes(topics: list[Topic]) -> list[tuple[int, int, tuple[int, ...]]]:
    return [(each.mapping, each.partitions, each.decommissioned) for each in topics]


def test_every_change_is_counted_and_the_mapping_before_it_kept() -> None:
    topic = remapped(grown(TOPIC, 5, 1_000), partitions=5, decommissioned=[1], ordered_mappings=0, now_ms=2_000)
    assert (topic.mapping, topic.partitions, topic.decommissioned) == (2, 5, (1,))
    assert shapes(earlier_topics(topic, 2_000)) == [(0, 3, ()), (1, 5, ())]
    assert all(each.id == TOPIC.id and not each.earlier_mappings for each in earlier_topics(topic, 2_000))
    assert decode(Topic, encode(topic)) == topic


def test_a_topic_that_stays_as_it_is_counts_nothing() -> None:
    assert remapped(TOPIC, partitions=3, decommissioned=[], ordered_mappings=0, now_ms=5) is TOPIC
    assert earlier_topics(TOPIC, 5) == []


def test_a_mapping_is_of_interest_for_the_topics_window() -> None:
    topic = grown(grown(TOPIC, 5, 1_000), 7, 10_000)
    end_ms = WINDOW_MS + CLOCK_MARGIN_MS
    assert shapes(earlier_topics(topic, 999 + end_ms)) == [(0, 3, ()), (1, 5, ())]
    assert shapes(earlier_topics(topic, 1_000 + end_ms)) == [(1, 5, ())]
    assert shapes(earlier_topics(topic, 10_000 + end_ms)) == []


def test_what_no_window_can_know_any_more_is_dropped_at_the_next_change() -> None:
    """At any other time the window may be made longer."""
    topic = grown(grown(TOPIC, 5, 0), 7, DEDUP_WINDOW_MS_MAX + CLOCK_MARGIN_MS)
    assert [each.partitions for each in topic.earlier_mappings] == [5]
    assert topic.mapping == 2
    assert shapes(earlier_topics(topic, DEDUP_WINDOW_MS_MAX + CLOCK_MARGIN_MS)) == [(1, 5, ())]


@pytest.mark.parametrize("more", [0, 1, 5])
def test_only_so_many_are_kept_the_oldest_go(more: int) -> None:
    topic = TOPIC
    for change in range(EARLIER_MAPPINGS_MAX + more):
        topic = grown(topic, 4 + change, 1)
    kept = earlier_topics(topic, 1)
    assert [each.mapping for each in kept] == list(range(more, EARLIER_MAPPINGS_MAX + more))
    assert [each.partitions for each in kept] == [3 + number for number in range(more, EARLIER_MAPPINGS_MAX + more)]


def test_all_are_kept_while_each_has_its_starts_and_sends_are_looked_for_in_the_last_ones() -> None:
    topic = TOPIC
    for change in range(1, ORDERED_MAPPINGS_MAX + 1):
        topic = remapped(
            topic,
            partitions=3 + change,
            decommissioned=(),
            ordered_mappings=change,
            now_ms=change * DEDUP_WINDOW_MS_MAX,
        )
    before = [topic_at(topic, mapping) for mapping in range(topic.mapping + 1)]
    assert [each and each.partitions for each in before] == list(range(3, ORDERED_MAPPINGS_MAX + 4))
    assert [each.mapping for each in earlier_topics(topic, 0)] == list(
        range(ORDERED_MAPPINGS_MAX - EARLIER_MAPPINGS_MAX, ORDERED_MAPPINGS_MAX)
    )
    last = grown(topic, 99, ORDERED_MAPPINGS_MAX * DEDUP_WINDOW_MS_MAX)
    assert topic_at(last, 0) is None
    assert len(last.earlier_mappings) == 3  # those of the last hour, with a margin
    table = replace(topic, config=replace(TOPIC.config, cleanup_policy=CleanupPolicy.COMPACT))
    with pytest.raises(ServerError) as refused:
        grown(table, 99, 0)
    assert refused.value.code is ProblemCode.TOO_MANY_CHANGES
