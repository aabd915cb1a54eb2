"""The partitions that a node leads, kept in line with the metadata.

A partition whose state names this node *and this incarnation* as leader is opened with the epoch found there; one that
names somebody else is closed. Data is removed only for a topic with a tombstone (rule R13).
"""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from acklog.wire.problems import ProblemCode
from cluster.coordination import CoordinationError, CoordinationStore
from cluster.errors import AcklogError
from cluster.metadata_view import MetadataView
from cluster.model import PartitionState, Topic
from storage.log.keys import LogKind
from storage.log.store import LogStore
from storage.node.batch_cache import BatchCache
from storage.node.opening import PartitionOpener, remove_partition_data
from storage.node.partition import Partition
from storage.node.settings import NodeSettings

logger = structlog.get_logger(__name__)

UNAVAILABLE_RETRY_MS = 200
PartitionKey = tuple[str, int]


class LedPartitions:
    """`on_changed` is called after partitions came or went, `on_topic_gone` with a deleted topic's id."""

    def __init__(
        self,
        logs: LogStore,
        opener: PartitionOpener,
        *,
        node_id: int,
        incarnation: int,
        store: CoordinationStore,
        metadata: MetadataView,
        cache: BatchCache,
        settings: NodeSettings,
        on_changed: Callable[[], None],
        on_topic_gone: Callable[[str], None],
    ) -> None:
        self.failures: dict[PartitionKey, AcklogError] = {}
        self._logs = logs
        self._opener = opener
        self._node_id = node_id
        self._incarnation = incarnation
        self._store = store
        self._metadata = metadata
        self._cache = cache
        self._settings = settings
        self._on_changed = on_changed
        self._on_topic_gone = on_topic_gone
        self._topics: dict[str, dict[int, Partition]] = {}
        self._opened: dict[PartitionKey, asyncio.Future[None]] = {}
        self._to_remove: dict[PartitionKey, None] = {}

    # --- finding ---------------------------------------------------------------------------------------------------

    def of_topic(self, topic_id: str) -> Mapping[int, Partition]:
        return self._topics.get(topic_id, {})

    def all(self) -> list[Partition]:
        return [partition for partitions in self._topics.values() for partition in partitions.values()]

    def numbers_to_lead(self, topic_id: str) -> list[int]:
        """The topic's partitions that this node should serve and can, open already or not."""
        return [
            state.partition
            for state in self._metadata.partitions(topic_id)
            if self._is_mine(state) and (topic_id, state.partition) not in self.failures
        ]

    async def get(self, topic_id: str, number: int) -> Partition:
        """The partition, waiting while it is being opened.

        Raises AcklogError: UNAVAILABLE for one that is led elsewhere, and why one of its own could not be opened.
        """
        partition = self._topics.get(topic_id, {}).get(number)
        if partition is None:
            await self._wait_until_open(topic_id, number)
            partition = self._topics.get(topic_id, {}).get(number)
        if partition is None:
            raise self.failures.get((topic_id, number)) or AcklogError(
                ProblemCode.UNAVAILABLE,
                f"Node {self._node_id} does not lead partition {number} of the topic {topic_id}.",
                retry_after_ms=UNAVAILABLE_RETRY_MS,
            )
        return partition

    async def _wait_until_open(self, topic_id: str, number: int) -> None:
        state = self._metadata.partition(topic_id, number)
        if state is None or not self._is_mine(state) or (topic_id, number) in self.failures:
            return
        future = self._opened.setdefault((topic_id, number), asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(self._settings.partition_open_timeout_ms / 1000):
                await asyncio.shield(future)
        except TimeoutError:
            return

    def _is_mine(self, state: PartitionState) -> bool:
        return state.leader == self._node_id and state.leader_incarnation == self._incarnation

    # --- following the metadata --------------------------------------------------------------------------------------

    async def follow(self, metadata_changed: asyncio.Event) -> None:
        """Reconcile after every change of the metadata, and again while a partition could not be opened or removed."""
        while True:
            try:
                async with asyncio.timeout(self._settings.open_retry_ms / 1000 if self._is_retry_due() else None):
                    await metadata_changed.wait()
            except TimeoutError:
                pass
            metadata_changed.clear()
            try:
                await self.reconcile()
            except (AcklogError, CoordinationError) as error:
                logger.error("partitions_not_reconciled", reason=str(error))

    def _is_retry_due(self) -> bool:
        return bool(self._to_remove) or any(error.is_retriable for error in self.failures.values())

    async def reconcile(self) -> None:
        """Open and close partitions until what runs here is what the metadata says."""
        wanted: dict[PartitionKey, tuple[Topic, PartitionState]] = {}
        for topic in self._metadata.topics():
            for state in self._metadata.partitions(topic.id):
                if self._is_mine(state):
                    wanted[topic.id, state.partition] = (topic, state)
        gone = [partition for partition in self.all() if (partition.topic_id, partition.number) not in wanted]
        for partition in gone:
            await self._close(partition)
        for key in [key for key in self.failures if key not in wanted]:
            del self.failures[key]
        permits = asyncio.Semaphore(self._settings.partitions_opened_at_once)
        missing = [key for key in wanted if key[1] not in self._topics.get(key[0], {})]
        await asyncio.gather(*(self._open(*wanted[key], permits) for key in missing))
        for topic, state in wanted.values():
            held = self._topics.get(topic.id, {}).get(state.partition)
            if held is not None:
                held.host.topic = topic
        if missing or gone:
            self._on_changed()
        await self._remove_data()

    async def _open(self, topic: Topic, state: PartitionState, permits: asyncio.Semaphore) -> None:
        key = (topic.id, state.partition)
        async with permits:
            try:
                partition = await self._opener.open(topic, state)
            except AcklogError as error:
                logger.error("partition_not_opened", topic=topic.name, partition=state.partition, reason=str(error))
                self.failures[key] = error
            else:
                self.failures.pop(key, None)
                self._topics.setdefault(topic.id, {})[state.partition] = partition
        future = self._opened.pop(key, None)
        if future is not None and not future.done():
            future.set_result(None)

    async def _close(self, partition: Partition) -> None:
        topic = partition.host.topic
        del self._topics[topic.id][partition.number]
        if not self._topics[topic.id]:
            del self._topics[topic.id]
        await partition.close()
        self._cache.drop(partition.host.log.key)
        if self._metadata.topic_by_id(topic.id) is None:
            self._on_topic_gone(topic.id)
            self._to_remove[topic.id, partition.number] = None

    async def remove_orphans(self) -> None:
        """Logs of topics that the metadata does not know: removed with a tombstone, kept and reported without one."""
        known = self._logs.keys()
        for key in known:
            if self._metadata.topic_by_id(key.topic_id) is None and key.kind is LogKind.MESSAGES:
                self._to_remove[key.topic_id, key.partition] = None
        await self._remove_data()

    async def _remove_data(self) -> None:
        """Of deleted topics. What cannot be removed now (the disk is full, the store out of reach) is tried again."""
        for topic_id, number in list(self._to_remove):
            try:
                await remove_partition_data(self._logs, self._store, topic_id, number)
            except (AcklogError, CoordinationError) as error:
                logger.error("partition_data_not_removed", topic_id=topic_id, partition=number, reason=str(error))
                if isinstance(error, CoordinationError) or error.is_retriable:
                    continue
            del self._to_remove[topic_id, number]

    async def close(self) -> None:
        """Nothing new may come; waits for what is under way."""
        await asyncio.gather(*(partition.close() for partition in self.all()), return_exceptions=True)
