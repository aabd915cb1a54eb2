"""Replace a segment by another one of the same offsets, as compaction does.

The new file is written beside the old one, a step at a time, and synced; then it takes the old one's name. Whatever
ends the process in between, the name leads to one of the two, whole: recovery removes the file that was being written,
and makes the index anew. Only segments that nothing is ever written to again are replaced, and that no journal is
needed for: a replay would hold their batches against those of before.

Readers go on meanwhile. While the files change places one may meet the new file with the old one's index; it finds
nothing then, and reads again (`LogState.is_replacing`).
"""

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import takewhile
from typing import NamedTuple, Protocol

from acklog.wire.batch import BatchCorruptError, BatchHeader, Buffer, read_header
from storage.disk.port import Disk, DiskRefusedError, File
from storage.log.batch_scanner import BatchScanner
from storage.log.checkpoint import TEMPORARY_SUFFIX
from storage.log.engine import Engine
from storage.log.index import SegmentIndex
from storage.log.log_state import LogState, write_index
from storage.log.maintenance import Maintenance
from storage.log.open_files import OpenFiles
from storage.log.segment import Segment
from storage.log.uncancelled import uncancelled


class BatchRewriter(Protocol):
    """What becomes of a segment's batches, which come in order. What is returned covers the same offsets, in the same
    epochs, and append times do not fall; `has_changed` says whether it is anything else than what came."""

    @property
    def has_changed(self) -> bool: ...

    def take(self, header: BatchHeader, data: Buffer) -> Sequence[Buffer]:
        """What takes the place of this batch, and of those before it that nothing was returned for."""
        ...

    def end(self) -> Sequence[Buffer]:
        """What is still to be written."""
        ...


class SealedSegment(NamedTuple):
    """A segment that is not written to any more, as it is now."""

    base_offset: int
    end_offset: int
    size_bytes: int
    first_append_ms: int
    last_append_ms: int


class RewrittenSegment(NamedTuple):
    """How large it was, and is."""

    size_bytes_before: int
    size_bytes: int


Pause = Callable[[int], Awaitable[None]]
"""Called with the bytes of each step; waits for as long as there is to be no other behind so many."""


def sealed_segments(state: LogState) -> list[SealedSegment]:
    """Up to the first one that may not be rewritten now: whoever rewrites relies on having seen all that is older."""
    return [
        SealedSegment(each.base_offset, each.end_offset, each.size_bytes, each.first_append_ms, each.last_append_ms)
        for each in takewhile(partial(_is_sealed, state), state.segments)
    ]


async def begin_rewrite(
    engine: Engine,
    maintenance: Maintenance,
    state: LogState,
    base_offset: int,
    rewriter: BatchRewriter,
    *,
    step_bytes: int,
    pause: Pause,
) -> "SegmentRewrite | None":
    """Write the new file; `SegmentRewrite.replace` puts it in place. None where there is no such segment any more, or
    nothing of it is to be changed. Raises as `PartitionLog.rewrite_segment`."""
    segment = next((each for each in state.segments if each.base_offset == base_offset), None)
    if segment is None or not _is_sealed(state, segment):
        return None
    rewrite = SegmentRewrite(engine, state, segment, rewriter)
    try:
        async with maintenance.exclusive():  # a log that is being removed gets no file any more
            engine.check(state)
            await rewrite.begin()
        await rewrite.write(step_bytes, pause)
    except FileNotFoundError:
        await rewrite.discard()
        return None  # it was removed meanwhile
    except BaseException:
        await uncancelled(rewrite.discard())
        raise
    if rewriter.has_changed:
        return rewrite
    await rewrite.discard()
    return None


