"""Topics, partitions, groups and nodes as of one revision: the pure part of the metadata view."""

from collections.abc import Iterable

import msgspec

from cluster.metadata.changed_topics import ChangedTopics
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import Group, NodeRegistration, PartitionState, Topic
from cluster.ports.coordination import Changed, Event, KeyValue, Removed, key_of


class MetadataState:
    """Fed by events. Lookups take constant time; lists are sorted once per change.

    A partition shows only while its topic does: a topic that is gone takes its partitions along, whenever their keys
    are deleted. `topic_changes` is told of each topic. `undecodable` has the keys whose values are not understood (a
    newer version's): they do not show.
    """

    def __init__(self, topic_changes: ChangedTopics, items: Iterable[KeyValue] = ()) -> None:
        self._topic_changes = topic_changes
        self.undecodable: dict[str, str] = {}
        self._topics: dict[str, Topic] = {}
        self._topics_by_id: dict[str, Topic] = {}
        self._partitions: dict[str, dict[int, PartitionState]] = {}
        self._groups: dict[str, Group] = {}
        self._groups_by_id: dict[str, Group] = {}
        self._nodes: dict[int, NodeRegistration] = {}
        self._revisions: dict[str, int] = {}
        self._sorted_topics: list[Topic] | None = None
        self._sorted_groups: list[Group] | None = None
        self._sorted_partitions: dict[str, list[PartitionState]] = {}
        for item in items:
            self.apply(Changed(item))

    # --- feeding ---

    def apply(self, event: Event) -> bool:
        """Whether the event concerned metadata."""
        key = key_of(event)
        if not key.startswith((keys.TOPICS, keys.PARTITIONS, keys.GROUPS, keys.NODES)):
            return False
        value = event.item.value if isinstance(event, Changed) else None
        if isinstance(event, Removed):
            self._revisions.pop(key, None)
        else:
            self._revisions[key] = event.item.mod_revision
        self.undecodable.pop(key, None)
        try:
            self._set(key, value)
        except (msgspec.DecodeError, ValueError) as error:
            self.undecodable[key] = str(error)
            self._set(key, None)
        return True

    def _set(self, key: str, value: bytes | None) -> None:
        if key.startswith(keys.TOPICS):
            self._set_topic(key.removeprefix(keys.TOPICS), decode(Topic, value) if value is not None else None)
        elif key.startswith(keys.PARTITIONS):
            topic_id, _, number = key.removeprefix(keys.PARTITIONS).partition("/")
            self._set_partition(topic_id, number, decode(PartitionState, value) if value is not None else None)
        elif key.startswith(keys.GROUPS):
            self._set_group(key.removeprefix(keys.GROUPS), decode(Group, value) if value is not None else None)
        else:
            self._set_node(key.removeprefix(keys.NODES), decode(NodeRegistration, value) if value is not None else None)

    def _set_topic(self, name: str, topic: Topic | None) -> None:
        before = self._topics.pop(name, None)
        if before is not None:
            del self._topics_by_id[before.id]
            self._topic_changes.note(before.id)
        if topic is not None:
            self._topic_changes.note(topic.id)
            self._topics[name] = topic
            self._topics_by_id[topic.id] = topic
        self._sorted_topics = None

    def _set_partition(self, topic_id: str, number: str, state: PartitionState | None) -> None:
        self._sorted_partitions.pop(topic_id, None)
        if not number.isdecimal():
            if state is not None:
                raise ValueError(f"{number!r} is not a partition number")
            return
        partitions = self._partitions.setdefault(topic_id, {})
        if state is None:
            partitions.pop(int(number), None)
        else:
            partitions[int(number)] = state
        if not partitions:
            del self._partitions[topic_id]

    def _set_group(self, name: str, group: Group | None) -> None:
        before = self._groups.pop(name, None)
        if before is not None:
            del self._groups_by_id[before.id]
        if group is not None:
            self._groups[name] = group
            self._groups_by_id[group.id] = group
        self._sorted_groups = None

    def _set_node(self, number: str, node: NodeRegistration | None) -> None:
        if not number.isdecimal():
            if node is not None:
                raise ValueError(f"{number!r} is not a node id")
            return
        self._nodes.pop(int(number), None)
        if node is not None:
            self._nodes[int(number)] = node

    # --- looking up ---

    def topic(self, name: str) -> Topic | None:
        return self._topics.get(name)

    def topic_by_id(self, topic_id: str) -> Topic | None:
        return self._topics_by_id.get(topic_id)

    def topics(self) -> list[Topic]:
        if self._sorted_topics is None:
            self._sorted_topics = sorted(self._topics.values(), key=lambda topic: topic.name)
        return list(self._sorted_topics)

    def partition(self, topic_id: str, partition: int) -> PartitionState | None:
        if topic_id not in self._topics_by_id:
            return None
        partitions = self._partitions.get(topic_id)
        return None if partitions is None else partitions.get(partition)

    def partitions(self, topic_id: str) -> list[PartitionState]:
        if topic_id not in self._topics_by_id:
            return []
        found = self._sorted_partitions.get(topic_id)
        if found is None:
            known = self._partitions.get(topic_id, {})
            found = self._sorted_partitions[topic_id] = [known[number] for number in sorted(known)]
        return list(found)

    def revision_of(self, key: str) -> int:
        """At which revision the key was last written; 0 where there is none, or it is none of metadata."""
        return self._revisions.get(key, 0)

    def group(self, name: str) -> Group | None:
        return self._groups.get(name)

    def group_by_id(self, group_id: str) -> Group | None:
        return self._groups_by_id.get(group_id)

    def groups(self) -> list[Group]:
        if self._sorted_groups is None:
            self._sorted_groups = sorted(self._groups.values(), key=lambda group: group.name)
        return list(self._sorted_groups)

    def node(self, node_id: int) -> NodeRegistration | None:
        return self._nodes.get(node_id)

    def nodes(self) -> list[NodeRegistration]:
        return [self._nodes[number] for number in sorted(self._nodes)]
