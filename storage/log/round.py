"""One round of the group commit: what it adds to each log, and the work that an I/O thread does for it."""

from typing import NamedTuple, Protocol

from acklog.wire.batch import FLAG_KEYED, stamp
from storage.disk.port import Buffer, Disk, DiskFullError
from storage.log.journal import Journal
from storage.log.log_state import LogState
from storage.log.open_files import OpenFiles
from storage.log.segment import Segment


class Appended(NamedTuple):
    """Where a batch went: its first offset, when, and the offset after its last record."""

    base_offset: int
    append_time_ms: int
    next_offset: int


class AppendWaiter(Protocol):
    """Who is told of an append: a future is one. Told on the event loop, exactly once unless it is `done`."""

    def done(self) -> bool: ...

    def set_result(self, result: Appended, /) -> None: ...

    def set_exception(self, exception: BaseException, /) -> None: ...


class Pending(NamedTuple):
    """An append that waits for a round."""

    log: "LogQueue"
    batch: bytearray
    records: int
    flags: int
    leader_epoch: int
    is_reserved: bool
    waiter: AppendWaiter


class LogQueue:
    """A log as the group commit sees it. While `holds` is above zero its appends stay in the queue."""

    __slots__ = ("holds", "journal_key", "newest_epoch", "state")

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.journal_key = str(state.key).encode()
        self.newest_epoch = state.epochs.last_epoch
        self.holds = 0


class _SegmentWrite:
    """Batches that go back to back into one segment from `position` on."""

    __slots__ = ("buffers", "is_new", "position", "segment")

    def __init__(self, segment: Segment, position: int, *, is_new: bool) -> None:
        self.segment = segment
        self.position = position
        self.is_new = is_new
        self.buffers: list[Buffer] = []


class RoundPart:
    """What one round adds to one log. `full` is set when its segment could not be written for lack of space."""

    __slots__ = ("_position", "append_ms", "batches", "full", "items", "log", "next_offset", "size_bytes", "writes")

    def __init__(self, log: LogQueue, now_ms: int) -> None:
        state = log.state
        self.log = log
        self.append_ms = max(now_ms, state.last_append_ms)
        self.next_offset = state.log_end
        self.items: list[Pending] = []
        self.batches: list[Buffer] = []
        self.size_bytes = 0
        self.writes = [_SegmentWrite(state.active, state.active.size_bytes, is_new=False)]
        self._position = state.active.size_bytes
        self.full = False

    def add(self, item: Pending) -> None:
        """Give the batch its offset and its place."""
        batch = item.batch
        length = len(batch)
        stamp(batch, base_offset=self.next_offset, leader_epoch=item.leader_epoch, append_time_ms=self.append_ms)
        state = self.log.state
        if self._position and self._position + length > state.settings.segment_bytes:
            segment = Segment(state.key.directory, self.next_offset)
            self.writes.append(_SegmentWrite(segment, 0, is_new=True))
            self._position = 0
        self.writes[-1].buffers.append(batch)
        self.batches.append(batch)
        self.items.append(item)
        self._position += length
        self.size_bytes += length
        self.next_offset += item.records

    def publish(self) -> list[tuple[AppendWaiter, Appended]]:
        """On the loop, when the round is durable: readers see the batches. Whom to tell, of what."""
        told = []
        state = self.log.state
        offset = state.log_end
        append_ms = self.append_ms
        items = iter(self.items)
        for write in self.writes:
            if write.is_new:
                state.add_segment(write.segment)
            for batch in write.buffers:
                item = next(items)
                next_offset = offset + item.records
                state.note_batch(
                    base_offset=offset,
                    next_offset=next_offset,
                    epoch=item.leader_epoch,
                    append_ms=append_ms,
                    length=len(batch),
                    is_keyed=bool(item.flags & FLAG_KEYED),
                )
                told.append((item.waiter, Appended(offset, append_ms, next_offset)))
                offset = next_offset
        return told


def write_round(disk: Disk, files: OpenFiles, journal: Journal, parts: list[RoundPart]) -> int:
    """In an I/O thread: the segments write-behind, then the journal with one sync. Bytes taken in the journal.

    A part whose segment finds no space is marked and left out. Raises DiskFailedError and whatever else the journal
    meets: then nothing is known of the round.
    """
    entries = []
    for part in parts:
        try:
            _write_segments(files, part)
        except DiskFullError:
            _undo(disk, files, part)
            part.full = True
        else:
            entries.append((part.log.journal_key, part.batches, part.size_bytes))
    return journal.write(entries) if entries else 0


def _write_segments(files: OpenFiles, part: RoundPart) -> None:
    for write in part.writes:
        if write.is_new:
            files.create(write.segment.path)
        if write.buffers:
            with files.use(write.segment.path) as file:
                file.write(write.position, write.buffers)


def _undo(disk: Disk, files: OpenFiles, part: RoundPart) -> None:
    """Cut the segment back, durably: the append is about to be refused, and must not come back after a crash."""
    for write in reversed(part.writes):
        path = write.segment.path
        if not write.is_new:
            with files.use(path) as file:
                file.cut(write.position)
        elif disk.exists(path):
            files.forget(path)
            disk.remove(path)
            disk.sync_directory(part.log.state.key.directory)
