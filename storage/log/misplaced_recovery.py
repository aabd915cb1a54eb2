"""A log during recovery whose directory is not its own, or may not be: nothing there is read, changed, or built upon.

It is refused for as long as that is so, and not longer. What the journal has of it is kept: it was acknowledged, may be
nowhere else, and the journal itself is soon used again.
"""

from storage.disk.port import Disk
from storage.log.kept_batches import KeptBatches
from storage.log.keys import LogKey
from storage.log.log_settings import LogSettings
from storage.log.log_state import LogState
from storage.log.recovery_points import RecoveryPoint
from storage.log.report import RecoveryReport
from storage.log.segment import Segment


class MisplacedRecovery:
    """Used as a `LogRecovery` that is loaded. `problem` is why the log is refused."""

    lacks_identity = False

    def __init__(
        self,
        disk: Disk,
        key: LogKey,
        *,
        problem: str,
        point: RecoveryPoint,
        settings: LogSettings,
        report: RecoveryReport,
    ) -> None:
        self._report = report
        self._durable_end = max(point.offset, point.log_start)
        self._kept = KeptBatches(disk, key)
        self.state = state = LogState(key, settings, point)
        state.refused, state.is_misplaced, state.has_files = problem, True, True
        segment = Segment(key.directory, self._durable_end)
        state.segments.append(segment)
        state.epochs.log_end = segment.end_offset

    def replay(self, batches: memoryview) -> None:
        """What one entry of the journal added to this log; raises JournalCorruptError."""
        if not self.state.earlier_refusal:
            self._kept.add(batches, above=self._durable_end)

    def finish(self) -> None:
        """The recovery points that say so make the file count: until they are written, the journal has all of it."""
        self._kept.finish()
        self.state.kept_end = self._kept.end or self.state.kept_end
        self._report.refused[self.state.key] = self.state.refused
