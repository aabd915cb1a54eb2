"""A cluster at an end of a mirror, by its HTTP API."""

from collections.abc import Sequence

from acklog.catalog import Group, GroupChanges, GroupOffsets, PartitionState, Topic, TopicChanges, TopicDescription
from acklog.client.async_client import AsyncClient
from acklog.client.producer_calls import OpenedProducer, open_producer, send_as
from acklog.errors import AcklogError
from acklog.messages import OutgoingMessage, RecordsPage, Sent
from acklog.positions import CommitResult, Position


class ClientEnd:
    """Either end. The client has no keys for bodies: what clients have encrypted is copied as it is."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def topics(self) -> Sequence[Topic]:
        return await self._client.topics.list()

    async def describe(self, topic: str) -> TopicDescription:
        return await self._client.topics.get(topic)

    async def partition(self, topic: str, partition: int) -> PartitionState:
        return await self._client.topics.partition(topic, partition)

    async def read(
        self, topic: str, partition: int, *, offset: int | str, epoch: int | None, max_bytes: int
    ) -> RecordsPage:
        return await self._client.records(topic, partition, offset=offset, epoch=epoch, max_bytes=max_bytes)

    async def groups(self) -> Sequence[Group]:
        return await self._client.groups.list()

    async def group_offsets(self, group: str) -> GroupOffsets:
        return await self._client.groups.offsets(group)

    async def create_topic(self, topic: str, partitions: int | None, config: TopicChanges) -> None:
        await self._client.topics.ensure(topic, partitions, **config)

    async def grow_topic(self, topic: str, partitions: int) -> None:
        await self._client.topics.update(topic, partitions=partitions)

    async def open_producer(self, topic: str, name: str, instance: str) -> OpenedProducer:
        return await self._client.caller.perform(open_producer(topic, name, instance=instance))

    async def send(
        self, topic: str, messages: Sequence[OutgoingMessage], opened: OpenedProducer, sequence: int
    ) -> list[Sent | AcklogError]:
        return await self._client.caller.perform(send_as(topic, messages, opened, sequence))

    async def create_group(self, group: str, mode: str, settings: GroupChanges) -> None:
        await self._client.groups.ensure(group, mode=mode, **settings)

    async def commit(self, group: str, positions: Sequence[Position]) -> CommitResult:
        return await self._client.groups.commit(group, positions)
