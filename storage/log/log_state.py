"""What one log consists of, in memory. Changed by recovery before it is served, afterwards only on the event loop."""

import contextlib
from bisect import bisect_left, bisect_right

from acklog.wire.batch import BatchCorruptError
from storage.disk.port import Disk, DiskRefusedError
from storage.log.batch_scanner import BatchScanner
from storage.log.checkpoint import write_checkpoint
from storage.log.index import SegmentIndex
from storage.log.keys import LogKey
from storage.log.leader_epochs import LeaderEpochs
from storage.log.log_directory import sync_names
from storage.log.log_identity import keep_identity
from storage.log.log_settings import LogSettings
from storage.log.open_files import OpenFiles
from storage.log.recovery_points import RecoveryPoint
from storage.log.segment import NO_TIME, Segment
from storage.log.stamped_run import StampedRun
from storage.log.write_behind import WriteBehindFile

LEADER_EPOCHS_NAME = "leader-epochs"
COMPACTED_NAME = "compacted"


class LogState:
    """Segments in order (never none; the last one is the active one), bounds, epochs, and what is not synced yet."""

    __slots__ = (
        "damage",
        "dirty_segments",
        "earlier_refusal",
        "epochs",
        "has_files",
        "is_misplaced",
        "is_removed",
        "is_replacing",
        "is_void",
        "journal_floor",
        "kept_end",
        "key",
        "last_append_ms",
        "log_start",
        "names_are_dirty",
        "next_log_start",
        "recovery_place",
        "recovery_point",
        "refused",
        "segments",
        "settings",
        "version",
    )

    def __init__(self, key: LogKey, settings: LogSettings, point: RecoveryPoint) -> None:
        self.key = key
        self.settings = settings
        self.segments: list[Segment] = []
        self.log_start = self.next_log_start = point.log_start
        self.recovery_point = point.offset
        self.recovery_place = (point.segment, point.position)
        self.journal_floor = point.journal_floor
        self.refused = self.earlier_refusal = point.refused
        self.damage = point.damage  # why something that was durable cannot be read; "" while nothing is known of any
        self.is_misplaced = False  # the directory may be another log's: `refused` says why, until that is put right
        self.kept_end = point.kept_end
        self.is_removed = False
        self.is_replacing = False  # a segment's file: what is found in it may not be what its index says
        self.is_void = point.is_void
        self.epochs = LeaderEpochs()
        self.last_append_ms = NO_TIME
        self.dirty_segments: dict[Segment, None] = {}
        self.has_files = False  # an empty log needs none (`storage.log.log_directory`); what is appended makes them
        self.names_are_dirty = False  # of the files that are there
        self.version = 0  # rises when published bytes may change: a reader that sees it change reads again

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    @property
    def log_end(self) -> int:
        return self.segments[-1].end_offset

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)

    @property
    def epochs_path(self) -> str:
        return f"{self.key.directory}/{LEADER_EPOCHS_NAME}"

    def segment_at(self, offset: int) -> int:
        """The number of the segment whose range holds `offset`."""
        return max(bisect_right(self.segments, offset, key=_base_offset) - 1, 0)

    def add_segment(self, segment: Segment) -> None:
        """`segment` is the active one from now on. The next sync stores the index of the one before and lets go of it,
        also where nothing was appended to that since the last sync."""
        if segment.index is None:
            segment.index = SegmentIndex(self.settings.index_interval_bytes)
        if self.segments and self.segments[-1].index is not None:
            self.dirty_segments[self.segments[-1]] = None
        self.segments.append(segment)
        self.names_are_dirty = True

    def note_batch(
        self, *, base_offset: int, next_offset: int, epoch: int, append_ms: int, length: int, is_keyed: bool
    ) -> None:
        """A batch stands at the end of the active segment."""
        active = self.segments[-1]
        active.note(
            base_offset=base_offset, next_offset=next_offset, append_ms=append_ms, length=length, is_keyed=is_keyed
        )
        self.dirty_segments[active] = None
        self.last_append_ms = append_ms
        if epoch != self.epochs.last_epoch:
            self.epochs.note(epoch, base_offset)
        self.epochs.log_end = next_offset

    def note_run(self, run: StampedRun, first: int, end: int) -> None:
        """The batches `first` up to, exclusive, `end` of `run` stand at the end of the active segment."""
        active = self.segments[-1]
        base_offset = active.end_offset
        active.note_run(run, first, end)
        self.dirty_segments[active] = None
        self.last_append_ms = active.last_append_ms
        for epoch, offset in run.epochs:
            if base_offset <= offset < active.end_offset and epoch != self.epochs.last_epoch:
                self.epochs.note(epoch, offset)
        self.epochs.log_end = active.end_offset

    @property
    def end_place(self) -> tuple[int, int, int]:
        """The log end, the segment it is in, the position there: what `cover` takes."""
        active = self.segments[-1]
        return active.end_offset, active.base_offset, active.size_bytes

    def latest_append_ms(self) -> int:
        """Of the batches that are there, as far as the segments know."""
        return max(segment.last_append_ms for segment in self.segments)

    def begin_files(self, disk: Disk, files: OpenFiles) -> None:
        """In an I/O thread, for a log without files: make them, as durable as what is appended to them. Whoever has
        put something into them sets `has_files`."""
        disk.make_directory(self.key.directory)
        files.create(self.active.path)

    def cover(self, place: tuple[int, int, int]) -> None:
        """Everything up to `place` is durable in segments, and so are their names and the leader epochs."""
        end_offset, segment, position = place
        self.is_void = False
        self.recovery_point = end_offset
        self.recovery_place = (segment, position)

    def point(self) -> RecoveryPoint:
        segment, position = self.recovery_place
        return RecoveryPoint(
            self.recovery_point,
            self.next_log_start,
            self.journal_floor,
            self.earlier_refusal if self.is_misplaced else self.refused,
            segment,
            position,
            self.is_void,
            self.damage,
            self.kept_end,
        )


