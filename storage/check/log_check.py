"""Read every segment of one log and verify every batch, as a recovery would that trusts no index.

What the recovery points call durable has to be there; what lies beyond them may be torn, and the journal decides about
it (`replay_check`). Memory: one chunk of a file or one batch, one index, and 16 bytes per batch beyond the points.
"""

from collections.abc import Callable

from acklog.wire.batch import BatchHeader
from storage.check.epoch_check import EpochCheck
from storage.check.figures import LogFigures
from storage.check.findings import FindingKind, Findings
from storage.check.identity_check import check_identity
from storage.check.index_check import IndexCheck
from storage.check.record_check import RecordCheck
from storage.delivery.partition_delivery import log_of_snapshot
from storage.disk.port import Disk, File
from storage.log.batch_scanner import BatchScanner
from storage.log.batch_search import find_batch_behind
from storage.log.checkpoint import TEMPORARY_SUFFIX, CheckpointDamagedError, read_checkpoint
from storage.log.index import SegmentIndex
from storage.log.keys import LogKey
from storage.log.log_identity import IDENTITY_NAME
from storage.log.log_state import COMPACTED_NAME, LEADER_EPOCHS_NAME
from storage.log.log_table import LOGS, LogKind, own_directories
from storage.log.recovery_points import RecoveryPoint
from storage.log.segment import INDEX_SUFFIX, SEGMENT_SUFFIX, Segment, segment_base

SNAPSHOT_NAME = "snapshot"
KEPT_SNAPSHOT_PREFIX = f"{SNAPSHOT_NAME}.damaged-"
_SNAPSHOT_OFFSET_BYTES = 8
_NO_ROWS_BYTES = 1 << 62
_OF_SCHEDULE = {
    FindingKind.BATCH_DAMAGED: FindingKind.SCHEDULE_DAMAGED,
    FindingKind.BATCHES_MISSING: FindingKind.SCHEDULE_MISSING,
    FindingKind.LOG_MISSING: FindingKind.SCHEDULE_MISSING,
}


