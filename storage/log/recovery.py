"""Bring one log back: load its segments, verify what no checkpoint covers, replay the journal over it.

Below the recovery point everything was durable, so damage there is damage: it is reported, left where it is, and
reading it is refused. Beyond the recovery point the journal is the authority: a torn tail is cut, and whatever
completed is in the journal and gets written again.
"""

import contextlib

import msgspec

from acklog.wire.batch import BatchCorruptError, BatchHeader, verify
from storage.disk.port import Disk
from storage.log.batch_scanner import CHUNK_BYTES, BatchScanner
from storage.log.batch_search import find_batch_behind
from storage.log.checkpoint import TEMPORARY_SUFFIX, CheckpointDamagedError, read_checkpoint, read_file
from storage.log.index import IndexDamagedError, SegmentIndex
from storage.log.journal_scan import JournalCorruptError
from storage.log.kept_batches import read_kept
from storage.log.keys import LogKey
from storage.log.leader_epochs import LeaderEpochs, leader_epochs_from_bytes
from storage.log.log_directory import sync_names
from storage.log.log_settings import LogSettings
from storage.log.log_state import LogState, cut_segment, find_cut, store_index, sync_segments, write_epochs
from storage.log.moved_aside import move_foreign_files
from storage.log.open_files import OpenFiles
from storage.log.recovery_points import RecoveryPoint
from storage.log.report import CorruptPlace, RecoveryReport, TornTail
from storage.log.segment import INDEX_SUFFIX, SEGMENT_SUFFIX, Segment, segment_base


