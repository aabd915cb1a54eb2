"""The calls by which a partition is backed up and restored."""

from collections.abc import Awaitable, Callable, Container

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.restored_topic import check_restored_by
from storage.delivery.partition_delivery import encode_snapshot
from storage.disk.executor import IoExecutor
from storage.node.copies.restored_groups import restore_groups
from storage.node.copies.restored_log import RestoredLog
from storage.node.partition.node_settings import NodeSettings
from storage.node.replicas.led_partition import Partition
from storage.replication.leadership import UNAVAILABLE_RETRY_MS, confirm
from storage.rpc.copy_messages import BATCHES, GROUPS, MESSAGES, SCHEDULE, STATE, CopyRequest, CopyResponse


class CopyCalls:
    """Of one node. One call at a time fills a partition: another one would have to know what it is about to append."""

    def __init__(
        self,
        partition: Callable[[str, int], Awaitable[Partition]],
        io: IoExecutor,
        settings: NodeSettings,
    ) -> None:
        self._partition = partition
        self._io = io
        self._settings = settings
        self._under_way: set[tuple[str, int]] = set()

    async def copy(self, request: CopyRequest) -> CopyResponse:
        """What is restored is committed on return. Raises ServerError UNAVAILABLE, OVERLOADED, NOT_ENOUGH_REPLICAS,
        OUTCOME_UNKNOWN (it may be asked again), and as `CopyRequest` says."""
        partition = await self._partition(request.topic_id, request.partition)
        if request.action == STATE:
            await confirm(partition.leadership)
            return _state_of(partition, request.group_ids)
        check_restored_by(partition.host.topic, request.restore_id)
        place = (request.topic_id, request.partition)
        if place in self._under_way:
            detail = "Another call restores the partition."
            raise ServerError(ProblemCode.OVERLOADED, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
        self._under_way.add(place)
        try:
            await self._restore(partition, request)
        finally:
            self._under_way.discard(place)
        return _state_of(partition)

    async def _restore(self, partition: Partition, request: CopyRequest) -> None:
        if request.action == GROUPS:
            await restore_groups(partition, request, groups_max=self._settings.groups_per_partition_max)
            return
        hosts = {MESSAGES: partition.host, SCHEDULE: partition.schedule.scheduled}
        if request.action != BATCHES or request.log not in hosts:
            raise ServerError(ProblemCode.INVALID_FIELD, "must be state, batches or groups", field="action")
        await RestoredLog(hosts[request.log], partition.leadership, self._io).append(request)


def _state_of(partition: Partition, group_ids: Container[str] = ()) -> CopyResponse:
    """All of one moment: no group is done with what is not committed."""
    groups = sorted(
        (each for each in partition.groups.states() if each.group_id in group_ids), key=lambda each: each.group_id
    )
    host = partition.host
    return CopyResponse(
        encode_snapshot([each.snapshot() for each in groups]),
        host.readable_start,
        host.high_watermark,
        partition.schedule.scheduled.high_watermark,
        host.leader_epoch,
        [each.group_id for each in groups],
    )
