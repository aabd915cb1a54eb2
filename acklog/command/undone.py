"""What a group has not done, found without leasing anything."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from acklog.command.log_ends import log_end, log_start, read_range
from acklog.command.message_state import state_in

if TYPE_CHECKING:
    from acklog import Client
    from acklog.catalog import GroupOffsets, PartitionState
    from acklog.messages import GroupState, StoredMessage

_SETTLED = ("done", "deadLettered", "passedOver", "expired")


class Undone(NamedTuple):
    """`state` is None where the group has not read the message's partition."""

    message: "StoredMessage"
    state: "GroupState | None"


def progress_of(client: "Client", group: str, topic: str) -> "GroupOffsets | None":
    """How far the group is; None for a group that is not there."""
    from acklog.errors import GroupNotFound

    try:
        return client.groups.offsets(group, topic)
    except GroupNotFound:
        return None


def undone_messages(
    client: "Client",
    topic: str,
    states: "Sequence[PartitionState]",
    *,
    group: str,
    progress: "GroupOffsets | None",
    is_from_latest: bool,
    messages_max: int,
) -> list[Undone]:
    """Up to `messages_max` of what the group has not done, the oldest first."""
    begins = {} if progress is None else {each.partition: each.progress for each in progress.offsets}
    found: list[Undone] = []
    for state in states:
        begin = begins.get(state.partition)
        if begin is None:
            begin = log_end(state) if is_from_latest else log_start(state)
        found += _of_partition(client, topic, group, state, begin, messages_max)
    found.sort(key=lambda each: (each.message.append_time_ms, each.message.partition, each.message.offset))
    return found[:messages_max]


def _of_partition(
    client: "Client", topic: str, group: str, state: "PartitionState", start: int, messages_max: int
) -> list[Undone]:
    """Above its progress a group has done some messages and not others: only a look at each tells."""
    undone: list[Undone] = []
    end = log_end(state)
    while start < end and len(undone) < messages_max:
        messages = read_range(client, topic, state.partition, start=start, end=end, messages_max=messages_max)
        if not messages:
            break
        for message in messages:
            seen = state_in(client.look(message.message_id).groups, group)
            if (seen is None or seen.state not in _SETTLED) and len(undone) < messages_max:
                undone.append(Undone(message, seen))
        start = messages[-1].offset + 1
    return undone
