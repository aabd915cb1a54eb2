"""A namespace: the topics and groups of one tenant, and what they may be together."""

from bisect import bisect_left
from collections.abc import Callable, Sequence

import msgspec

from acklog.wire.names import SEPARATOR
from cluster.model.values import Group, Topic

CountOfTopic = Callable[[str], int]
"""Of a topic's id, how much there is of it."""

_BEHIND_SEPARATOR = chr(ord(SEPARATOR) + 1)


class NamespaceSettings(msgspec.Struct, frozen=True, rename="camel"):
    """Of all topics and groups of the namespace together, with their recurring schedules and named producers. What is
    None is not limited. Quotas are per second: requests
    are sends, receives and reads of records; messages and bytes those that are sent, delivered or read."""

    topics_max: int | None = None
    partitions_max: int | None = None
    groups_max: int | None = None
    schedules_max: int | None = None
    producers_max: int | None = None
    requests_per_second: int | None = None
    messages_per_second: int | None = None
    bytes_per_second: int | None = None

    @property
    def has_quotas(self) -> bool:
        return (
            self.requests_per_second is not None
            or self.messages_per_second is not None
            or self.bytes_per_second is not None
        )


class Namespace(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`id` is the identity: one that is deleted and made again has another.

    Whatever is made or removed in the namespace is so in a transaction that writes this entry, too, as it stands, and
    only if nobody has written it since it was read. So of two who take the last room one finds it taken, and nothing is
    made in a namespace that is being deleted."""

    id: str
    name: str
    created_at_ms: int
    settings: NamespaceSettings = NamespaceSettings()


class NamespaceUse(msgspec.Struct, frozen=True):
    """What there is in a namespace."""

    topics: int
    partitions: int
    groups: int
    schedules: int
    producers: int

    @property
    def is_empty(self) -> bool:
        return self.topics == self.groups == 0


def use_of(
    namespace: str,
    topics: Sequence[Topic],
    groups: Sequence[Group],
    *,
    schedules_of: CountOfTopic,
    producers_of: CountOfTopic,
) -> NamespaceUse:
    """Both are in the order of their names, of which those of other namespaces are not looked at. What is in none has
    no such use."""
    of_topics = topics[_range_of(namespace, topics)]
    of_groups = groups[_range_of(namespace, groups)]
    return NamespaceUse(
        topics=len(of_topics),
        partitions=sum(topic.partitions for topic in of_topics),
        groups=len(of_groups),
        schedules=sum(schedules_of(topic.id) for topic in of_topics),
        producers=sum(producers_of(topic.id) for topic in of_topics),
    )


def _range_of(namespace: str, named: Sequence[Topic] | Sequence[Group]) -> slice:
    begin = bisect_left(named, f"{namespace}{SEPARATOR}", key=_name_of)
    end = bisect_left(named, f"{namespace}{_BEHIND_SEPARATOR}", begin, key=_name_of)
    return slice(begin, end)


def _name_of(each: Topic | Group) -> str:
    return each.name
