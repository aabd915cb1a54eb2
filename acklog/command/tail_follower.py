"""Follows a topic by the server's stream of it, for as long as the server has one to give."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acklog import AsyncClient
    from acklog.messages import StoredMessage
    from acklog.tails import TailGap

STREAM_PARTITIONS_MAX = 100
"""Of a topic that one stream reads."""
MESSAGES_PER_SECOND_MAX = 10_000
FIRST_CONTACT_TIMEOUT_MS = 2_000
"""The server has just answered: one that has no place for a stream is asked in another way at once."""
_ASKED_AGAIN = "The server serves as many streams as it may: it is asked again and again instead."

Emit = Callable[[Sequence["StoredMessage"]], None]


class TailFollower:
    """`emit` gets messages, each partition's in order. A server that is away for longer than `patience_s` ends it."""

    def __init__(
        self,
        client: "AsyncClient",
        topic: str,
        *,
        emit: Emit,
        note: Callable[[str], None],
        message_filter: str | None,
        patience_s: float,
    ) -> None:
        self._client = client
        self._topic = topic
        self._emit = emit
        self._note = note
        self._filter = message_filter
        self._patience_s = patience_s

    async def follow(self, offsets: dict[int, int]) -> None:
        """Show what comes from `offsets` on, and keep them where it is. Returns where the server has no stream to give,
        or none any more: it may be asked in another way. Raises AcklogError, and what `emit` does."""
        from acklog.errors import MethodNotAllowed, NotFound, TooManyWatchers

        if not 1 <= len(offsets) <= STREAM_PARTITIONS_MAX:
            return
        tail = self._client.tail(
            self._topic,
            from_="earliest",  # of partitions that are added meanwhile
            offsets=dict(offsets),
            message_filter=self._filter,
            max_per_second=MESSAGES_PER_SECOND_MAX,
            on_gap=lambda gap: self._heard_gap(gap, offsets),
            first_contact_timeout_ms=FIRST_CONTACT_TIMEOUT_MS,
            away_timeout_ms=round(self._patience_s * 1000),
        )
        try:
            async with tail:
                async for message in tail:
                    self._emit([message])
                    offsets[message.partition] = message.offset + 1
        except (NotFound, MethodNotAllowed):
            return  # a server of an earlier version
        except TooManyWatchers:
            self._note(_ASKED_AGAIN)

    def _heard_gap(self, gap: "TailGap", offsets: dict[int, int]) -> None:
        self._note(gap_text(gap))
        if gap.partition is None:
            offsets.update(dict.fromkeys(offsets, 0))
        elif gap.next_offset is None:
            offsets.pop(gap.partition, None)
        else:
            offsets[gap.partition] = gap.next_offset


def gap_text(gap: "TailGap") -> str:
    """What a person is told of it."""
    count = None if gap.next_offset is None or gap.from_offset is None else gap.next_offset - gap.from_offset
    if gap.reason == "removed":
        return f"Retention removed {count} messages of partition {gap.partition} before they were shown."
    if gap.reason == "damaged":
        last = None if gap.next_offset is None else gap.next_offset - 1
        return f"Offsets {gap.from_offset} to {last} of partition {gap.partition} are damaged and left out."
    if gap.reason == "partitionGone":
        return f"Partition {gap.partition} was decommissioned, and is gone: nothing more comes from it."
    if gap.reason == "cut":
        return f"Partition {gap.partition} was cut: other messages than those shown follow from {gap.next_offset} on."
    if gap.reason == "topicReplaced":
        return "The topic was deleted and made again: its new messages follow, from the first."
    return f"Something is missing in partition {gap.partition}: {gap.reason}."
