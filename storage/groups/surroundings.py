"""What a coordinator knows of the world: the topics, and what groups are set to. Values, made by its host."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from acklog.wire.name_patterns import is_pattern_for
from acklog.wire.names import NO_NAMESPACE, namespace_of
from cluster.model.internal_topics import is_internal
from cluster.model.values import Assignor
from storage.groups.assignors.task import Place


class TopicShape(NamedTuple):
    """`partitions` are those that there is something to read in, now or later."""

    topic_id: str
    name: str
    partitions: tuple[int, ...]


class TopicTable:
    """All topics at one moment, by name."""

    def __init__(self, topics: Iterable[TopicShape]) -> None:
        self._by_id = {topic.topic_id: topic for topic in sorted(topics, key=lambda topic: topic.name)}
        self._matching: dict[tuple[str, str], tuple[str, ...]] = {}

    def has(self, topic_id: str) -> bool:
        return topic_id in self._by_id

    def partitions_of(self, topic_ids: Collection[str]) -> dict[str, tuple[int, ...]]:
        """Of those that exist, in the order of their names."""
        known = sorted((self._by_id[each].name, each) for each in topic_ids if each in self._by_id)
        return {topic_id: self._by_id[topic_id].partitions for _, topic_id in known}

    def name_of(self, topic_id: str) -> str:
        topic = self._by_id.get(topic_id)
        return "" if topic is None else topic.name

    def matching(self, pattern: str, namespace: str) -> tuple[str, ...]:
        """The topics of the namespace whose names the shell pattern is for. Acklog's own are no pattern's."""
        found = self._matching.get((pattern, namespace))
        if found is None:
            found = self._matching[pattern, namespace] = tuple(
                topic.topic_id
                for topic in self._by_id.values()
                if not is_internal(topic.name) and is_subscribed(topic.name, pattern, namespace)
            )
        return found

    def changed_since(self, before: "TopicTable") -> dict[str, str]:
        """The names, by id, of topics that came, went or have other partitions."""
        known = {**before._by_id, **self._by_id}
        return {
            topic_id: topic.name
            for topic_id, topic in known.items()
            if self._by_id.get(topic_id) != before._by_id.get(topic_id)
        }


def is_subscribed(topic_name: str, pattern: str, namespace: str) -> bool:
    """Whether a member of a group of the namespace that subscribes by the pattern reads the topic."""
    return namespace_of(topic_name) == namespace and is_pattern_for(pattern, topic_name)


class ExclusiveTerms(NamedTuple):
    """What an exclusive group is set to. `dead_letter_topics` are shell patterns: where its own letters go is no
    pattern's to read, or each would come back to it. `namespace` is the group's, and that of all that it reads."""

    assignor: Assignor
    session_timeout_ms: int
    dead_letter_topics: tuple[str, ...]
    namespace: str = NO_NAMESPACE


class GroupSurroundings(Protocol):
    """Asked while the coordinator decides; the answers do not change meanwhile."""

    @property
    def topics(self) -> TopicTable: ...

    def terms(self, group_id: str) -> ExclusiveTerms | None:
        """None: there is no such group, as far as is known here."""
        ...

    def racks_of(self, place: Place) -> Collection[str]:
        """Where the partition's replicas are, its leader's first."""
        ...

    def lags(self, group_id: str, places: Collection[Place]) -> Mapping[Place, int]:
        """How much the group has left to read, where that is known."""
        ...
