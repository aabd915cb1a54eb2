"""Where dead letters go, and how many topics are made for them."""

from typing import Any, cast

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import AcklogError
from cluster.metadata_view import MetadataView
from cluster.model import Group, GroupMode, GroupSettings, Topic, TopicConfig
from cluster.topics import Topics
from storage.node.dead_letter_topics import DeadLetterTopics, dead_letter_topic_name
from tests.support.manual_clock import ManualClock


def topic(name: str) -> Topic:
    return Topic(id=name, name=name, partitions=2, replication_factor=1, created_at_ms=0, config=TopicConfig())


class Catalogue:
    """As much of the metadata view and of `Topics` as is asked."""

    def __init__(self, *names: str) -> None:
        self.by_name = {name: topic(name) for name in names}

    def topic(self, name: str) -> Topic | None:
        return self.by_name.get(name)

    def topics(self) -> list[Topic]:
        return list(self.by_name.values())

    async def get_or_create(self, name: str, **_settings: Any) -> Topic:
        return self.by_name.setdefault(name, topic(name))


async def test_beyond_the_limit_none_is_made_and_those_that_exist_are_used() -> None:
    catalogue = Catalogue("a", "b", "c")
    sink = DeadLetterTopics(
        cast(Topics, catalogue),
        cast(MetadataView, catalogue),
        lambda _node: pytest.fail("there is nothing to append"),
        clock=ManualClock(),
        topics_max=4,
    )
    group = Group("g", "g", 0, GroupMode.SHARED, GroupSettings())
    await sink.append(topic("a"), group, [])
    assert dead_letter_topic_name(topic("a"), group) in catalogue.by_name
    with pytest.raises(AcklogError, match=r"make 'b\.g\.dlq' by hand") as caught:
        await sink.append(topic("b"), group, [])
    assert caught.value.code is ProblemCode.TOO_MANY_TOPICS
    await sink.append(topic("a"), group, [])
    await catalogue.get_or_create("b.g.dlq")
    await sink.append(topic("b"), group, [])
