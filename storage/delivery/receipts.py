"""Whether a receipt may still settle its message.

A receipt is valid until a newer lease of that message exists (rule R22): after its deadline and after a failover, too.
Deliveries of one message are ordered by (leader epoch, attempt) within a generation. An attempt that ended uncounted
differs from the next by what receipts add to it (`PartitionGroupState.attempt_base`). A lease that was released because
its answer could not be written is the exception: the next one may have the same receipt, which nobody has seen.
"""

from typing import Protocol

from acklog.wire.problems import ProblemCode
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.leases import counted_attempt
from storage.delivery.message_view import message_state
from storage.delivery.states import SETTLED_STATES, MessageEvent, accepts

BY_MESSAGE_ID = 0
"""In place of an attempt: the message itself is meant."""


class ReceiptClaim(Protocol):
    """A delivery as its receipt names it; `attempt` may be BY_MESSAGE_ID, then only `offset` counts."""

    @property
    def offset(self) -> int: ...
    @property
    def generation(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def attempt(self) -> int: ...


def judge(
    item: ReceiptClaim, event: MessageEvent, state: PartitionGroupState, *, leader_epoch: int, readable_end: int
) -> ProblemCode | None:
    """None if the item may do this to its message; an ack of a message that is done is a success.

    Returns RECEIPT_STALE, INVALID_RECEIPT; for a message id also NOT_DELIVERED, MESSAGE_NOT_FOUND.
    """
    offset, generation = item.offset, state.progress.generation
    if item.attempt == BY_MESSAGE_ID:
        return _judge_message_id(offset, event, state, readable_end)
    if offset >= readable_end or item.generation > generation or item.leader_epoch > leader_epoch:
        return ProblemCode.INVALID_RECEIPT
    its_state = message_state(state, offset)
    if not accepts(its_state, event):
        return ProblemCode.RECEIPT_STALE
    if its_state in SETTLED_STATES:
        return None
    if item.generation < generation:
        return ProblemCode.RECEIPT_STALE
    given, newest = (item.leader_epoch, item.attempt), _newest_delivery(state, offset)
    if newest is None and (retry := state.progress.retries.get(offset)) is not None:
        newest = (retry.leader_epoch, retry.receipt_attempt or retry.attempts)
        if not retry.receipt_attempt:  # given back under an earlier leader: only what counts is known
            given = (item.leader_epoch, counted_attempt(item.attempt))
    if given == newest:
        return None
    if newest is not None and given < newest:
        return ProblemCode.RECEIPT_STALE
    # Newer than all that is known: a lease of an earlier leader, forgotten in the failover, or an invention.
    return ProblemCode.INVALID_RECEIPT if item.leader_epoch == leader_epoch else None


def may_be_anothers(item: ReceiptClaim, state: PartitionGroupState, *, leader_epoch: int) -> bool:
    """An attempt that ended under an earlier leader: whether it has leased the message again is not known here, so
    nobody gets another lease by such a receipt. An ack by it is taken: that the work was done is as true."""
    retry = state.progress.retries.get(item.offset)
    if retry is None or item.leader_epoch == leader_epoch or item.offset in state.leases.by_offset:
        return False
    return retry.attempts >= counted_attempt(item.attempt)


def _judge_message_id(
    offset: int, event: MessageEvent, state: PartitionGroupState, readable_end: int
) -> ProblemCode | None:
    if event is not MessageEvent.ACK:
        return ProblemCode.INVALID_RECEIPT
    if offset >= readable_end:
        return ProblemCode.MESSAGE_NOT_FOUND
    return None if _was_delivered(state, offset) else ProblemCode.NOT_DELIVERED


def _was_delivered(state: PartitionGroupState, offset: int) -> bool:
    """As far as it is remembered; a message that is done counts."""
    if state.is_tracked(offset) or state.progress.is_done(offset) or offset < state.progress.delivered_below:
        return True
    return offset < state.cursor and offset in state.pending


def _newest_delivery(state: PartitionGroupState, offset: int) -> tuple[int, int] | None:
    """The newest delivery of a message that has not been given back, as (leader epoch, attempt)."""
    delivery = state.leases.by_offset.get(offset) or state.released.get(offset) or state.interrupted.get(offset)
    return None if delivery is None else (delivery.leader_epoch, delivery.attempt)
