"""Find where readable batches go on behind a damaged one.

A file is searched byte by byte then, and a message's body may hold anything: thousands of beginnings of batches, or of
chains of them, that lead nowhere. So headers are followed before any content is read, and what was found to lead
nowhere is not followed again.
"""

import re
from collections.abc import Iterator

from acklog.wire.batch import HEADER_BYTES, MAGIC, BatchCorruptError, BatchHeader, read_header
from acklog.wire.limits import BATCH_BYTES_MAX
from storage.disk.port import File
from storage.log.batch_scanner import CHUNK_BYTES, BatchScanner

REMEMBERED_EVERY = 16
"""Of the places on a way that leads nowhere one in so many is remembered: no way is gone for long a second time, and a
segment of small batches takes little memory."""
_BEGINNING = re.compile(re.escape(MAGIC) + b"[\\x00-\\x%02x]" % (BATCH_BYTES_MAX >> 24))
"""With the first byte of a length that a batch may have."""


def find_batch_behind(
    file: File, *, position: int, size: int, above_offset: int, chain_end: int | None
) -> tuple[int, int] | None:
    """(position, base offset) of the next batch behind a damaged one at `position`, None if there is none.

    A header with a valid stamp tells how long the damaged batch is. Without it the file is searched; as a message's
    body may hold anything, also a batch, a find only counts if an unbroken chain of batches leads from it to the end
    of the file or to the position `chain_end`, where what is known to be durable ends.
    """
    head = file.read(position, HEADER_BYTES)
    try:
        skipped = position + read_header(head).length
    except BatchCorruptError:
        pass
    else:
        if skipped < size:
            try:
                header = read_header(file.read(skipped, HEADER_BYTES))
            except BatchCorruptError:
                pass
            else:
                if header.base_offset > above_offset:
                    return skipped, header.base_offset
    return _search(file, position=position + 1, size=size, above_offset=above_offset, chain_end=chain_end)


def _search(
    file: File, *, position: int, size: int, above_offset: int, chain_end: int | None
) -> tuple[int, int] | None:
    chains = BatchChains(file, size=size, chain_end=chain_end)
    while position + HEADER_BYTES <= size:
        chunk = file.read(position, min(CHUNK_BYTES, size - position))
        if len(chunk) < HEADER_BYTES:
            return None
        for at, header in _headers_in(chunk):
            if header.base_offset > above_offset and chains.leads_to_end(position + at):
                return position + at, header.base_offset
        position += len(chunk) - HEADER_BYTES + 1
    return None


def _headers_in(chunk: bytes) -> Iterator[tuple[int, BatchHeader]]:
    """Where whole headers with a leader's stamp stand."""
    for found in _BEGINNING.finditer(chunk):
        at = found.start()
        if at + HEADER_BYTES > len(chunk):
            return
        header = _stamped_header(chunk, at)
        if header is not None:
            yield at, header


def _stamped_header(data: bytes, at: int = 0) -> BatchHeader | None:
    try:
        header = read_header(data, at)
    except BatchCorruptError:
        return None
    return header if header.base_offset >= 0 else None


class BatchChains:
    """Which places of a file lead by whole batches, one behind the other, to its `size`; or to `chain_end`, where what
    is known to be durable ends. Of one search."""

    def __init__(self, file: File, *, size: int, chain_end: int | None) -> None:
        self._file = file
        self._end = size if chain_end is None else chain_end
        self._lead_nowhere: set[int] = set()

    def leads_to_end(self, position: int) -> bool:
        """Whether unharmed batches follow one another from there on, each with the offset that is its turn."""
        return self._is_way(position) and self._is_unharmed(position)

    def _is_way(self, position: int) -> bool:
        """By the headers alone."""
        remembered: list[int] = []
        expected: int | None = None
        batches = 0
        while position < self._end and position not in self._lead_nowhere:
            header = _stamped_header(self._file.read(position, HEADER_BYTES))
            if header is None or expected not in (None, header.base_offset):
                break
            if batches % REMEMBERED_EVERY == 0:
                remembered.append(position)
            batches += 1
            expected = header.next_offset
            position += header.length
        if position == self._end and batches:
            return True
        self._lead_nowhere.update(remembered)
        return False

    def _is_unharmed(self, position: int) -> bool:
        scanner = BatchScanner(self._file, position=position, size=self._end)
        remembered = [at for number, (_, at) in enumerate(scanner) if number % REMEMBERED_EVERY == 0]
        if scanner.problem is None:
            return True
        self._lead_nowhere.update((*remembered, scanner.position))
        return False
