"""The newest leader epoch of each partition that a data directory holds: whoever leads it next must be above that, and
a coordination file that knows less is not the one that belongs to the directory."""

import contextlib
from collections.abc import Iterator

import msgspec

from acklog.wire.batch import BatchCorruptError, verify
from storage.disk.port import Disk
from storage.log.batch_scanner import BatchScanner
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint
from storage.log.data_directory import DataDirectoryError, read_meta
from storage.log.journal_scan import JournalCorruptError, read_frame, scan_journal
from storage.log.keys import PARTITIONS_DIRECTORY, LogKey, parse_key, parse_partition_directory
from storage.log.leader_epochs import leader_epochs_from_bytes
from storage.log.log_directory import has_segments
from storage.log.log_state import LEADER_EPOCHS_NAME
from storage.log.log_table import LOGS
from storage.log.recovery_points import read_recovery_points
from storage.log.segment import Segment, segment_base

Place = tuple[str, int]


def noted_epochs(disk: Disk) -> dict[Place, int]:
    """As `newest_epochs`, as far as it is needed to know what was acknowledged: segments are read only where nothing
    else tells. What cannot be read says nothing."""
    epochs = dict.fromkeys(_in_recovery_points(disk), 0)
    with contextlib.suppress(OSError):
        for key in _stored_logs(disk):
            _raise(epochs, key, 0)
            with contextlib.suppress(OSError):
                noted = _noted(disk, key)
                _raise(epochs, key, _newest_in_last_segment(disk, key) if noted is None else noted)
    with contextlib.suppress(OSError):
        for key, epoch in _in_journal(disk):
            _raise(epochs, key, epoch)
    return epochs


def newest_epochs(disk: Disk) -> dict[Place, int]:
    """By (topic id, partition); 0 where nothing says so. Raises OSError.

    A partition that is empty has no files; the recovery points name it all the same."""
    epochs = dict.fromkeys(_in_recovery_points(disk), 0)
    for key in _stored_logs(disk):
        _raise(epochs, key, max(_noted(disk, key) or 0, _newest_in_last_segment(disk, key)))
    for key, epoch in _in_journal(disk):
        _raise(epochs, key, epoch)
    return epochs


def _raise(epochs: dict[Place, int], key: LogKey, epoch: int) -> None:
    place = key.topic_id, key.partition
    epochs[place] = max(epochs.get(place, 0), epoch)


def _stored_logs(disk: Disk) -> Iterator[LogKey]:
    """Those that have segments."""
    for name in disk.list_directory(PARTITIONS_DIRECTORY) if disk.exists(PARTITIONS_DIRECTORY) else ():
        place = parse_partition_directory(name)
        if place is not None:
            yield from (key for kind in LOGS if has_segments(disk, key := LogKey(*place, kind)))


def _in_recovery_points(disk: Disk) -> list[Place]:
    """Those that there are; nothing where they cannot be read."""
    with contextlib.suppress(CheckpointDamagedError, msgspec.DecodeError, ValueError, OSError):
        points = read_recovery_points(disk)
        return [(key.topic_id, key.partition) for key in map(parse_key, points.logs) if str(key) not in points.removed]
    return []


def _noted(disk: Disk, key: LogKey) -> int | None:
    with contextlib.suppress(CheckpointDamagedError, msgspec.DecodeError, ValueError):
        payload = read_checkpoint(disk, f"{key.directory}/{LEADER_EPOCHS_NAME}")
        if payload is not None:
            return leader_epochs_from_bytes(payload).last_epoch
    return None


def _newest_in_last_segment(disk: Disk, key: LogKey) -> int:
    """Epochs never fall within a log."""
    bases = [base for name in disk.list_directory(key.directory) if (base := segment_base(name)) is not None]
    newest = 0
    for base in sorted(bases, reverse=True):
        file = disk.open(Segment(key.directory, base).path)
        try:
            for header, _ in BatchScanner(file, position=0, size=file.size()):
                newest = max(newest, header.leader_epoch)
        finally:
            file.close()
        if newest:
            break
    return newest


def _in_journal(disk: Disk) -> list[tuple[LogKey, int]]:
    """Of what may be in no segment yet; nothing where the journal cannot be read."""
    found: list[tuple[LogKey, int]] = []
    with contextlib.suppress(DataDirectoryError, CheckpointDamagedError, JournalCorruptError, msgspec.DecodeError):
        covered = read_recovery_points(disk).covered_sequence
        meta = read_meta(disk)
        if meta is None:
            return found
        for frame in scan_journal(disk, journal_key=meta.journal_key, covered_sequence=covered).frames:
            for text, batches in read_frame(disk, frame, meta.journal_key):
                with contextlib.suppress(BatchCorruptError):
                    found.append((parse_key(text), verify(batches, 0).leader_epoch))
    return found
