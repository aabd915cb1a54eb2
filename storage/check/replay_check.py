"""Replay the journal over what the segments hold, in the mind only: what a start would write again, cut or refuse.

Mirrors `storage.log.recovery`: entries of a log go behind its end; those it has already are passed over; where it has
others, it is cut, because the journal is the authority beyond the recovery point.
"""

from acklog.wire.batch import BatchCorruptError, BatchHeader, verify
from storage.check.figures import JournalFigures, LogFigures
from storage.check.findings import FindingKind, Findings
from storage.disk.port import Disk
from storage.log.journal_names import journal_path
from storage.log.journal_scan import FramePlace, JournalCorruptError, read_frame
from storage.log.keys import parse_key
from storage.log.log_table import LogKind
from storage.log.recovery_points import RecoveryPoint, RecoveryPoints

_NO_POINT = RecoveryPoint()


class ReplayCheck:
    """Brings the figures of each log up to date."""

    def __init__(
        self,
        disk: Disk,
        logs: dict[str, LogFigures],
        points: RecoveryPoints,
        *,
        findings: Findings,
        figures: JournalFigures,
    ) -> None:
        self._disk = disk
        self._logs = logs
        self._points = points
        self._findings = findings
        self._figures = figures
        self._unplaced: dict[str, None] = {}

    def replay(self, place: FramePlace, journal_key: int) -> None:
        try:
            entries = read_frame(self._disk, place, journal_key)
        except (JournalCorruptError, OSError) as error:
            self._findings.add(FindingKind.JOURNAL_DAMAGED, journal_path(place.number), str(error))
            return
        for key, batches in entries:
            self._figures.entries += 1
            floor = max(self._points.logs.get(key, _NO_POINT).journal_floor, self._points.removed.get(key, 0))
            if place.sequence <= floor:
                continue
            if key in self._points.removed:
                self._refuse(key, place, "the log was removed before")
                continue
            log = self._logs.get(key)
            if log is None:  # all it has is in the journal, so that it needs no files yet
                log = self._logs[key] = LogFigures(parse_key(key))
            self._replay_entry(log, place, batches)

    def _replay_entry(self, log: LogFigures, place: FramePlace, batches: memoryview) -> None:
        at = 0
        while at < len(batches) and not log.is_refused:
            try:
                header = verify(batches, at)
            except BatchCorruptError as error:
                detail = f"frame {place.sequence}, log {log.key}: {error.reason}"
                path = journal_path(place.number)
                self._findings.add(FindingKind.JOURNAL_DAMAGED, path, detail, topic_id=log.key.topic_id)
                return
            self._replay_batch(log, place, header)
            at += header.length

    def _replay_batch(self, log: LogFigures, place: FramePlace, header: BatchHeader) -> None:
        base = header.base_offset
        if header.next_offset <= log.durable_end:
            return
        if base < log.end_offset:
            if log.tail.has(header):
                return
            log.batches -= log.tail.cut(base)
            log.messages -= log.end_offset - base
            log.end_offset = log.stored_end = base
        if base != log.end_offset:
            log.is_refused = True
            self._refuse(str(log.key), place, f"the log ends at {log.end_offset}, the journal goes on at {base}")
            return
        log.end_offset = header.next_offset
        log.tail.add(header)
        log.last_epoch = max(log.last_epoch, header.leader_epoch)
        log.batches += 1
        log.messages += header.count
        log.size_bytes += header.length
        self._figures.batches += 1
        self._figures.size_bytes += header.length
        if log.key.kind == LogKind.MESSAGES:
            self._figures.messages += header.count
        if not log.replayed or log.replayed[-1] != place:
            log.replayed.append(place)

    def _refuse(self, key: str, place: FramePlace, reason: str) -> None:
        """Once per log: every later entry fits as little."""
        if key in self._unplaced:
            return
        self._unplaced[key] = None
        path = journal_path(place.number)
        detail = f"frame {place.sequence}, log {key}: {reason}"
        self._findings.add(FindingKind.JOURNAL_UNPLACED, path, detail, topic_id=key.partition("-")[0])
