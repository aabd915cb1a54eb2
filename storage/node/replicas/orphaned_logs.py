"""Data of partitions that this node does not hold any more, removed on a positive word only (rule R13)."""

import msgspec
import structlog

from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import PartitionLife, PartitionState
from cluster.ports.coordination import CoordinationError, CoordinationStore
from storage.log.keys import LogKey
from storage.log.log_table import LOGS
from storage.log.store import LogStore
from storage.replication.messages import PartitionId

logger = structlog.get_logger(__name__)


class OrphanedLogs:
    """That word is a topic's tombstone, or a partition's key that names other replicas or says that the partition is
    gone. Without it, what is on the disk is kept and reported."""

    def __init__(self, logs: LogStore, store: CoordinationStore, node_id: int) -> None:
        self._logs = logs
        self._store = store
        self._node_id = node_id
        self._waiting: dict[PartitionId, None] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, partition: PartitionId) -> None:
        """It is not held here any more, as far as the metadata shows."""
        self._waiting[partition] = None

    def find(self, held: set[PartitionId]) -> None:
        """Add what is on the disk and not `held`."""
        for key in self._logs.keys():  # noqa: SIM118 - a store is no mapping
            if PartitionId(key.topic_id, key.partition) not in held:
                self.add(PartitionId(key.topic_id, key.partition))

    async def remove(self, held: set[PartitionId]) -> None:
        """Remove what may go and is not `held` again. What cannot go now (the disk is full, the store out of reach) is
        tried again with the next call."""
        for partition in list(self._waiting):
            if partition not in held:
                try:
                    await self._remove(partition)
                except (ServerError, CoordinationError) as error:
                    logger.error("partition_data_not_removed", partition=str(partition), reason=str(error))
                    if isinstance(error, CoordinationError) or error.is_retriable:
                        continue
            del self._waiting[partition]

    async def _remove(self, partition: PartitionId) -> None:
        if not await self._may_go(partition):
            logger.error("partition_data_kept", partition=str(partition), reason="nothing says it may go")
            return
        for kind in reversed(LOGS):  # that of the messages last: what is left of a removal can be told by it
            await self._logs.remove_log(LogKey(partition.topic_id, partition.partition, kind))

    async def _may_go(self, partition: PartitionId) -> bool:
        """From the store itself: a copy of it may be from before this node became a replica."""
        if await self._store.get(keys.tombstone(partition.topic_id)) is not None:
            return True
        item = await self._store.get(keys.partition(partition.topic_id, partition.partition))
        if item is None:
            return False
        try:
            state = decode(PartitionState, item.value)
        except msgspec.DecodeError:
            return False
        return state.life is PartitionLife.GONE or self._node_id not in state.replicas
