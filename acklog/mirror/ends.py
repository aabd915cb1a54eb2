"""What a mirror asks of the clusters at its two ends. Every method raises AcklogError."""

from collections.abc import Sequence
from typing import Protocol

from acklog.catalog import Group, GroupChanges, GroupOffsets, PartitionState, Topic, TopicChanges, TopicDescription
from acklog.client.producer_calls import OpenedProducer
from acklog.errors import AcklogError
from acklog.messages import OutgoingMessage, RecordsPage, Sent
from acklog.positions import CommitResult, Position


class MirrorSource(Protocol):
    """Whence messages are copied: nothing is changed there."""

    async def topics(self) -> Sequence[Topic]: ...

    async def describe(self, topic: str) -> TopicDescription: ...

    async def partition(self, topic: str, partition: int) -> PartitionState: ...

    async def read(
        self, topic: str, partition: int, *, offset: int | str, epoch: int | None, max_bytes: int
    ) -> RecordsPage:
        """Does not wait for messages that are not there yet."""
        ...

    async def groups(self) -> Sequence[Group]: ...

    async def group_offsets(self, group: str) -> GroupOffsets: ...


class MirrorTarget(MirrorSource, Protocol):
    """Where they are copied to."""

    async def create_topic(self, topic: str, partitions: int | None, config: TopicChanges) -> None:
        """Whatever is there by that name is fine."""
        ...

    async def grow_topic(self, topic: str, partitions: int) -> None: ...

    async def open_producer(self, topic: str, name: str, instance: str) -> OpenedProducer: ...

    async def send(
        self, topic: str, messages: Sequence[OutgoingMessage], opened: OpenedProducer, sequence: int
    ) -> list[Sent | AcklogError]: ...

    async def create_group(self, group: str, mode: str, settings: GroupChanges) -> None:
        """Whatever is there by that name is fine."""
        ...

    async def commit(self, group: str, positions: Sequence[Position]) -> CommitResult: ...
