"""Topics and groups in the coordination file, held against each other and against the directories on the disk."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.namespace import Namespace
from cluster.model.projected_offsets import ProjectedOffsets
from cluster.model.recurring_schedule import RecurringSchedule
from cluster.model.redrives import RedriveJob, RedrivePart
from cluster.model.sqs_queue import SqsQueue
from cluster.model.stored_token import StoredToken
from cluster.model.values import (
    Group,
    NamedProducer,
    NodeRegistration,
    PartitionLife,
    PartitionState,
    Tombstone,
    Topic,
)
from cluster.ports.coordination import KeyValue
from storage.check.figures import LogFigures
from storage.check.findings import FindingKind, Findings
from storage.log.keys import LogKey
from storage.log.log_table import LogKind

_Model = TypeVar("_Model", bound=msgspec.Struct)

_BY_THEMSELVES: dict[str, type[msgspec.Struct]] = {
    keys.NODES: NodeRegistration,
    keys.NAMESPACES: Namespace,
    keys.PRODUCERS: NamedProducer,
    keys.RECURRING: RecurringSchedule,
    keys.REDRIVES: RedriveJob,
    keys.REDRIVE_PARTS: RedrivePart,
    keys.SQS_QUEUES: SqsQueue,
    keys.STORED_TOKENS: StoredToken,
}
"""What can be read or not, and is held against nothing else."""


@dataclass(slots=True)
class CatalogContent:
    """The coordination file's entries, decoded. `offsets` goes by (group id, topic id)."""

    topics: dict[str, Topic] = field(default_factory=dict)
    partitions: dict[tuple[str, int], PartitionState] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    tombstones: dict[str, Tombstone] = field(default_factory=dict)
    offsets: dict[tuple[str, str], ProjectedOffsets] = field(default_factory=dict)


class CatalogCheck:
    """`path` is the coordination file's, for the findings."""

    def __init__(self, path: str, *, findings: Findings) -> None:
        self._path = path
        self._findings = findings
        self.content = CatalogContent()

    def read(self, items: Iterable[KeyValue]) -> None:
        """Decode every entry; each that cannot be is a finding."""
        for item in items:
            try:
                self._read(item)
            except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
                self._add(FindingKind.ENTRY_UNREADABLE, f"{item.key}: {error}")

    def _read(self, item: KeyValue) -> None:
        content, key = self.content, item.key
        if key.startswith(keys.TOPICS):
            topic = decode(Topic, item.value)
            _expect(topic.name == key.removeprefix(keys.TOPICS), f"it is the topic {topic.name!r}")
            content.topics[topic.id] = topic
        elif key.startswith(keys.PARTITIONS):
            state = decode(PartitionState, item.value)
            _expect(keys.partition(state.topic_id, state.partition) == key, "it is another partition")
            content.partitions[state.topic_id, state.partition] = state
        elif key.startswith(keys.GROUPS):
            group = decode(Group, item.value)
            _expect(group.name == key.removeprefix(keys.GROUPS), f"it is the group {group.name!r}")
            content.groups[group.id] = group
        elif key.startswith(keys.TOMBSTONES):
            content.tombstones[key.removeprefix(keys.TOMBSTONES)] = decode(Tombstone, item.value)
        elif key.startswith(keys.OFFSETS):
            group_id, _, topic_id = key.removeprefix(keys.OFFSETS).partition("/")
            content.offsets[group_id, topic_id] = decode(ProjectedOffsets, item.value)
        elif key.startswith(keys.INCARNATIONS):
            int(item.value)
        elif key.startswith(keys.REDRIVE_TOPICS):
            item.value.decode()
        else:
            kind = next((kind for prefix, kind in _BY_THEMSELVES.items() if key.startswith(prefix)), None)
            _expect(kind is not None, "nothing is known under such a key")
            assert kind is not None
            decode(kind, item.value)

    # --- against the disk --------------------------------------------------------------------------------------------

    def check_directories(self, logs: dict[str, LogFigures], directories: dict[tuple[str, int], str]) -> None:
        """Every directory belongs to a topic. A partition without one is empty: one that was not is among the logs."""
        content = self.content
        for (topic_id, number), path in directories.items():
            topic = content.topics.get(topic_id)
            if topic is not None and number < topic.partitions:
                continue
            figures = logs.get(str(LogKey(topic_id, number, LogKind.MESSAGES)))
            size = f"{0 if figures is None else figures.messages} messages"
            if topic is None and topic_id in content.tombstones:
                detail = f"{content.tombstones[topic_id].name}, {size}"
                self._findings.add(FindingKind.PARTITION_LEFT_OVER, path, detail, topic_id=topic_id)
            else:
                detail = f"no topic has the id {topic_id}" if topic is None else f"{topic.name} has fewer partitions"
                self._findings.add(FindingKind.PARTITION_ORPHANED, path, f"{detail}; {size}", topic_id=topic_id)

    def check_offsets(self, logs: dict[str, LogFigures]) -> None:
        """The projected progress of each group lies within the logs. That in a freed partition stays as it was, while
        its log is removed on purpose."""
        for (group_id, topic_id), offsets in self.content.offsets.items():
            if topic_id not in self.content.topics:
                continue
            for number, projected in offsets.partitions.items():
                state = self.content.partitions.get((topic_id, int(number)))
                if state is not None and state.life is PartitionLife.GONE:
                    continue
                log = logs.get(str(LogKey(topic_id, int(number), LogKind.MESSAGES)))
                end = 0 if log is None else log.end_offset
                if projected.offset > end:
                    name = self.group_name(group_id)
                    detail = f"group {name} has done all below {projected.offset}, the log ends at {end}"
                    where = LogKey(topic_id, int(number), LogKind.MESSAGES).directory
                    self._findings.add(FindingKind.PROGRESS_BEYOND_LOG, where, detail, topic_id=topic_id)

    def check_group_ids(self, group_ids: Iterable[str], path: str, topic_id: str) -> None:
        """The groups that a partition knows exist, or were deleted on purpose."""
        for group_id in group_ids:
            if group_id not in self.content.groups and group_id not in self.content.tombstones:
                self._findings.add(FindingKind.GROUP_UNKNOWN, path, f"group {group_id}", topic_id=topic_id)

    def group_name(self, group_id: str) -> str:
        group = self.content.groups.get(group_id)
        return group_id if group is None else group.name

    def _add(self, kind: FindingKind, detail: str) -> None:
        self._findings.add(kind, self._path, detail)


def _expect(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise ValueError(otherwise)
