"""Messages that are seen later, read out of their partition's schedule log."""

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

import structlog

from acklog.wire.record import Record
from storage.log.log_walk import LogWalk, Unreadable
from storage.log.partition_log import PartitionLog
from storage.schedule.changes import messages_at

Piece = Callable[[], AbstractContextManager[None]]
"""Around what keeps the loop for a moment."""

logger = structlog.get_logger(__name__)


async def read_messages(
    log: PartitionLog,
    positions: Iterable[int],
    *,
    committed: int,
    piece: Piece,
) -> dict[int, Record]:
    """By their positions, but for those that cannot be read: each harms itself only (rule R40). However many these are,
    it is said once. What is due together is spread over many batches, each of which is unpacked whole: in a `piece` of
    its own. Raises ServerError."""
    positions = sorted(positions)
    found: dict[int, Record] = {}
    unreadable: list[int] = []
    at = 0
    while at < len(positions):
        position, first = positions[at], at
        batches = await LogWalk(log, position, min(position + 1, committed)).next(1)
        if batches is None or isinstance(batches, Unreadable):
            unreadable.append(position)
            at += 1
            continue
        for header, data in batches:
            await asyncio.sleep(0)
            end = bisect_left(positions, header.next_offset, at)
            here, at = positions[at:end], end
            with piece():
                try:
                    found |= messages_at(header, data, here)
                except ValueError:
                    unreadable.extend(here)
        if at == first:  # there is nothing of that place in what was read
            unreadable.append(position)
            at += 1
    if unreadable:
        what = {"log": str(log.key), "offset": min(unreadable), "count": len(unreadable)}
        logger.error("scheduled_messages_unreadable", **what)
    return found
