"""Find and verify batches in bytes read from a segment."""

import contextlib
from typing import NamedTuple

from acklog.wire.batch import HEADER_BYTES, BatchCorruptError, BatchHeader, read_header, verify
from storage.disk.port import Disk, DiskFailedError
from storage.log.batch_scanner import BatchScanner
from storage.log.batch_search import find_batch_behind
from storage.log.checkpoint import read_file
from storage.log.index import IndexDamagedError, SegmentIndex
from storage.log.log_state import write_index
from storage.log.open_files import OpenFiles
from storage.log.segment import Segment


class StoredBatch(NamedTuple):
    """A verified batch; `data` is all of it, header included."""

    header: BatchHeader
    data: memoryview


class Damage(NamedTuple):
    """The batch that holds `offset` cannot be read. `next_offset` is where readable batches go on, if that could be
    told; otherwise it is not above `offset`."""

    offset: int
    next_offset: int
    reason: str


def parse_batches(data: bytes, offset: int) -> "list[StoredBatch] | Damage | int":
    """The whole batches in `data` from the one that holds `offset` on; or so many bytes are needed to find it.

    `data` begins with a batch at or below `offset` and may end within one.
    """
    view = memoryview(data)
    found: list[StoredBatch] = []
    at = 0
    expected = -1
    while at < len(data):
        try:
            header = verify(data, at)
        except BatchCorruptError as error:
            if found:
                break  # cut off, or damaged: whoever reads on will hear of it
            step = _step_over(data, at, offset, error.reason)
            if isinstance(step, Damage) or step > len(data):
                return step
            at = step
            continue
        if header.next_offset > offset:
            if not found and header.base_offset > offset:
                return Damage(offset, header.base_offset, "the batch that holds it is missing")
            if found and header.base_offset != expected:
                break
            found.append(StoredBatch(header, view[at : at + header.length]))
            expected = header.next_offset
        at += header.length
    return found or len(data) + HEADER_BYTES


def _step_over(data: bytes, at: int, offset: int, reason: str) -> Damage | int:
    """Where to go on behind an invalid batch below `offset`; beyond the end of `data` if more is needed to tell."""
    if len(data) - at < HEADER_BYTES:
        return at + HEADER_BYTES
    try:
        length = read_header(data, at).length
    except BatchCorruptError:
        return Damage(offset, offset, reason)
    following = at + length
    if following > len(data):
        return following
    if following + HEADER_BYTES > len(data):
        return following + HEADER_BYTES
    try:
        base_offset = read_header(data, following).base_offset
    except BatchCorruptError:
        return Damage(offset, offset, reason)
    return following if base_offset <= offset else Damage(offset, base_offset, reason)


def place_behind_damage(
    files: OpenFiles, path: str, *, row: tuple[int, int], end: int, offset: int
) -> int | Damage | None:
    """In an I/O thread: where the batch that holds `offset` stands, between the batch of an index row (its offset and
    position) and `end`, where the next row's batch or nothing stands. None where that cannot be told."""
    expected, position = row
    with files.use(path) as file:
        while True:
            scanner = BatchScanner(file, position=position, size=end)
            for header, at in scanner:
                expected = header.next_offset
                if expected > offset:
                    return at if header.base_offset <= offset else None
            if scanner.problem is None:
                return None
            found = find_batch_behind(file, position=scanner.position, size=end, above_offset=expected, chain_end=end)
            if found is None:
                return None
            position, base_offset = found
            if base_offset > offset:
                return Damage(offset, base_offset, scanner.problem)


class VerifiedRun(NamedTuple):
    """All is well up to `next_offset`, after `size_bytes`. `is_last`: what follows is not asked for, or nothing does.
    `problem` is what is wrong at `next_offset`, None if nothing was found to be."""

    next_offset: int
    size_bytes: int
    is_last: bool
    problem: str | None


def verify_run(
    files: OpenFiles,
    path: str,
    *,
    row: tuple[int, int],
    end: int,
    offset: int,
    max_bytes: int,
    older_than_ms: int,
) -> VerifiedRun:
    """In an I/O thread: verify the batches from an index row (its offset and position) on, about `max_bytes` beyond
    `offset` of them, those that were appended before `older_than_ms`."""
    next_offset, position = row
    left_bytes = max_bytes
    with files.use(path) as file:
        scanner = BatchScanner(file, position=position, size=end, chunk_bytes=max_bytes)
        for header, at in scanner:
            if header.append_time_ms >= older_than_ms:
                return VerifiedRun(next_offset, at - position, True, None)
            next_offset = header.next_offset
            if next_offset > offset:
                left_bytes -= header.length
                if left_bytes <= 0:
                    break
    return VerifiedRun(next_offset, scanner.position - position, scanner.position >= end, scanner.problem)


def load_index(disk: Disk, files: OpenFiles, segment: Segment, *, interval_bytes: int) -> SegmentIndex:
    """In an I/O thread: the index of a closed segment, from its file or, if that is missing or harmed, rebuilt."""
    with contextlib.suppress(IndexDamagedError, DiskFailedError):
        content = read_file(disk, segment.index_path) or b""
        scratch = Segment(segment.path.rpartition("/")[0], segment.base_offset)
        index = scratch.adopt_index(content, file_size=segment.size_bytes, interval_bytes=interval_bytes)
        if scratch.end_offset == segment.end_offset:
            return index
    return rebuild_index(disk, files, segment, interval_bytes=interval_bytes)


def rebuild_index(disk: Disk, files: OpenFiles, segment: Segment, *, interval_bytes: int) -> SegmentIndex:
    """In an I/O thread: read the whole segment again. Damaged batches get no row, the ones behind them do."""
    index = SegmentIndex(interval_bytes)
    expected = segment.base_offset
    position = 0
    with files.use(segment.path) as file:
        while True:
            scanner = BatchScanner(file, position=position, size=segment.size_bytes)
            for header, at in scanner:
                index.add(header.base_offset, at, header.append_time_ms, header.length)
                expected = header.next_offset
            if scanner.problem is None:
                break
            found = find_batch_behind(
                file, position=scanner.position, size=segment.size_bytes, above_offset=expected, chain_end=None
            )
            if found is None:
                return index  # not stored: the file does not end where the index would say
            position, expected = found
            index.break_here()
    write_index(disk, segment.with_index(index))  # the segment itself belongs to the event loop
    return index
