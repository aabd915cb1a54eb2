"""What readers may have of a partition's leader."""

from cluster.model.restored_topic import check_whole
from storage.log.partition_log import PartitionLog
from storage.node.replicas.led_partition import Partition
from storage.replication.leadership import check_sure, confirm


class LeaderReads:
    """Of one call. What is committed here stays true whoever leads; that there is no more of it does not (rule R35)."""

    def __init__(self, partition: Partition) -> None:
        """Raises ServerError TOPIC_RESTORING."""
        check_whole(partition.host.topic)
        self._host = partition.host
        self._leadership = partition.leadership

    @property
    def log(self) -> PartitionLog:
        return self._host.log

    @property
    def high_watermark(self) -> int:
        return self._host.high_watermark

    @property
    def readable_start(self) -> int:
        return self._host.readable_start

    @property
    def readable_end(self) -> int:
        return self._host.readable_end

    @property
    def leader_epoch(self) -> int:
        return self._host.leader_epoch

    async def wait_for_records(self, offset: int, timeout_ms: int) -> bool:
        return await self._host.wait_for_records(offset, timeout_ms)

    def check_sure(self) -> None:
        """Raises ServerError UNAVAILABLE where somebody else may lead by now."""
        check_sure(self._leadership)

    async def confirm(self) -> None:
        """Raises ServerError UNAVAILABLE unless this is who leads."""
        await confirm(self._leadership)
