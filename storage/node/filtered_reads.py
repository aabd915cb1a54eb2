"""Reading a log through a filter: whole batches, of those that hold a message which matches."""

import asyncio
from dataclasses import dataclass

from acklog.filters.message_filter import MessageFilter
from acklog.wire.compacted_batch import decode_remaining
from cluster.errors import ServerError
from storage.log.partition_log import PartitionLog
from storage.log.segment_reader import StoredBatch
from storage.node.partition.filter_figures import FilterFigures

READ_BYTES = 1024 * 1024
SCANNED_BYTES_MAX = 64 * 1024 * 1024
"""Of the log, by one request: it answers how far it got, and its reader goes on from there."""


@dataclass(slots=True)
class FilteredRead:
    """`next_offset` is behind what was looked at."""

    batches: list[StoredBatch]
    next_offset: int


async def read_filtered(
    log: PartitionLog,
    message_filter: MessageFilter,
    offset: int,
    *,
    max_bytes: int,
    until: int,
    figures: FilterFigures,
) -> FilteredRead:
    """From `offset` to `until`, up to `max_bytes` of batches, one in any case where one matches. Those without a match
    are counted in `figures`. Raises ServerError as the log does, where that is so at `offset`: what is in front of
    damage is given first (rule R40)."""
    read = FilteredRead([], offset)
    scanned_bytes = size_bytes = 0
    while read.next_offset < until and scanned_bytes < SCANNED_BYTES_MAX:
        try:
            found = await log.read(read.next_offset, max_bytes=READ_BYTES, until=until)
        except ServerError:
            if read.next_offset == offset:
                raise
            return read
        for stored in found:
            if holds_match(stored, message_filter, figures):
                size_bytes += stored.header.length
                if read.batches and size_bytes > max_bytes:
                    return read
                read.batches.append(stored)
            scanned_bytes += stored.header.length
            read.next_offset = stored.header.next_offset
        if size_bytes >= max_bytes:
            return read
        await asyncio.sleep(0)  # the loop is for others, too
    return read


def holds_match(stored: StoredBatch, message_filter: MessageFilter, figures: FilterFigures) -> bool:
    """Also where nobody can tell: who reads it hears that it is damaged."""
    header = stored.header
    if header.is_control:
        return False
    if not message_filter.may_match(header.tag_filter):
        figures.skipped(header)
        return False
    try:
        records = decode_remaining(stored.data, header)
    except ValueError:
        return True
    if any(record is not None and message_filter.matches(record) for record in records):
        return True
    figures.passed_over(header, header.count)
    return False
