"""The node's journal: what makes a round of many logs durable with one sync.

Files are preallocated with zeros, so that a sync needs no metadata, and reused once a checkpoint covers all their
entries. The bookkeeping belongs to the event loop; `write` and the functions that make files run in an I/O thread
and only one of them at a time.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from storage.disk.executor import IoExecutor
from storage.disk.port import Buffer, Disk, DiskFullError, DiskRefusedError, File
from storage.log.journal_files import record_files
from storage.log.journal_frame import encode_frame
from storage.log.journal_names import JOURNAL_DIRECTORY, journal_path
from storage.log.journal_reach import JournalReach


class JournalFrame(NamedTuple):
    """A frame that is about to be written. `stored_bytes`: with its padding."""

    file: File
    position: int
    buffers: list[Buffer]
    stored_bytes: int
    sequence: int


class JournalFile:
    """One file. `position` is where the next frame goes; frames of this use carry `generation`."""

    __slots__ = ("file", "generation", "last_sequence", "number", "position")

    def __init__(self, number: int, file: File) -> None:
        self.number = number
        self.file = file
        self.position = 0
        self.generation = 0
        self.last_sequence = 0


class Journal:
    """Writes frames, moves from file to file, and takes files back when they are covered."""

    def __init__(
        self, disk: Disk, *, journal_key: int, sequence: int, life: int, file_bytes: int, files_max: int
    ) -> None:
        """Behind the frame `sequence`; `life` is which start of the directory this is."""
        self._disk = disk
        self._key = journal_key
        self._file_bytes = file_bytes
        self._files_max = files_max
        self._spares: deque[JournalFile] = deque()
        self._full: deque[JournalFile] = deque()
        self._active: JournalFile | None = None
        self._next_number = 0
        self._reach: JournalReach | None = None
        self._recording = asyncio.Lock()  # held while a file comes or goes, as the record is of all of them
        self._first_sequence = sequence
        self.sequence = sequence  # of the last frame that is durable
        self.life = life

    @property
    def files(self) -> int:
        return len(self._spares) + len(self._full) + (self._active is not None)

    @property
    def full_files(self) -> int:
        """Files that wait for a checkpoint to cover them."""
        return len(self._full)

    @property
    def present_sequence(self) -> int:
        """The files will hold a frame of this sequence or a later one until the next start; 0 if no frame was written
        since this one, which takes all files as spares."""
        return self.sequence if self.sequence > self._first_sequence else 0

    @property
    def room_bytes(self) -> int:
        """What still fits into the file being written."""
        return self._file_bytes - self._active.position if self._active is not None else 0

    def adopt(self, spare: JournalFile) -> None:
        """Add a preallocated file, new or found at the start."""
        self._next_number = max(self._next_number, spare.number + 1)
        self._spares.append(spare)

    def next_file(self) -> bool:
        """Go on in a spare file; False if there is none."""
        if not self._spares:
            return False
        if self._active is not None:
            if self._active.position:
                self._full.append(self._active)
            else:
                self._spares.append(self._active)
        self._active = self._spares.popleft()
        self._active.position = 0
        self._active.generation = self.sequence + 1
        return True

    def keep_reach(self, reach: JournalReach) -> None:
        """Where it is noted how far the journal got. Before the first frame."""
        self._reach = reach

    def may_grow(self) -> bool:
        return self.files < self._files_max

    async def grow(self, io: IoExecutor) -> None:
        """Add a new preallocated file, durable and on record. Raises DiskFullError and leaves nothing behind."""
        async with self._recording:
            self.adopt(await io.run(partial(self._create_file, self._next_number, self._sizes())))

    def _create_file(self, number: int, others: dict[int, int]) -> JournalFile:
        created = create_journal_file(self._disk, number, self._file_bytes)
        try:
            record_files(self._disk, {**others, number: self._file_bytes})
        except DiskRefusedError:
            self._remove_file(created)
            raise
        return created

    def _sizes(self) -> dict[int, int]:
        """Of the files in use, by number."""
        return {each.number: self._file_bytes for each in self._all_files()}

    def _all_files(self) -> list[JournalFile]:
        return [*self._spares, *self._full, *([self._active] if self._active else [])]

    def encode(self, entries: Sequence[tuple[bytes, Sequence[Buffer], int]]) -> JournalFrame:
        """The next frame, of (key, batches, bytes of the batches) entries; `write` it before another one is encoded."""
        active = self._active
        assert active is not None, "the caller made room"
        buffers, stored_bytes = encode_frame(
            entries, journal_key=self._key, generation=active.generation, sequence=self.sequence + 1
        )
        assert active.position + stored_bytes <= self._file_bytes, "the caller made room"
        return JournalFrame(active.file, active.position, buffers, stored_bytes, self.sequence + 1)

    def write(self, frame: JournalFrame) -> int:
        """In an I/O thread: write the frame behind the last one and sync. The bytes it takes; `publish` them then."""
        assert self._reach is not None, "the reach is noted from the first frame on"
        frame.file.write(frame.position, frame.buffers)
        frame.file.sync()
        self._reach.write(frame.sequence)
        return frame.stored_bytes

    def publish(self, stored_bytes: int) -> None:
        """The frame is durable."""
        active = self._active
        assert active is not None
        self.sequence += 1
        active.position += stored_bytes
        active.last_sequence = self.sequence

    def trim(self, covered_sequence: int, *, files_kept: int) -> list[JournalFile]:
        """A durable checkpoint covers all frames up to `covered_sequence`: take their files back.

        The files that are returned are not needed any more; the caller lets `remove` have them.
        """
        while self._full and self._full[0].last_sequence <= covered_sequence:
            self._spares.append(self._full.popleft())
        surplus = []
        # The next frame goes into another file than the newest one, which stays until that frame is there.
        removable = [each for each in self._spares if each.last_sequence != self.sequence]
        while removable and self.files > files_kept and len(self._spares) > 1:
            surplus.append(removable.pop())
            self._spares.remove(surplus[-1])
        return surplus

    async def remove(self, surplus: Sequence[JournalFile], io: IoExecutor) -> None:
        """Take the files off the record, and then away. Where that is refused they stay, as spares; raises
        DiskFailedError."""
        if not surplus:
            return
        async with self._recording:
            try:
                await io.run(partial(self._remove_files, surplus, self._sizes()))
            except DiskRefusedError:
                self._spares.extend(surplus)

    def _remove_files(self, surplus: Sequence[JournalFile], others: dict[int, int]) -> None:
        record_files(self._disk, others)
        for journal_file in surplus:
            self._remove_file(journal_file)

    def _remove_file(self, journal_file: JournalFile) -> None:
        journal_file.file.close()
        self._disk.remove(journal_path(journal_file.number))

    def close(self) -> None:
        for journal_file in self._all_files():
            journal_file.file.close()
        if self._reach is not None:
            self._reach.close()


def create_journal_file(disk: Disk, number: int, file_bytes: int) -> JournalFile:
    """A preallocated file whose size and name are durable; on DiskFullError nothing is left of it."""
    path = journal_path(number)
    if disk.exists(path):
        disk.remove(path)
    file = disk.create(path)
    try:
        file.preallocate(file_bytes)
        file.sync()
    except DiskFullError:
        file.close()
        disk.remove(path)
        raise
    disk.sync_directory(JOURNAL_DIRECTORY)
    return JournalFile(number, file)
