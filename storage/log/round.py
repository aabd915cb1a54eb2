"""One round of the group commit: what it adds to each log, and the work that an I/O thread does for it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack

from acklog.wire.batch import FLAG_KEYED, stamp
from storage.disk.port import Buffer, Disk, DiskFullError, DiskRefusedError, ShortageError
from storage.log.journal import Journal, JournalFrame
from storage.log.log_queue import Appended, AppendWaiter, LogQueue, Pending
from storage.log.open_files import OpenFiles
from storage.log.segment import Segment
from storage.log.stamped_run import StampedRun
from storage.log.write_behind import WriteBehindFile


class SegmentWrite:
    """Buffers that go back to back into one segment from `position` on."""

    __slots__ = ("buffers", "is_new", "position", "segment")

    def __init__(self, segment: Segment, position: int, *, is_new: bool) -> None:
        self.segment = segment
        self.position = position
        self.is_new = is_new
        self.buffers: list[Buffer] = []


class RoundPart(ABC):
    """What one round adds to one log. `is_in_memory`: its segment's file keeps it until a sync. `refusal` is set when
    its segment could not be written, for lack of space or of descriptors."""

    __slots__ = ("batches", "is_in_memory", "items", "log", "position", "refusal", "size_bytes", "writes")

    def __init__(self, log: LogQueue) -> None:
        active = log.state.active
        self.log = log
        self.items: list[Pending] = []
        self.batches: list[Buffer] = []
        self.size_bytes = 0
        self.writes = [SegmentWrite(active, active.size_bytes, is_new=False)]
        self.position = active.size_bytes  # in the last segment of `writes`
        self.is_in_memory = False
        self.refusal: DiskRefusedError | None = None

    @property
    @abstractmethod
    def tail(self) -> tuple[int, int, int]:
        """What the log has with this part: its end, the last leader epoch, the last append time."""

    @abstractmethod
    def takes(self, item: Pending) -> bool:
        """Whether `item` may be in this part."""

    @abstractmethod
    def add(self, item: Pending) -> None:
        """Give its batches their places."""

    @abstractmethod
    def publish(self) -> list[tuple[AppendWaiter, Appended]]:
        """On the loop, when the round is durable: readers see the batches. Whom to tell, of what."""

    def begin_segment(self, base_offset: int) -> None:
        """The next batch goes into a new segment."""
        self.writes.append(SegmentWrite(Segment(self.log.state.key.directory, base_offset), 0, is_new=True))
        self.position = 0

    def put(self, batches: Buffer) -> None:
        """These bytes come next."""
        self.writes[-1].buffers.append(batches)
        self.batches.append(batches)
        self.position += len(batches)
        self.size_bytes += len(batches)


class OwnPart(RoundPart):
    """Batches of this log's leader, which is here: each gets its stamp now."""

    __slots__ = ("append_ms", "next_offset")

    def __init__(self, log: LogQueue, now_ms: int) -> None:
        super().__init__(log)
        self.append_ms = max(now_ms, log.state.last_append_ms)
        self.next_offset = log.state.log_end

    @property
    def tail(self) -> tuple[int, int, int]:
        return self.next_offset, self.items[-1].leader_epoch, self.append_ms

    def takes(self, item: Pending) -> bool:
        return item.run is None

    def add(self, item: Pending) -> None:
        batch = item.batch
        assert isinstance(batch, bytearray), "a batch is stamped in place"
        stamp(batch, base_offset=self.next_offset, leader_epoch=item.leader_epoch, append_time_ms=self.append_ms)
        if self.position and self.position + len(batch) > self.log.state.settings.segment_bytes:
            self.begin_segment(self.next_offset)
        self.put(batch)
        self.items.append(item)
        self.next_offset += item.records

    def publish(self) -> list[tuple[AppendWaiter, Appended]]:
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


