"""What happens in an I/O thread while a log store is opened: one function per step, in the order of their use."""

from collections.abc import Callable
from typing import NamedTuple

from storage.disk.port import Disk
from storage.log.journal import JournalFile, create_journal_file
from storage.log.journal_files import found_files, record_files
from storage.log.journal_names import JOURNAL_DIRECTORY, journal_path
from storage.log.journal_reach import JournalReach, make_reach, noted_sequence
from storage.log.journal_scan import FramePlace, JournalCorruptError, read_frame
from storage.log.kept_batches import kept_problem
from storage.log.keys import PARTITIONS_DIRECTORY, LogKey, parse_key, parse_partition_directory
from storage.log.log_directory import has_segments, make_log_directory
from storage.log.log_identity import FoundIdentity, find_identity
from storage.log.log_settings import LogSettings
from storage.log.log_table import LOGS
from storage.log.misplaced_recovery import MisplacedRecovery
from storage.log.open_files import OpenFiles
from storage.log.recovery import LogRecovery
from storage.log.recovery_points import RecoveryPoint, RecoveryPoints
from storage.log.report import RecoveryReport

Recovery = LogRecovery | MisplacedRecovery


class FoundLogs(NamedTuple):
    """`present` are logs to recover; `removed` are leftovers of logs whose removal was decided."""

    present: list[LogKey]
    removed: list[LogKey]


def find_logs(disk: Disk, points: RecoveryPoints) -> FoundLogs:
    """A log is there if its directory holds a segment, or if a checkpoint says that something durable was in one: then
    it has lost everything, which recovery reports. Any other has its content in the journal, or never had any
    (`storage.log.log_directory`)."""
    present: list[LogKey] = []
    removed: list[LogKey] = []
    for name in disk.list_directory(PARTITIONS_DIRECTORY):
        partition = parse_partition_directory(name)
        if partition is None:
            continue
        for kind in LOGS:
            key = LogKey(*partition, kind)
            if str(key) in points.removed:
                removed.append(key)
            elif has_segments(disk, key):
                present.append(key)
    known = set(present)
    for text, point in points.logs.items():
        key = parse_key(text)
        if key not in known and point.names_segments:
            make_log_directory(disk, key)
            present.append(key)
    return FoundLogs(sorted(present), removed)


def begin_recovery(
    disk: Disk, files: OpenFiles, key: LogKey, *, point: RecoveryPoint, settings: LogSettings, report: RecoveryReport
) -> Recovery:
    """A log that is in its place is loaded. One that began anew knows nobody else's files: they are moved aside."""
    identity = find_identity(disk, key)
    if point.is_void:
        identity = FoundIdentity("", is_own=False)
    problem = identity.problem
    if not problem and point.kept_end:
        problem = kept_problem(disk, key, end=point.kept_end)
    if problem:
        return MisplacedRecovery(disk, key, problem=problem, point=point, settings=settings, report=report)
    recovery = LogRecovery(
        disk, files, key, point=point, settings=settings, report=report, has_identity=identity.is_own
    )
    recovery.load()
    return recovery


def replay_frame(
    disk: Disk,
    place: FramePlace,
    recoveries: dict[str, Recovery],
    *,
    begin: Callable[[LogKey], Recovery],
    points: RecoveryPoints,
    journal_key: int,
    report: RecoveryReport,
) -> None:
    """Apply one frame. A log that has no files is added with `begin`: no checkpoint covers anything of it, so that all
    it had is in the journal, and entries that do not begin where it does are refused like those of any other."""
    report.journal_frames += 1
    for key, batches in read_frame(disk, place, journal_key):
        report.journal_entries += 1
        point = points.logs.get(key, _NO_POINT)
        if place.sequence <= max(point.journal_floor, points.removed.get(key, 0)):
            continue
        if key in points.removed:
            raise JournalCorruptError(f"the journal has batches of log {key} from after it was removed")
        recovery = recoveries.get(key)
        if recovery is None:
            make_log_directory(disk, parse_key(key))
            recovery = recoveries[key] = begin(parse_key(key))
        recovery.replay(batches)


_NO_POINT = RecoveryPoint()


def begin_evidence(disk: Disk, *, journal_key: int, life: int) -> JournalReach:
    """What the next start holds the journal to (`journal_evidence`), durable before recovery points count on it.

    Until the first frame the reach is what it was. The last frame that this start has read may never have been synced:
    if the last process ended because its sync had failed, the kernel may hold it as clean, and no sync would write it.
    (Its batches are in the segments by now, for sure.)
    """
    if not disk.exists(JOURNAL_DIRECTORY):  # after an orderly stop nothing of it is needed
        disk.make_directory(JOURNAL_DIRECTORY)
        disk.sync_directory("")
    found = found_files(disk)
    for number in found:  # one may have been made by a process that was killed before it synced it
        file = disk.open(journal_path(number))
        file.sync()
        file.close()
    disk.sync_directory(JOURNAL_DIRECTORY)
    record_files(disk, found)
    return make_reach(disk, journal_key=journal_key, sequence=noted_sequence(disk, journal_key), life=life)


def take_journal_files(disk: Disk, *, file_bytes: int, files_kept: int) -> list[JournalFile]:
    """The journal's files, none of which is needed any more, as spares; at least two. Others are removed."""
    found = found_files(disk)
    fitting = [number for number, size in sorted(found.items()) if size == file_bytes]
    kept = fitting[:files_kept]
    record_files(disk, dict.fromkeys(kept, file_bytes))
    for number in sorted(found.keys() - set(kept)):
        disk.remove(journal_path(number))
    spares = [JournalFile(number, disk.open(journal_path(number))) for number in kept]
    next_number = max(found, default=-1) + 1
    while len(spares) < 2:
        spares.append(create_journal_file(disk, next_number, file_bytes))
        next_number += 1
    record_files(disk, {spare.number: file_bytes for spare in spares})
    disk.sync_directory(JOURNAL_DIRECTORY)
    return spares
