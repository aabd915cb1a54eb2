"""Where the partitions of a topic begin and end, for commands that read the log themselves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acklog.command.exit_codes import ExitCode
from acklog.command.failures import CommandError

if TYPE_CHECKING:
    from acklog import Client
    from acklog.catalog import PartitionState
    from acklog.messages import StoredMessage

PAGE_BYTES_MAX = 4 * 1024 * 1024
GONE = "gone"
"""The life of a partition that was decommissioned and holds nothing any more. Nobody leads it, and that is right."""


def log_start(state: "PartitionState") -> int:
    """The first offset that is there. Raises CommandError for a partition that cannot be asked."""
    return _known(state, state.log_start)


def log_end(state: "PartitionState") -> int:
    """One past the last that can be read. Raises CommandError for a partition that cannot be asked."""
    return _known(state, state.high_watermark)


def read_range(
    client: "Client", topic: str, partition: int, *, start: int, end: int, messages_max: int
) -> "list[StoredMessage]":
    """Up to `messages_max` messages with offsets from `start` to before `end`."""
    messages: list[StoredMessage] = []
    offset = start
    while offset < end and len(messages) < messages_max:
        page = client.records(topic, partition, offset=offset, max_bytes=PAGE_BYTES_MAX)
        messages += [each for each in page.messages if offset <= each.offset < end]
        if page.next_offset <= offset:
            break
        offset = page.next_offset
    return messages[:messages_max]


def last_messages(
    client: "Client", topic: str, states: "Sequence[PartitionState]", *, messages_max: int
) -> "list[StoredMessage]":
    """The last messages over all partitions, by the time they were stored."""
    messages: list[StoredMessage] = []
    for state in states:
        end = log_end(state)
        start = max(log_start(state), end - messages_max)
        messages += read_range(client, topic, state.partition, start=start, end=end, messages_max=messages_max)
    messages.sort(key=lambda each: (each.append_time_ms, each.partition, each.offset))
    return messages[-messages_max:]


def _known(state: "PartitionState", offset: int | None) -> int:
    if offset is not None:
        return offset
    if state.life == GONE:
        return 0  # from nothing to nothing
    why = state.problem.detail if state.problem is not None else "it has no leader"
    raise CommandError(
        f"partition {state.partition} cannot be read: {why}",
        exit_code=ExitCode.SERVER_AWAY,
        hint="Try again in a moment; acklog doctor looks at the server.",
    )