class SegmentRewrite:
    """One segment's new file, until it is in place."""

    def __init__(self, engine: Engine, state: LogState, segment: Segment, rewriter: BatchRewriter) -> None:
        self._engine = engine
        self._state = state
        self._segment = segment
        self._size_bytes = segment.size_bytes
        self._rewriter = rewriter
        self._temporary = segment.path + TEMPORARY_SUFFIX
        self._file: File | None = None
        self._read_bytes = 0
        self._expected = segment.base_offset
        self._written = Segment(state.key.directory, segment.base_offset)
        self._written.index = SegmentIndex(state.settings.index_interval_bytes)

    async def begin(self) -> None:
        await self._run(self._create)

    async def write(self, step_bytes: int, pause: Pause) -> None:
        while self._read_bytes < self._size_bytes:
            before = self._read_bytes
            self._engine.check(self._state)
            await self._run(partial(self._step, step_bytes))
            await pause(self._read_bytes - before)
        await self._run(self._end)

    async def replace(self, maintenance: Maintenance) -> RewrittenSegment | None:
        """Put the new file in place; None where the old one has gone or been cut meanwhile. The caller keeps others
        from making an index of it, and has the lock of `maintenance`.

        The old index goes first, durably: by chance it could fit the new file's size.
        """
        state, segment = self._state, self._segment
        is_there = not state.is_removed and segment in state.segments and _is_sealed(state, segment)
        if not is_there or segment.size_bytes != self._size_bytes:
            await self.discard()
            return None
        state.is_replacing = True
        try:
            await maintenance.finish(
                partial(_put_in_place, self._engine.disk, self._engine.files, self._temporary, segment)
            )
            state.version += 1
            state.segments[state.segments.index(segment)] = self._written
            self._engine.indexes.forget(segment)
        finally:
            state.is_replacing = False
        await maintenance.run(partial(write_index, self._engine.disk, self._written))
        index, self._written.index = self._written.index, None
        if index is not None:
            self._engine.indexes.put(self._written, index)
        return RewrittenSegment(self._size_bytes, self._written.size_bytes)

    async def discard(self) -> None:
        """The old file stays. What cannot be removed now goes at the next start."""
        with contextlib.suppress(OSError):
            await self._engine.io.run(self._remove)

    async def _run(self, function: Callable[[], None]) -> None:
        try:
            await self._engine.io.run(function)
        except DiskRefusedError as error:
            raise self._engine.refused(error) from error

    def _create(self) -> None:
        disk = self._engine.disk
        if disk.exists(self._temporary):
            disk.remove(self._temporary)
        self._file = disk.create(self._temporary)

    def _step(self, step_bytes: int) -> None:
        buffers: list[Buffer] = []
        end = min(self._read_bytes + step_bytes, self._size_bytes)
        with self._engine.files.use(self._segment.path) as file:
            scanner = BatchScanner(file, position=self._read_bytes, size=self._size_bytes, chunk_bytes=step_bytes)
            for header, position in scanner:
                if header.base_offset != self._expected:
                    raise BatchCorruptError(f"the batch has the offset {header.base_offset}, not {self._expected}")
                self._expected = header.next_offset
                data = file.read(position, header.length)
                buffers += self._rewriter.take(header, data)
                self._read_bytes = scanner.position
                if self._read_bytes >= end:
                    break
            if scanner.problem is not None:
                raise BatchCorruptError(scanner.problem)
        self._append(buffers)

    def _end(self) -> None:
        self._append(self._rewriter.end())
        if self._written.end_offset != self._segment.end_offset:
            raise BatchCorruptError(f"it ends at {self._written.end_offset}, not at {self._segment.end_offset}")
        file, self._file = self._file, None
        assert file is not None, "the file is there until it is whole"
        try:
            file.sync()
        finally:
            file.close()

    def _append(self, buffers: Sequence[Buffer]) -> None:
        assert self._file is not None, "the file is there until it is whole"
        self._file.write(self._written.size_bytes, buffers)
        for each in buffers:
            header = read_header(each)
            self._written.note(
                base_offset=header.base_offset,
                next_offset=header.next_offset,
                append_ms=header.append_time_ms,
                length=header.length,
                is_keyed=header.is_keyed,
            )

    def _remove(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._engine.disk.exists(self._temporary):
            self._engine.disk.remove(self._temporary)


def _is_sealed(state: LogState, segment: Segment) -> bool:
    """Whether all of it is durable, as the recovery points on the disk say (what they do not cover yet is dirty), and
    nothing is to be written into it."""
    recovery_segment, _ = state.recovery_place
    return (
        segment is not state.active
        and segment.index is None
        and segment not in state.dirty_segments
        and segment.end_offset <= state.recovery_point
        and segment.base_offset < recovery_segment
        and segment.size_bytes > 0
    )


def _put_in_place(disk: Disk, files: OpenFiles, temporary: str, segment: Segment) -> None:
    """In an I/O thread; may be done again after a shortage."""
    directory = segment.path.rpartition("/")[0]
    if disk.exists(segment.index_path):
        disk.remove(segment.index_path)
    disk.sync_directory(directory)
    if disk.exists(temporary):
        disk.rename(temporary, segment.path)
    files.forget(segment.path)
    disk.sync_directory(directory)
