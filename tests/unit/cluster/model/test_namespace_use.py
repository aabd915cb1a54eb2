"""What there is in a namespace: counted without a look at all others."""

from collections.abc import Sequence
from typing import overload

from hypothesis import given
from hypothesis import strategies as st

from acklog.wire.names import namespace_of
from cluster.model.namespace import NamespaceUse, use_of
from cluster.model.values import Group, GroupMode, GroupSettings, Topic

NAMES = st.from_regex(r"([a-c.0-]{1,2}/)?[a-c.0-]{1,2}", fullmatch=True)


class CountedTopics(Sequence[Topic]):
    """Counts which are looked at."""

    def __init__(self, topics: list[Topic]) -> None:
        self._topics = topics
        self.looked_at = 0

    @overload
    def __getitem__(self, at: int) -> Topic: ...
    @overload
    def __getitem__(self, at: slice) -> list[Topic]: ...
    def __getitem__(self, at: int | slice) -> Topic | list[Topic]:
        found = self._topics[at]
        self.looked_at += len(found) if isinstance(found, list) else 1
        return found

    def __len__(self) -> int:
        return len(self._topics)


def topic(name: str, partitions: int = 1) -> Topic:
    """Its id is its name."""
    return Topic(name, name, partitions, 1, 0)


def group(name: str) -> Group:
    return Group("g" * 13, name, 0, GroupMode.SHARED, GroupSettings())


@given(st.sets(NAMES), st.sets(NAMES), NAMES.map(namespace_of).filter(bool))
def test_it_is_what_one_counts(topics: set[str], groups: set[str], namespace: str) -> None:
    there = [name for name in topics if namespace_of(name) == namespace]
    expected = NamespaceUse(
        len(there),
        sum(1 + len(name) for name in there),
        sum(namespace_of(name) == namespace for name in groups),
        schedules=sum(map(len, there)),
        producers=2 * len(there),
    )
    found = use_of(
        namespace,
        [topic(name, 1 + len(name)) for name in sorted(topics)],
        [*map(group, sorted(groups))],
        schedules_of=len,
        producers_of=lambda _topic_id: 2,
    )
    assert found == expected


def test_others_are_not_looked_at() -> None:
    names = sorted(f"n{tenant:03}/{number}" for tenant in range(200) for number in range(5))
    topics = CountedTopics([topic(name, 2) for name in names])
    counted: list[str] = []

    def count(topic_id: str) -> int:
        counted.append(topic_id)
        return 1

    found = use_of("n100", topics, [], schedules_of=count, producers_of=count)
    assert found == NamespaceUse(5, 10, 0, 5, 5)
    assert len(counted) == 10
    assert topics.looked_at < 30
