"""The call by which a partition's oldest messages are deleted on purpose.

The decision stands in the partition's key in the coordination store, under the leader epoch of who took it: whoever
leads later was elected at a later revision of that key, so it knows. From then on readers and groups begin behind it.
The files go as with retention: whole, once the window of idempotency keys has passed what has one (rule R28), and the
followers' with them.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import decode, encode_instead
from cluster.model.partition_change import with_deletion
from cluster.model.values import Deletion, PartitionState
from cluster.ports.coordination import CoordinationError, CoordinationStore, Put, unchanged
from storage.node.log_calls import check_range, offset_at_time
from storage.node.partition.partition_host import PartitionHost
from storage.node.replicas.led_partition import Partition
from storage.replication.leadership import UNAVAILABLE_RETRY_MS, confirm
from storage.rpc.deletion_messages import DeleteRequest, DeleteResponse, UndoneByGroup

logger = structlog.get_logger(__name__)

CONFLICTS_MAX = 5
"""Others change the key, too: who is in sync, where replicas are moved."""


@dataclass(slots=True)
class DeletionFigures:
    """Since the start: how often a partition's oldest messages were deleted, and by how many offsets it became
    shorter for its readers."""

    deletions: int = 0
    messages: int = 0


class DeletionCalls:
    """Of one node. `free` removes the files that are not needed any more."""

    def __init__(self, store: CoordinationStore, free: Callable[[Partition], Awaitable[None]]) -> None:
        self.figures = DeletionFigures()
        self._store = store
        self._free = free

    async def delete(self, partition: Partition, request: DeleteRequest) -> DeleteResponse:
        """Durable on return, and may be made again. Raises ServerError UNAVAILABLE (it may have been done),
        OFFSET_OUT_OF_RANGE, INVALID_FIELD, RECORDS_CORRUPT; STORAGE_* where groups have not jumped yet."""
        await confirm(partition.leadership)
        host = partition.host
        previous = host.readable_start
        target = max(await _target(host, request), previous)
        undone = partition.groups.undone_below(target)
        answer = DeleteResponse(target, previous, [UndoneByGroup(*each) for each in sorted(undone.items())])
        if request.dry_run:
            return answer
        if target > host.readable_start:
            await self._decide(partition, target)
            self.figures.deletions += 1
            self.figures.messages += target - previous
            logger.warning(
                "messages_deleted", topic=host.topic.name, partition=host.partition, previous=previous, before=target
            )
        await partition.groups.advance_log_start()  # also where an earlier try got no further
        try:
            await self._free(partition)
        except (
            ServerError,
            CoordinationError,
        ) as error:  # nobody sees them any more, and the next retention tries again
            logger.warning("files_not_freed", topic=host.topic.name, partition=host.partition, reason=str(error))
        return answer

    async def _decide(self, partition: Partition, before: int) -> None:
        host = partition.host
        deletion = Deletion(before, host.leader_epoch)
        key = keys.partition(partition.topic_id, partition.number)
        try:
            for _ in range(CONFLICTS_MAX):
                item = await self._store.get(key)
                state = None if item is None else decode(PartitionState, item.value)
                if item is None or state is None or state.leader_epoch != host.leader_epoch:
                    raise _unavailable("Another leads the partition by now.")
                changed = encode_instead(with_deletion(state, deletion), item.value)
                if (await self._store.transact([unchanged(item)], [Put(key, changed)])).succeeded:
                    partition.leadership.deletions.heard(deletion)
                    return
        except CoordinationError as error:
            raise _unavailable(f"The coordination store does not take the deletion now: {error}") from error
        raise _unavailable("Others change the partition at the same time.")


async def _target(host: PartitionHost, request: DeleteRequest) -> int:
    """Raises ServerError OFFSET_OUT_OF_RANGE, INVALID_FIELD, RECORDS_CORRUPT."""
    if request.to == "end":
        return host.readable_end
    if request.to == "time":
        return await offset_at_time(host, request.value)
    if request.to != "offset":
        raise ServerError(ProblemCode.INVALID_FIELD, "to must be end, offset or time.", field="to")
    if request.value > host.readable_start:
        check_range(host, request.value, field="offset")
    return request.value


def _unavailable(detail: str) -> ServerError:
    return ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