class LogRecovery:
    """One log during recovery, in its place (else see `MisplacedRecovery`). Everything here runs in an I/O thread:
    `load`, then `replay` for each entry of the journal, then `finish`; nothing may be served from `state` before that.
    """

    def __init__(
        self,
        disk: Disk,
        files: OpenFiles,
        key: LogKey,
        *,
        point: RecoveryPoint,
        settings: LogSettings,
        report: RecoveryReport,
        has_identity: bool,
    ) -> None:
        self._disk = disk
        self._files = files
        self._report = report
        self._directory = key.directory
        self._durable_end = max(point.offset, point.log_start)
        self._durable_segment, self._durable_position = point.segment, point.position
        self._must_scan = False
        self._damage = ""
        self._write_again_from: dict[Segment, int] = {}
        self._last_ms = -1
        self._was_kept = False
        self._is_behind_damage = False
        self._has_identity = has_identity
        self.state = LogState(key, settings, point)

    @property
    def lacks_identity(self) -> bool:
        """Its directory does not say whose it is yet."""
        return self.state.has_files and not self._has_identity

    # --- loading ------------------------------------------------------------------------------------------------

    def load(self) -> None:
        state = self.state
        if state.is_void:
            self._drop_everything()
        bases = self._segments_to_load()
        self._load_epochs()
        expected = state.log_start
        for number, base in enumerate(bases):
            if base < min(expected, self._durable_end):
                state.refused = f"the segment at {base} begins before the previous one ends, at {expected}"
                break
            if base != expected and not self._accept_gap(expected, base):
                self._remove_segments(bases[number:], expected)
                break
            is_last = number + 1 == len(bases)
            segment, is_cut = self._load_segment(base, next_base=None if is_last else bases[number + 1])
            state.segments.append(segment)
            expected = segment.end_offset
            if is_cut:
                self._remove_segments(bases[number + 1 :], expected)
                break
        if expected < self._durable_end:
            self._note_gap(expected, self._durable_end)
            expected = self._durable_end
        if not state.segments or state.active.end_offset != expected or state.active.index is None:
            self._start_segment(expected)
        state.epochs.truncate_to(state.log_end)
        state.epochs.log_end = state.log_end
        state.epochs.remove_before(state.log_start)
        state.last_append_ms = state.latest_append_ms()
        if state.kept_end:
            self._replay_kept()

    def _replay_kept(self) -> None:
        """The log was misplaced for a while. It is still needed if the log is refused for another reason."""
        for batch in read_kept(self._disk, self.state.key):
            self.replay(batch)
        if not self.state.refused:
            self.state.kept_end = 0
            self._was_kept = True

    def _segments_to_load(self) -> list[int]:
        """Base offsets, without the segments that retention had removed when the power failed."""
        names = self._disk.list_directory(self._directory)
        bases = sorted(base for name in names if (base := segment_base(name)) is not None)
        for name in names:
            stem = name.removesuffix(INDEX_SUFFIX)
            if name.endswith(TEMPORARY_SUFFIX) or (stem != name and stem + SEGMENT_SUFFIX not in names):
                self._remove(f"{self._directory}/{name}")
        while bases and bases[0] < self.state.log_start:  # the log start is always where a segment begins
            self._remove_segment(bases.pop(0))
        return bases

    def _drop_everything(self) -> None:
        """The log began anew: what is found is of before, or is in the journal and gets written again."""
        move_foreign_files(self._disk, self.state.key)
        for name in self._disk.list_directory(self._directory):
            base = segment_base(name)
            if base is not None:
                self._remove_segment(base)
        if self._disk.exists(self.state.epochs_path):
            self._remove(self.state.epochs_path)

    def _load_epochs(self) -> None:
        try:
            payload = read_checkpoint(self._disk, self.state.epochs_path)
            if payload is not None:
                self.state.epochs = leader_epochs_from_bytes(payload)
                return
        except (CheckpointDamagedError, msgspec.DecodeError, ValueError):
            pass
        self._must_scan = True
        self.state.epochs = LeaderEpochs()

    def _accept_gap(self, expected: int, base: int) -> bool:
        """Whether to go on at `base` although `expected` should come: only over damage below the recovery point."""
        if base < expected or base > self._durable_end:
            return False
        self._note_gap(expected, base)
        return True

    def _load_segment(self, base: int, *, next_base: int | None) -> tuple[Segment, bool]:
        """The segment, and whether the log ends where its tail was cut. Its index stays in memory if the log may go on
        in it."""
        segment = Segment(self._directory, base)
        with self._files.use(segment.path) as file:
            file_size = file.size()
        interval = self.state.settings.index_interval_bytes
        if not self._must_scan:
            with contextlib.suppress(IndexDamagedError):
                content = read_file(self._disk, segment.index_path) or b""
                index = segment.adopt_index(content, file_size=file_size, interval_bytes=interval)
                if segment.end_offset <= self._durable_end and segment.end_offset == (next_base or segment.end_offset):
                    segment.index = index if next_base is None else None
                    return segment, False
            segment = Segment(self._directory, base)
        self._report.indexes_rebuilt += 1
        is_cut = self._scan_segment(segment, file_size, next_base)
        return segment, is_cut

    def _scan_segment(self, segment: Segment, file_size: int, next_base: int | None) -> bool:
        """Rebuild what is known of the segment; true if the log ends where its tail was cut."""
        self._report.segments_scanned += 1
        segment.index = index = SegmentIndex(self.state.settings.index_interval_bytes)
        durable_end = min(self._durable_end, next_base) if next_base is not None else self._durable_end
        chain_end = self._durable_position if segment.base_offset == self._durable_segment else None
        if chain_end is not None and chain_end > file_size:
            chain_end = None
        position = 0
        while True:
            with self._files.use(segment.path) as file:
                problem, position = self._scan_run(segment, BatchScanner(file, position=position, size=file_size))
                if problem is None:
                    return False
                expected = segment.end_offset
                if expected >= durable_end:
                    file.truncate(position)
                    self._torn(expected, file_size - position, problem)
                    self.state.dirty_segments[segment] = None
                    return next_base is None or expected < next_base  # surplus bytes behind a whole segment end nothing
                found = find_batch_behind(
                    file, position=position, size=file_size, above_offset=expected, chain_end=chain_end
                )
            if found is None or found[1] > durable_end:
                self._damage = problem
                segment.index = None  # nothing may be appended behind the damage
                segment.size_bytes = position
                return False
            position, next_offset = found
            self._note_damage(expected, next_offset, problem)
            self._is_behind_damage = True
            segment.size_bytes = position
            segment.end_offset = next_offset
            index.break_here()

    def _scan_run(self, segment: Segment, scanner: BatchScanner) -> tuple[str | None, int]:
        """Note batches up to the next problem; (problem, its position)."""
        for header, position in scanner:
            if header.base_offset != segment.end_offset:
                return f"the batch has the offset {header.base_offset}, not {segment.end_offset}", position
            if header.append_time_ms < self._last_ms:
                return "the append time falls", position
            if header.leader_epoch < self.state.epochs.epoch_at(header.base_offset):
                return "the leader epoch falls", position
            if header.base_offset >= self._durable_end:
                self._write_again_from.setdefault(segment, position)
            self._note(segment, header)
        return scanner.problem, scanner.position

    def _note(self, segment: Segment, header: BatchHeader) -> None:
        self._report.batches_verified += 1
        self._last_ms = header.append_time_ms
        segment.note(
            base_offset=header.base_offset,
            next_offset=header.next_offset,
            append_ms=header.append_time_ms,
            length=header.length,
            is_keyed=header.is_keyed or self._is_behind_damage,  # what is damaged may have been
        )
        self._is_behind_damage = False
        epochs = self.state.epochs
        if header.base_offset >= self._durable_end:
            self.state.dirty_segments[segment] = None
            if header.leader_epoch != epochs.epoch_at(header.base_offset):
                epochs.truncate_to(header.base_offset)  # the file was ahead of what is left of the log
        if header.leader_epoch > epochs.last_epoch:
            epochs.note(header.leader_epoch, header.base_offset)

    # --- replaying ----------------------------------------------------------------------------------------------

    def replay(self, batches: memoryview) -> None:
        """What one entry of the journal added to this log; raises JournalCorruptError."""
        at = 0
        while at < len(batches) and not self.state.refused:
            try:
                header = verify(batches, at)
            except BatchCorruptError as error:
                raise JournalCorruptError(f"an entry of log {self.state.key} is damaged: {error.reason}") from error
            self._replay_batch(header, batches[at : at + header.length])
            at += header.length

    def _replay_batch(self, header: BatchHeader, data: memoryview) -> None:
        state = self.state
        base = header.base_offset
        if header.next_offset <= self._durable_end:
            return
        if base < state.log_end:
            if self._is_stored(header, data):
                return
            self._cut_at(base)
            if state.refused:
                return
        if base != state.log_end:
            state.refused = f"the log ends at {state.log_end}, but the journal goes on at {base}"
            return
        active = state.active
        with self._files.use(active.path) as file:
            file.write(active.size_bytes, [data])
        self._report.batches_replayed += 1
        state.last_append_ms = header.append_time_ms
        self._note(active, header)
        state.epochs.log_end = header.next_offset

    def _is_stored(self, header: BatchHeader, data: memoryview) -> bool:
        segment = self.state.segments[self.state.segment_at(header.base_offset)]
        index = self._index_of(segment)
        _, position = index.floor(header.base_offset)
        with self._files.use(segment.path) as file:
            for stored, at in BatchScanner(file, position=position, size=segment.size_bytes):
                if stored.base_offset >= header.base_offset:
                    return stored.base_offset == header.base_offset and file.read(at, header.length) == data
        return False

    def _index_of(self, segment: Segment) -> SegmentIndex:
        """Segments beyond the recovery point were scanned, so they have one."""
        assert segment.index is not None, f"{segment} was not scanned"
        return segment.index

    def _cut_at(self, offset: int) -> None:
        """Drop what contradicts the journal: left by an append that never completed."""
        state = self.state
        number = state.segment_at(offset)
        segment = state.segments[number]
        index = self._index_of(segment)
        try:
            position, cut_offset, last_ms = find_cut(self._files, segment, index, offset)
        except BatchCorruptError as error:
            state.refused = f"the journal has other batches from {offset} on, and before it there is damage: {error}"
            return
        later = state.segments[number + 1 :]
        self._torn(cut_offset, segment.size_bytes - position, "the journal has other batches")
        del state.segments[number + 1 :]
        for other in later:
            state.dirty_segments.pop(other, None)
        self._remove_segments([other.base_offset for other in later], cut_offset)
        with self._files.use(segment.path) as file:
            file.truncate(position)
        cut_segment(segment, index, position=position, end_offset=cut_offset, last_append_ms=last_ms)
        state.dirty_segments[segment] = None
        state.epochs.truncate_to(cut_offset)

    # --- finishing ----------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Make durable whatever was read or written beyond the recovery point: after a killed process it may be in
        the page cache only, and a position is reported from now on.

        What was read is written again first: if the last process ended because a sync had failed, the kernel may
        hold those pages as clean, and syncing them would do nothing.

        What is gone has to stay so, too. A process that was killed while it took an append back, or cut the log, has
        left a shorter last segment and fewer names, of which nothing shows whether they were synced; else a power loss
        would bring back, behind the end that is reported, what nobody was told of. An orderly stop leaves no doubt.
        """
        state = self.state
        segments = list(state.dirty_segments)
        for segment in segments:
            self._write_again(segment)
        if (not self._report.was_clean or self._was_kept) and state.active not in state.dirty_segments:
            segments.append(state.active)
        state.has_files = bool(state.log_end)
        # A segment that the recovery point does not name may be an empty one that nobody has synced the name of.
        has_new_segment = state.has_files and state.active.base_offset != self._durable_segment
        if segments or state.names_are_dirty or has_new_segment:
            sync_segments(self._files, segments)
            sync_names(self._disk, self._directory)
        if state.epochs.is_dirty:
            write_epochs(self._disk, state.epochs_path, state.epochs.to_bytes())
            state.epochs.is_dirty = False
        for segment in state.segments[:-1]:
            store_index(self._disk, segment)
        state.dirty_segments.clear()
        state.names_are_dirty = not state.has_files
        if state.log_end >= state.recovery_point:
            state.cover(state.end_place)
        if state.refused:
            self._report.refused[state.key] = state.refused

    def _write_again(self, segment: Segment) -> None:
        position = self._write_again_from.get(segment, segment.size_bytes)
        with self._files.use(segment.path) as file:
            while position < segment.size_bytes:
                chunk = file.read(position, min(CHUNK_BYTES, segment.size_bytes - position))
                file.write(position, [chunk])
                position += len(chunk)

    # --- pieces -------------------------------------------------------------------------------------------------

    def _start_segment(self, base: int) -> None:
        segment = Segment(self._directory, base)
        self._files.create(segment.path)
        self.state.add_segment(segment)
        self.state.dirty_segments[segment] = None

    def _remove_segments(self, bases: list[int], offset: int) -> None:
        """Segments beyond the recovery point that nothing leads up to."""
        for base in reversed(bases):
            with self._files.use(Segment(self._directory, base).path) as file:
                size = file.size()
            self._torn(offset, size, "nothing leads up to the segment")
            self._remove_segment(base)

    def _remove_segment(self, base: int) -> None:
        segment = Segment(self._directory, base)
        self._files.forget(segment.path)
        if self._disk.exists(segment.index_path):
            self._remove(segment.index_path)
        self._remove(segment.path)

    def _remove(self, path: str) -> None:
        self._disk.remove(path)
        self.state.names_are_dirty = True

    def _torn(self, offset: int, size_bytes: int, reason: str) -> None:
        if size_bytes:
            self._report.torn_tails.append(TornTail(self.state.key, offset, size_bytes, reason))

    def _note_gap(self, offset: int, next_offset: int) -> None:
        self._note_damage(offset, next_offset, self._damage or "durable batches are missing")
        self._damage = ""

    def _note_damage(self, offset: int, next_offset: int, reason: str) -> None:
        self._report.corrupt_places.append(CorruptPlace(self.state.key, offset, next_offset, reason))
        self.state.damage = reason
