"""One message as a group sees it, for `GET /messages/{id}`."""

from typing import NamedTuple

from storage.delivery.failures import FailureHistory
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.leases import counted_attempt
from storage.delivery.states import MessageState

_NO_HISTORY = FailureHistory()


class MessageStatus(NamedTuple):
    """A message as the group sees it; `state` as in `MessageState`. `until_ms` is a duration from now, -1 for none.
    `consumer` has it; `history` says how it failed before."""

    state: str
    attempts: int
    until_ms: int = -1
    consumer: str = ""
    history: FailureHistory = _NO_HISTORY


def message_state(state: PartitionGroupState, offset: int) -> MessageState:
    """As of the last call that knew the time."""
    if offset in state.leases.by_offset:
        return MessageState.LEASED
    if state.progress.is_done(offset):
        if state.progress.is_dead_lettered(offset):
            return MessageState.DEAD_LETTERED
        if state.progress.is_expired(offset):
            return MessageState.EXPIRED
        return MessageState.PASSED_OVER if state.progress.is_filtered_out(offset) else MessageState.DONE
    retry = state.progress.retries.get(offset)
    if retry is not None and retry.is_dead_lettering:
        return MessageState.DEAD_LETTERING
    if offset in state.blocked:
        return MessageState.BLOCKED
    return MessageState.WAITING if state.returns.delayed_until(offset) is None else MessageState.DELAYED


def view_message(state: PartitionGroupState, offset: int, *, now_ms: int) -> MessageStatus:
    """What became of a message so far."""
    its_state = message_state(state, offset)
    history = state.progress.history(offset)
    delivery = state.leases.by_offset.get(offset)
    if delivery is not None:
        left_ms = max(delivery.deadline_ms - now_ms, 0)
        return MessageStatus(its_state.value, counted_attempt(delivery.attempt), left_ms, delivery.consumer, history)
    retry = state.progress.retries.get(offset)
    delayed_until_ms = state.returns.delayed_until(offset)
    return MessageStatus(
        its_state.value,
        0 if retry is None else retry.attempts,
        -1 if delayed_until_ms is None else delayed_until_ms - now_ms,
        history=history,
    )
