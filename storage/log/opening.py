"""What happens in an I/O thread while a log store is opened: one function per step, in the order of their use."""

from typing import NamedTuple

from storage.disk.port import Disk
from storage.log.journal import JournalFile, create_journal_file
from storage.log.journal_files import found_files, record_files
from storage.log.journal_names import JOURNAL_DIRECTORY, journal_path
from storage.log.journal_reach import JournalReach, make_reach
from storage.log.journal_scan import FramePlace, JournalCorruptError, read_frame
from storage.log.keys import (
    DELIVERY_DIRECTORY,
    PARTITIONS_DIRECTORY,
    LogKey,
    LogKind,
    parse_key,
    parse_partition_directory,
)
from storage.log.recovery import LogRecovery
from storage.log.recovery_points import RecoveryPoint, RecoveryPoints
from storage.log.report import RecoveryReport
from storage.log.segment import segment_base


class FoundLogs(NamedTuple):
    """`present` are logs to recover; `removed` are leftovers of logs whose removal was decided."""

    present: list[LogKey]
    removed: list[LogKey]


def find_logs(disk: Disk, points: RecoveryPoints) -> FoundLogs:
    """A log is there if its directory holds a segment, or if a checkpoint says that it had one: then it has lost
    everything, which recovery reports."""
    present: list[LogKey] = []
    removed: list[LogKey] = []
    for name in disk.list_directory(PARTITIONS_DIRECTORY):
        partition = parse_partition_directory(name)
        if partition is None:
            continue
        for kind in LogKind:
            key = LogKey(*partition, kind)
            if str(key) in points.removed:
                removed.append(key)
            elif has_segments(disk, key):
                present.append(key)
    known = set(present)
    for text, point in points.logs.items():
        key = parse_key(text)
        if key not in known and (point.offset or point.refused or point.is_void):
            make_log_directory(disk, key)
            present.append(key)
    return FoundLogs(sorted(present), removed)


def has_segments(disk: Disk, key: LogKey) -> bool:
    return disk.exists(key.directory) and any(
        segment_base(name) is not None for name in disk.list_directory(key.directory)
    )


def make_log_directory(disk: Disk, key: LogKey) -> None:
    """The directory and every name on the way to it are durable on return."""
    disk.make_directory(key.directory)
    path = key.directory
    while path != PARTITIONS_DIRECTORY:
        path = path.rpartition("/")[0]
        disk.sync_directory(path)


def remove_log_directory(disk: Disk, key: LogKey) -> None:
    """Remove a log's files, and the directories that are empty then. Durable on return."""
    path = key.directory
    if not disk.exists(path):
        return
    names = disk.list_directory(path)
    for name in names:
        if name != DELIVERY_DIRECTORY:
            disk.remove(f"{path}/{name}")
    disk.sync_directory(path)
    while path != PARTITIONS_DIRECTORY and not disk.list_directory(path):
        disk.remove_directory(path)
        path = path.rpartition("/")[0]
        disk.sync_directory(path)


def replay_frame(
    disk: Disk,
    place: FramePlace,
    recoveries: dict[str, LogRecovery],
    *,
    points: RecoveryPoints,
    journal_key: int,
    report: RecoveryReport,
) -> None:
    """Apply one frame; raises JournalCorruptError for an entry of a log that is gone without having been removed."""
    report.journal_frames += 1
    for key, batches in read_frame(disk, place, journal_key):
        report.journal_entries += 1
        point = points.logs.get(key, _NO_POINT)
        if place.sequence <= max(point.journal_floor, points.removed.get(key, 0)):
            continue
        recovery = recoveries.get(key)
        if recovery is None:
            raise JournalCorruptError(f"the journal has batches of log {key}, whose directory is missing")
        recovery.replay(batches)


_NO_POINT = RecoveryPoint()


def begin_evidence(disk: Disk, *, journal_key: int, sequence: int) -> JournalReach:
    """What the next start holds the journal to (`journal_evidence`), durable before recovery points count on it."""
    if not disk.exists(JOURNAL_DIRECTORY):  # after an orderly stop nothing of it is needed
        disk.make_directory(JOURNAL_DIRECTORY)
        disk.sync_directory("")
    record_files(disk, found_files(disk))
    return make_reach(disk, journal_key=journal_key, sequence=sequence)


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