def _base_offset(segment: Segment) -> int:
    return segment.base_offset


def find_cut(files: OpenFiles, segment: Segment, index: SegmentIndex, offset: int) -> tuple[int, int, int]:
    """(position, offset, append time of the batch before) of the first batch that ends behind `offset`.

    With batches 0-3, 4-9, 10-11 and `offset` 5 it is the place of the batch that begins at 4. Raises BatchCorruptError
    where a batch before it is damaged: cutting there would take more than was asked for.
    """
    if not len(index):
        return 0, segment.base_offset, NO_TIME
    row_offset, position = index.floor(max(offset - 1, segment.base_offset))
    with files.use(segment.path) as file:
        cut_offset, last_ms = row_offset, _time_before(file, segment, index, row_offset)
        scanner = BatchScanner(file, position=position, size=segment.size_bytes)
        for header, at in scanner:
            if header.next_offset > offset:
                return at, header.base_offset, last_ms
            last_ms = header.append_time_ms
            cut_offset = header.next_offset
        if scanner.problem is not None:
            raise BatchCorruptError(scanner.problem)
        return scanner.position, cut_offset, last_ms


def _time_before(file: WriteBehindFile, segment: Segment, index: SegmentIndex, row_offset: int) -> int:
    """Append time of the batch before the one that an index row leads to; NO_TIME if it is the segment's first."""
    row = bisect_left(index.offsets, row_offset)
    if not row:
        return NO_TIME
    last_ms = index.times_ms[row - 1]
    for header, at in BatchScanner(file, position=index.positions[row - 1], size=index.positions[row]):
        if at >= index.positions[row]:
            break
        last_ms = header.append_time_ms
    return last_ms


def sync_segments(files: OpenFiles, segments: list[Segment]) -> None:
    """In an I/O thread: make their content durable."""
    for segment in segments:
        with files.use(segment.path) as file:
            file.sync()


def sync_log_files(
    disk: Disk, files: OpenFiles, key: LogKey, segments: list[Segment], *, names_are_dirty: bool
) -> None:
    """In an I/O thread: make the content of `segments` durable, and their names and the directory's if they are new."""
    sync_segments(files, segments)
    if names_are_dirty:
        keep_identity(disk, key)
        sync_names(disk, key.directory)


def write_epochs(disk: Disk, path: str, payload: bytes) -> None:
    """In an I/O thread. Durable before the recovery point that relies on it."""
    write_checkpoint(disk, path, payload)


def cut_segment(segment: Segment, index: SegmentIndex, *, position: int, end_offset: int, last_append_ms: int) -> None:
    """Bring what is known of a segment in line with its file, which was cut at `position`."""
    index.truncate(position)
    segment.index = index
    segment.index_is_stored = False
    segment.size_bytes = position
    segment.end_offset = end_offset
    if not position:
        segment.first_append_ms = segment.last_append_ms = segment.last_keyed_ms = -1
    elif last_append_ms >= 0:
        segment.last_append_ms = last_append_ms


def store_index(disk: Disk, segment: Segment) -> None:
    """In an I/O thread: write the index of a closed segment and let go of it. Not synced, as it can be rebuilt."""
    if segment.index is None:
        return
    if not segment.index_is_stored:
        write_index(disk, segment)
    segment.index = None


def write_index(disk: Disk, segment: Segment) -> None:
    """In an I/O thread. A full disk or a shortage only costs a rebuild later."""
    content = segment.encode_index()
    if disk.exists(segment.index_path):
        disk.remove(segment.index_path)
    with contextlib.suppress(DiskRefusedError):
        file = disk.create(segment.index_path)
        try:
            file.write(0, [content])
        finally:
            file.close()
    segment.index_is_stored = True