class LogCheck:
    """`is_clean`: the server stopped in order, so nothing may lie beyond the recovery point. `advanced` is told the
    bytes that were read. `records`: also decode every message."""

    def __init__(
        self,
        disk: Disk,
        key: LogKey,
        point: RecoveryPoint,
        *,
        findings: Findings,
        is_clean: bool = False,
        records: RecordCheck | None = None,
        advanced: Callable[[int], None] = lambda _count: None,
    ) -> None:
        self._disk = disk
        self._key = key
        self._spec = LOGS[key.kind]
        self._point = point
        self._findings = findings
        self._is_clean = is_clean
        self._records = records
        self._advanced = advanced
        self._last_ms = -1
        self._needed_from = self._snapshot_offset() if self._spec.has_state else 0
        self.figures = LogFigures(key, log_start=point.log_start, durable_end=max(point.offset, point.log_start))
        self._epochs = EpochCheck(
            disk,
            key,
            durable_end=self.figures.durable_end,
            has_durable=point.offset > point.log_start,
            findings=findings,
        )

    def run(self) -> LogFigures:
        figures = self.figures
        names = self._disk.list_directory(self._key.directory)
        bases = self._bases(names)
        self._look_at_names(names)
        check_identity(self._disk, self._key, self._point, self._findings)
        if self._point.refused:
            figures.is_refused = True
            self._add(FindingKind.LOG_REFUSED, self._key.directory, self._point.refused)
        self._epochs.read()
        end = self._check_segments(bases)
        if end < figures.durable_end:
            if bases:
                self._damaged(FindingKind.BATCHES_MISSING, self._key.directory, end, figures.durable_end, "no segment")
            else:
                detail = f"offsets {end} to {figures.durable_end - 1} were durable"
                figures.damage.append((end, figures.durable_end))
                is_passed = figures.durable_end <= self._needed_from
                kind = FindingKind.DELIVERY_DAMAGE_PASSED if is_passed else FindingKind.LOG_MISSING
                self._add(kind, self._key.directory, detail)
            end = figures.durable_end
        figures.stored_end = figures.end_offset = end
        return figures

    def _snapshot_offset(self) -> int:
        """What is below it no start reads; 0 where it cannot be told, which the check of the snapshot says."""
        try:
            payload = read_checkpoint(self._disk, f"{self._key.directory}/{SNAPSHOT_NAME}")
        except (CheckpointDamagedError, OSError):
            return 0
        if payload is None or log_of_snapshot(payload[_SNAPSHOT_OFFSET_BYTES:]) not in {"", str(self._key)}:
            return 0
        return int.from_bytes(payload[:_SNAPSHOT_OFFSET_BYTES], "big")

    # --- names -------------------------------------------------------------------------------------------------------

    def _bases(self, names: list[str]) -> list[int]:
        bases = sorted(base for name in names if (base := segment_base(name)) is not None)
        while bases and (self._point.is_void or bases[0] < self._point.log_start):
            path = Segment(self._key.directory, bases.pop(0)).path
            self._add(FindingKind.SEGMENT_LEFT_OVER, path, f"the log begins at {self._point.log_start}")
        return bases

    def _look_at_names(self, names: list[str]) -> None:
        known = {LEADER_EPOCHS_NAME, COMPACTED_NAME, IDENTITY_NAME}
        if self._key.directory == self._key.partition_directory:
            known |= own_directories()
        if self._spec.has_state:
            known.add(SNAPSHOT_NAME)
        for name in names:
            path = f"{self._key.directory}/{name}"
            stem = name.removesuffix(INDEX_SUFFIX)
            if name in known or segment_base(name) is not None:
                continue
            if name.endswith(TEMPORARY_SUFFIX):
                self._add(FindingKind.FILE_TEMPORARY, path, "the next start removes it")
            elif self._spec.has_state and name.startswith(KEPT_SNAPSHOT_PREFIX):
                self._add(FindingKind.FILE_KEPT, path, "acklog fsck --repair put it aside")
            elif stem == name or segment_base(stem + SEGMENT_SUFFIX) is None:
                self._add(FindingKind.FILE_UNKNOWN, path, "a log has no such file")
            elif stem + SEGMENT_SUFFIX not in names:
                self._add(FindingKind.SEGMENT_LEFT_OVER, path, "an index without its segment")

    # --- segments ----------------------------------------------------------------------------------------------------

    def _check_segments(self, bases: list[int]) -> int:
        """Where the log ends as far as its segments say."""
        figures = self.figures
        expected = figures.log_start
        for number, base in enumerate(bases):
            segment = Segment(self._key.directory, base)
            if base < min(expected, figures.durable_end):
                figures.is_refused = True
                detail = f"it begins at {base}, the segment before it ends at {expected}"
                self._add(FindingKind.SEGMENTS_OVERLAP, segment.path, detail)
                break
            if expected < base <= figures.durable_end:
                self._damaged(FindingKind.BATCHES_MISSING, segment.path, expected, base, "the segment before is short")
            elif base != expected:
                self._torn(segment.path, f"nothing leads up from offset {expected} to this segment")
                break
            next_base = bases[number + 1] if number + 1 < len(bases) else None
            is_whole = self._check_segment(segment, next_base)
            expected = segment.end_offset
            figures.segments += 1
            if not is_whole and next_base is not None and expected >= figures.durable_end:
                for later in bases[number + 1 :]:
                    self._torn(Segment(self._key.directory, later).path, "nothing leads up to the segment")
                break
        return expected

    def _check_segment(self, segment: Segment, next_base: int | None) -> bool:
        """Leaves in `segment` where it ends; False if its tail is torn or cannot be read."""
        try:
            file = self._disk.open(segment.path)
        except OSError as error:
            return self._unreadable(segment, next_base, error)
        try:
            return self._scan(file, segment, next_base)
        except OSError as error:
            return self._unreadable(segment, next_base, error)
        finally:
            file.close()

    def _unreadable(self, segment: Segment, next_base: int | None, error: OSError) -> bool:
        self._add(FindingKind.FILE_UNREADABLE, segment.path, str(error))
        end = self.figures.durable_end if next_base is None else next_base
        if end > segment.end_offset:
            self.figures.damage.append((segment.end_offset, end))
            segment.end_offset = end
        return False

    def _scan(self, file: File, segment: Segment, next_base: int | None) -> bool:
        figures = self.figures
        size = file.size()
        segment.index = SegmentIndex(_NO_ROWS_BYTES)  # `note` wants one; it never gets a second row
        index = IndexCheck(
            self._disk, self._key, segment, file_size=size, is_clean=self._is_clean, findings=self._findings
        )
        durable_end = figures.durable_end if next_base is None else min(figures.durable_end, next_base)
        position, is_sound = 0, True
        while True:
            index.begin_run(position)
            scanner = BatchScanner(file, position=position, size=size)
            problem, position = self._scan_run(file, segment, scanner, index)
            if problem is None:
                if is_sound:
                    self._finish_index(index, segment, next_base)
                return True
            is_sound = False
            expected = segment.end_offset
            if expected >= durable_end:
                self._surplus(segment, position, size - position, problem, is_closed=durable_end == next_base)
                return False
            chain_end = self._point.position if segment.base_offset == self._point.segment else None
            if chain_end is not None and chain_end > size:
                chain_end = None
            found = find_batch_behind(file, position=position, size=size, above_offset=expected, chain_end=chain_end)
            if found is None or found[1] > durable_end:
                self._damaged(FindingKind.BATCH_DAMAGED, segment.path, expected, durable_end, problem, position)
                segment.end_offset = durable_end
                return False
            self._damaged(FindingKind.BATCH_DAMAGED, segment.path, expected, found[1], problem, position)
            position, segment.end_offset = found

    def _scan_run(
        self, file: File, segment: Segment, scanner: BatchScanner, index: IndexCheck
    ) -> tuple[str | None, int]:
        """Take in batches up to the next problem; (problem, its position)."""
        figures = self.figures
        start = scanner.position
        for header, position in scanner:
            problem = self._misplaced(header, segment)
            if problem is not None:
                self._advanced(position - start)
                return problem, position
            self._take_in(header, position, segment, index)
            if self._records is not None:
                fault = self._records.fault(file.read(position, header.length), header)
                if fault is not None:
                    detail = f"the batch at byte {position}, offsets from {header.base_offset}: {fault}"
                    self._add(FindingKind.RECORDS_UNREADABLE, segment.path, detail)
            figures.last_epoch = header.leader_epoch
        self._advanced(scanner.position - start)
        return scanner.problem, scanner.position

    def _misplaced(self, header: BatchHeader, segment: Segment) -> str | None:
        if header.base_offset != segment.end_offset:
            return f"the batch has the offset {header.base_offset}, not {segment.end_offset}"
        if header.append_time_ms < self._last_ms:
            return f"the append time falls from {self._last_ms} to {header.append_time_ms}"
        if header.leader_epoch < self.figures.last_epoch:
            return f"the leader epoch falls from {self.figures.last_epoch} to {header.leader_epoch}"
        return None

    def _take_in(self, header: BatchHeader, position: int, segment: Segment, index: IndexCheck) -> None:
        figures = self.figures
        figures.batches += 1
        figures.messages += header.count
        figures.size_bytes += header.length
        self._last_ms = header.append_time_ms
        segment.note(
            base_offset=header.base_offset,
            next_offset=header.next_offset,
            append_ms=header.append_time_ms,
            length=header.length,
            is_keyed=header.is_keyed,
        )
        index.batch(header, position)
        self._epochs.batch(header)
        if header.base_offset >= figures.durable_end:
            figures.tail.add(header)

    def _finish_index(self, index: IndexCheck, segment: Segment, next_base: int | None) -> None:
        is_expected = next_base is not None or self._is_clean
        if index.is_missing or index.is_stale:
            if is_expected and segment.size_bytes:
                kind = FindingKind.INDEX_MISSING if index.is_missing else FindingKind.INDEX_STALE
                self._add(kind, segment.index_path, f"the segment has {segment.size_bytes} bytes")
            return
        index.finish(segment)

    # --- findings ----------------------------------------------------------------------------------------------------

    def _surplus(self, segment: Segment, position: int, size_bytes: int, problem: str, *, is_closed: bool) -> None:
        detail = f"{size_bytes} bytes from byte {position} on: {problem}"
        if is_closed:
            self._add(FindingKind.SEGMENT_SURPLUS, segment.path, detail)
        else:
            self._torn(segment.path, detail)

    def _torn(self, path: str, detail: str) -> None:
        self._add(FindingKind.TAIL_UNEXPLAINED if self._is_clean else FindingKind.TAIL_TORN, path, detail)

    def _damaged(
        self, kind: FindingKind, path: str, offset: int, next_offset: int, reason: str, position: int | None = None
    ) -> None:
        self.figures.damage.append((offset, next_offset))
        if next_offset <= self._needed_from:
            kind = FindingKind.DELIVERY_DAMAGE_PASSED
        place = "" if position is None else f" (from byte {position})"
        self._add(kind, path, f"offsets {offset} to {next_offset - 1}{place}: {reason}")

    def _add(self, kind: FindingKind, path: str, detail: str) -> None:
        if self._key.kind == LogKind.SCHEDULE:
            kind = _OF_SCHEDULE.get(kind, kind)
        self._findings.add(kind, path, detail, topic_id=self._key.topic_id)
