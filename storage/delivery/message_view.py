"""One message as a group sees it, for `GET /messages/{id}`."""

from typing import NamedTuple

from storage.delivery.group_state import PartitionGroupState
from storage.delivery.leases import counted_attempt


class MessageStatus(NamedTuple):
    """A message as the group sees it; `state` as in `MessageState`. `until_ms` is a duration from now, -1 for none."""

    state: str
    attempts: int
    until_ms: int = -1
    consumer: str = ""


def view_message(state: PartitionGroupState, offset: int, *, now_ms: int) -> MessageStatus:
    """What became of a message so far."""
    message_state = state.message_state(offset)
    delivery = state.leases.by_offset.get(offset)
    if delivery is not None:
        left_ms = max(delivery.deadline_ms - now_ms, 0)
        return MessageStatus(message_state.value, counted_attempt(delivery.attempt), left_ms, delivery.consumer)
    retry = state.progress.retries.get(offset)
    delayed_until_ms = state.returns.delayed_until(offset)
    return MessageStatus(
        message_state.value,
        0 if retry is None else retry.attempts,
        -1 if delayed_until_ms is None else delayed_until_ms - now_ms,
    )
