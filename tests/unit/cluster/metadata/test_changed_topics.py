"""Who keeps something about each topic hears which ones have changed, or that all may have."""

from cluster.metadata.changed_topics import KEPT_MAX, ChangedTopics
from cluster.model.values import TopicConfig
from tests.unit.cluster.conftest import Catalogue


def test_each_topic_once_the_latest_first() -> None:
    changes = ChangedTopics()
    for topic_id in "abcab":
        changes.note(topic_id)
    assert changes.since(0) == ["b", "a", "c"]
    assert changes.since(3) == ["b", "a"]
    assert changes.since(changes.number) == []


def test_who_has_missed_too_many_looks_at_all() -> None:
    changes = ChangedTopics()
    for number in range(KEPT_MAX):
        changes.note(str(number))
    assert len(changes.since(0) or []) == KEPT_MAX
    changes.note("another")
    assert changes.since(0) is None
    assert len(changes.since(1) or []) == KEPT_MAX


def test_all_may_have_changed_once_track_was_lost() -> None:
    changes = ChangedTopics()
    changes.note("a")
    before = changes.number
    changes.lose_track()
    assert changes.since(before) is None
    assert changes.since(changes.number) == []


async def test_what_comes_changes_and_goes_is_noted(catalogue: Catalogue) -> None:
    changes = catalogue.metadata.topic_changes
    seen = changes.number
    topic = await catalogue.topics().create("orders", partitions=1, config=TopicConfig(), replication_factor=1)
    assert changes.since(seen) == [topic.id]
    seen = changes.number
    await catalogue.topics().update("orders", config=TopicConfig(retention_ms=5_000_000))
    assert changes.since(seen) == [topic.id]
    seen = changes.number
    await catalogue.topics().delete("orders")
    assert changes.since(seen) == [topic.id]
