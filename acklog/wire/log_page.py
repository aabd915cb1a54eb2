"""A page of the log: whole batches, back to back as they are stored, and the messages in them."""

from collections.abc import Callable, Iterator
from typing import cast

from acklog.wire.batch import BatchHeader, read_header, verify
from acklog.wire.compacted_batch import decode_remaining
from acklog.wire.compression import Buffer
from acklog.wire.record import Record

MEDIA_TYPE = "application/vnd.acklog.batches"
Run = tuple[BatchHeader, int, list[Record]]
"""Messages that were appended together, one behind the other: the header of their batch, the offset of the first of
them, and themselves."""

OnUndecodable = Callable[[BatchHeader, ValueError], None]


def headers(page: Buffer) -> Iterator[BatchHeader]:
    """Of each batch; what it holds is not looked at. Raises BatchCorruptError."""
    at = 0
    while at < len(page):
        header = read_header(page, at)
        yield header
        at += header.length


def verified(page: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Where each batch begins in the page, and its header, once its content is known to be unharmed. Raises
    BatchCorruptError."""
    at = 0
    while at < len(page):
        header = verify(page, at)
        yield at, header
        at += header.length


def runs(
    page: Buffer, first_offset: int, until: int | None = None, *, on_undecodable: OnUndecodable | None = None
) -> Iterator[Run]:
    """The messages from `first_offset` to below `until`, batch by batch; the first batch may begin before, and the last
    end behind. Nothing of control batches, nor of what compaction removed.

    Raises ValueError: BatchCorruptError, or for a payload that cannot be unpacked or decoded, unless `on_undecodable`
    is there to be told of that batch: then it is left out.
    """
    for at, header in verified(page):
        try:
            records = decode_remaining(page, header, at)
        except ValueError as error:
            if on_undecodable is None:
                raise
            on_undecodable(header, error)
            continue
        first = max(header.base_offset, first_offset)
        end = header.base_offset + len(records)
        if until is not None and end > until:
            end = until
        if first < end:
            is_whole = end - first == len(records)
            wanted = records if is_whole else records[first - header.base_offset : end - header.base_offset]
            yield from _rows(header, first, wanted)
        if until is not None and header.next_offset >= until:
            return


def _rows(header: BatchHeader, first: int, records: list[Record | None]) -> Iterator[Run]:
    """What there is of them: mostly all."""
    if not header.is_compacted:
        yield header, first, cast("list[Record]", records)
        return
    row: list[Record] = []
    for offset, record in enumerate(records, first):
        if record is not None:
            row.append(record)
        elif row:
            yield header, offset - len(row), row
            row = []
    if row:
        yield header, first + len(records) - len(row), row
