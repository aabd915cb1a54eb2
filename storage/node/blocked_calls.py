"""The call by which a person decides about messages whose attempts are used up, in groups that block."""

from collections.abc import AsyncIterator, Iterator

import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import Group
from cluster.ports.clock import Clock
from storage.delivery.blocked_offsets import BlockedOffset, BlockedVerdict
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.records import Returned, Skipped
from storage.node.known_groups import KnownGroups
from storage.node.replicas.led_partition import Partition
from storage.rpc.messages import BlockedItem, BlockedRequest, BlockedResponse

logger = structlog.get_logger(__name__)

CONFLICT_RETRY_MS = 50
SEARCHED_AT_ONCE = 1_000


class BlockedCalls:
    """Of one node."""

    def __init__(self, groups: KnownGroups, clock: Clock) -> None:
        self._groups = groups
        self._clock = clock

    async def answer(self, partition: Partition, request: BlockedRequest) -> BlockedResponse:
        """A decision is durable on return. Raises ServerError as the request says, INVALID_FIELD, and UNAVAILABLE."""
        group = await self._groups.served(request.group_id)
        state = partition.delivery.state.as_it_is_set(group)
        partition.delivery.check_sure()
        if request.action == "list":
            found = [] if state is None else state.blocked(at_or_above=max(request.offset, 0), limit=request.limit)
            listed = [await _item(partition, message) for message in found]
            return BlockedResponse(listed, 0 if state is None else state.blocked_count)
        if request.action not in {"release", "skip"}:
            raise ServerError(ProblemCode.INVALID_FIELD, f"{request.action!r} is no action.", field="action")
        if state is None:
            raise _refusal(ProblemCode.NOT_BLOCKED)
        items = [item async for item in _named(partition, state, request)]
        if not items:
            raise _refusal(ProblemCode.NOT_BLOCKED)
        for item in items:
            await self._decide(partition, group, state, request.action, item)
        return BlockedResponse(items, state.blocked_count)

    async def _decide(
        self, partition: Partition, group: Group, state: GroupInPartition, action: str, item: BlockedItem
    ) -> None:
        decision: BlockedVerdict[Returned] | BlockedVerdict[Skipped]
        if action == "release":
            decision = state.release_blocked(item.offset, wall_now_ms=self._clock.now_ms())
        else:
            decision = state.skip_blocked(item.offset)
        if decision.record is None:
            raise _refusal(decision.problem or ProblemCode.NOT_BLOCKED)
        await partition.delivery.commit(decision.record)
        partition.groups.something_returned(group.id)
        logger.info(
            "blocked_message_decided",
            group=group.name,
            topic=partition.host.topic.name,
            partition=partition.number,
            offset=item.offset,
            action=action,
        )


async def _named(partition: Partition, state: GroupInPartition, request: BlockedRequest) -> AsyncIterator[BlockedItem]:
    """The blocked messages that a decision is about."""
    if request.offset >= 0:
        for message in state.blocked(at_or_above=request.offset, limit=1):
            if message.offset == request.offset:
                item = await _item(partition, message)
                if request.leader_epoch >= 0 and item.leader_epoch not in {request.leader_epoch, -1}:
                    raise ServerError(ProblemCode.MESSAGE_NOT_FOUND, "Another message is there by now.")
                yield item
        return
    for message in _all(state):
        item = await _item(partition, message)
        if item.leader_epoch >= 0 and item.key == request.key:
            yield item


def _all(state: GroupInPartition) -> Iterator[BlockedOffset]:
    start = 0
    while found := state.blocked(at_or_above=start, limit=SEARCHED_AT_ONCE):
        yield from found
        start = found[-1].offset + 1


async def _item(partition: Partition, message: BlockedOffset) -> BlockedItem:
    """With its key, where it can be read."""
    item = BlockedItem(*message)
    try:
        batch, record = await partition.reader.record_at(message.offset, readable_end=partition.host.readable_end)
    except ServerError:
        return item  # who decides about it need not read it
    if record is not None:
        item.leader_epoch, item.key = batch.header.leader_epoch, record.key
    return item


def _refusal(problem: ProblemCode) -> ServerError:
    if problem is ProblemCode.CONFLICT:
        detail = "Another decision about the message is being written, or the partition changes hands."
        return ServerError(problem, detail, retry_after_ms=CONFLICT_RETRY_MS)
    return ServerError(problem, "The message does not wait for a decision.")
