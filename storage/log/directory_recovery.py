"""What a start finds in a data directory, and makes of it: every log loaded, verified, and the journal replayed."""

from dataclasses import dataclass
from functools import partial

from storage.log.checkpoint import CheckpointDamagedError, parent_of
from storage.log.data_directory import DirectoryMeta
from storage.log.engine import Engine
from storage.log.journal_evidence import find_losses
from storage.log.journal_scan import JournalCorruptError, scan_journal
from storage.log.keys import LogKey
from storage.log.log_directory import remove_log_directory
from storage.log.log_state import LogState
from storage.log.opening import Recovery, begin_recovery, find_logs, replay_frame
from storage.log.recovery_points import RECOVERY_POINTS_PATH, RecoveryPoint, RecoveryPoints, read_recovery_points
from storage.log.report import RecoveryReport


@dataclass(frozen=True, slots=True)
class Recovered:
    """`sequence` is of the journal's last frame, `life` which start of the directory this is; the directories of
    `unnamed` do not say whose they are."""

    states: dict[LogKey, LogState]
    report: RecoveryReport
    sequence: int = 0
    life: int = 0
    unnamed: tuple[LogState, ...] = ()


async def recover_directory(engine: Engine, meta: DirectoryMeta) -> Recovered:
    """Where the journal or the recovery points are damaged, the engine has failed, and nothing is changed or found.
    Raises DiskRefusedError."""
    report = RecoveryReport()
    try:
        return await DirectoryRecovery(engine, meta, report).run()
    except (CheckpointDamagedError, JournalCorruptError) as error:
        engine.fail(str(error))
        return Recovered({}, report)


class DirectoryRecovery:
    """Of one start; `run` it once."""

    def __init__(self, engine: Engine, meta: DirectoryMeta, report: RecoveryReport) -> None:
        self._engine = engine
        self._meta = meta
        self._report = report

    async def run(self) -> Recovered:
        """Raises CheckpointDamagedError, JournalCorruptError, DiskRefusedError."""
        disk, io, key = self._engine.disk, self._engine.io, self._meta.journal_key
        # Files are removed for what it says, and the process before may have ended between its rename and the sync.
        await io.run(partial(disk.sync_directory, parent_of(RECOVERY_POINTS_PATH)))
        points = await io.run(partial(read_recovery_points, disk))
        scan = await io.run(partial(scan_journal, disk, journal_key=key, covered_sequence=points.covered_sequence))
        losses = await io.run(partial(find_losses, disk, journal_key=key, points=points, scan=scan))
        if losses:
            raise JournalCorruptError("; ".join(f"{loss.path}: {loss.text}" for loss in losses))
        found = await io.run(partial(find_logs, disk, points))
        self._report.was_clean = points.is_clean
        recoveries: dict[str, Recovery] = {}
        begin = partial(self._begin, points=points)
        for log_key in found.present:
            recoveries[str(log_key)] = await io.run(partial(begin, log_key))
        replay = partial(
            replay_frame,
            disk,
            recoveries=recoveries,
            begin=begin,
            points=points,
            journal_key=key,
            report=self._report,
        )
        for place in scan.frames:
            await io.run(partial(replay, place))
        for log_key in found.removed:
            await io.run(partial(remove_log_directory, disk, log_key, has_sibling=False))
        for recovery in recoveries.values():
            await io.run(recovery.finish)
        self._report.logs = len(recoveries)
        states = {recovery.state.key: recovery.state for recovery in recoveries.values()}
        unnamed = tuple(recovery.state for recovery in recoveries.values() if recovery.lacks_identity)
        return Recovered(states, self._report, scan.last_sequence, points.journal_life + 1, unnamed)

    def _begin(self, key: LogKey, points: RecoveryPoints) -> Recovery:
        return begin_recovery(
            self._engine.disk,
            self._engine.files,
            key,
            point=points.logs.get(str(key)) or RecoveryPoint(),
            settings=self._engine.settings.recovery_log,
            report=self._report,
        )