class StampedPart(RoundPart):
    """Batches of another node's leader: their bytes stay as they are, only the segments may part elsewhere."""

    __slots__ = ("_slices",)

    def __init__(self, log: LogQueue) -> None:
        super().__init__(log)
        self._slices: list[tuple[Segment, StampedRun, int, int]] = []

    @property
    def tail(self) -> tuple[int, int, int]:
        run = self.items[-1].run
        assert run is not None
        return run.end_offset, run.last_epoch, run.last_append_ms

    def takes(self, item: Pending) -> bool:
        return item.run is not None

    def add(self, item: Pending) -> None:
        run = item.run
        assert run is not None
        segment_bytes = self.log.state.settings.segment_bytes
        first = 0
        while first < len(run):
            end = run.cut(first, segment_bytes - self.position)
            if end == first:
                if self.position:
                    self.begin_segment(run.offset_of(first))
                    continue
                end = first + 1  # larger than a segment should be, so it gets one of its own
            self.put(run.part(first, end))
            self._slices.append((self.writes[-1].segment, run, first, end))
            first = end
        self.items.append(item)

    def publish(self) -> list[tuple[AppendWaiter, Appended]]:
        state = self.log.state
        for segment, run, first, end in self._slices:
            if segment is not state.active:
                state.add_segment(segment)
            state.note_run(run, first, end)
        told = []
        for item in self.items:
            assert item.run is not None
            told.append((item.waiter, Appended(item.run.base_offset, item.run.last_append_ms, item.run.end_offset)))
        return told


def write_to_memory(files: OpenFiles, parts: Sequence[RoundPart]) -> bool:
    """On the loop: the segments write-behind, as far as that needs no disk. Whether it is done for all of them.

    A small round is a fraction of what it takes to hand the interpreter to an I/O thread and back, so that the thread
    should have to do with the journal only.
    """
    for part in parts:
        write, *more = part.writes
        if not more:
            part.is_in_memory = files.write_to_memory(
                write.segment.path, write.position, part.size_bytes, write.buffers
            )
    return all(part.is_in_memory for part in parts)


def write_round(disk: Disk, files: OpenFiles, journal: Journal, parts: Sequence[RoundPart]) -> int:
    """In an I/O thread: the segments write-behind, then the journal with one sync. Bytes taken in the journal.

    A part whose segment finds no space or no descriptor is marked and left out. Raises DiskFailedError and whatever
    else the journal meets: then nothing is known of the round.
    """
    written = []
    for part in parts:
        if not part.is_in_memory:
            part.refusal = _write_segments(disk, files, part)
        if part.refusal is None:
            written.append(part)
    return journal.write(encode_round(journal, written)) if written else 0


def encode_round(journal: Journal, parts: Sequence[RoundPart]) -> JournalFrame:
    """What the journal is to have of the parts."""
    return journal.encode([(part.log.journal_key, part.batches, part.size_bytes) for part in parts])


def _write_segments(disk: Disk, files: OpenFiles, part: RoundPart) -> DiskRefusedError | None:
    """Why the part was not written; then nothing is left of it. Every file is open before the first one is written to,
    so that taking a write back needs no descriptor."""
    with ExitStack() as opened:
        targets: list[tuple[SegmentWrite, WriteBehindFile]] = []
        try:
            if not part.log.state.has_files:
                part.log.state.begin_files(disk, files)
            for write in part.writes:
                if write.is_new:
                    files.create(write.segment.path)
                if write.is_new or write.buffers:
                    targets.append((write, opened.enter_context(files.use(write.segment.path))))
        except DiskRefusedError as error:
            _remove_new(disk, files, part)
            return error
        try:
            for write, file in targets:
                file.write(write.position, write.buffers)
        except DiskFullError as error:
            # The append is about to be refused, and must not come back after a crash.
            for write, file in reversed(targets):
                file.cut(write.position)
            _remove_new(disk, files, part)
            return error
    return None


def _remove_new(disk: Disk, files: OpenFiles, part: RoundPart) -> None:
    """Segments that the part would have begun. They are empty, so it does no harm if a crash brings a name back; where
    their end cannot be made durable now, the log's next sync does it."""
    begun = [write.segment.path for write in part.writes if write.is_new and disk.exists(write.segment.path)]
    for path in reversed(begun):
        files.forget(path)
        disk.remove(path)
    if begun:
        try:
            disk.sync_directory(part.log.state.key.directory)
        except ShortageError:
            part.log.state.names_are_dirty = True
