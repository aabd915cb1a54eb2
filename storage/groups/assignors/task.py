"""What an assignor is given, and gives back. Pure: the same task always has the same answer."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple


class Place(NamedTuple):
    topic_id: str
    partition: int


Assignment = dict[Place, str]
"""Who is to own each partition, by the members' names. Partitions that nobody subscribes to are not in it."""


def _no_racks(_place: Place) -> Collection[str]:
    return ()


@dataclass(frozen=True)
class AssignmentTask:
    """`subscriptions`: the topics' ids of each member, by name; `partitions`: of each topic that somebody may want, in
    the order of the topics' names; `owners`: who has what now, members alone. `racks` are the members', "" where one
    has none, `racks_of` those of a partition's replicas; `lags` says how much is left to read, where that is known."""

    subscriptions: Mapping[str, frozenset[str]]
    partitions: Mapping[str, tuple[int, ...]]
    owners: Mapping[Place, str]
    racks: Mapping[str, str] = field(default_factory=dict)
    racks_of: Callable[[Place], Collection[str]] = _no_racks
    lags: Mapping[Place, int] = field(default_factory=dict)

    @cached_property
    def names(self) -> list[str]:
        return sorted(self.subscriptions)

    @cached_property
    def subscribers(self) -> dict[str, tuple[str, ...]]:
        """Of each topic that has some, by name. Topics with the same ones share one tuple."""
        by_topic: dict[str, list[str]] = {}
        for name in self.names:
            for topic_id in self.subscriptions[name]:
                by_topic.setdefault(topic_id, []).append(name)
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        found: dict[str, tuple[str, ...]] = {}
        for topic_id in self.partitions:
            names = tuple(by_topic.get(topic_id, ()))
            if names:
                found[topic_id] = shared.setdefault(names, names)
        return found

    @cached_property
    def places(self) -> list[Place]:
        """All that is to be assigned, in the order of the topics' names."""
        return [Place(topic_id, partition) for topic_id in self.subscribers for partition in self.partitions[topic_id]]

    @cached_property
    def is_alike(self) -> bool:
        """Whether everybody who can get anything can get everything."""
        return len(set(self.subscribers.values())) <= 1
