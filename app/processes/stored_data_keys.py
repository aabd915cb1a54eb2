"""Which data keys the batches of a topic name that are on a disk: where its entry is lost, so are the keys, and nothing
else tells that it was encrypted."""

import contextlib
from collections.abc import Iterator

import msgspec

from acklog.wire.batch import HEADER_BYTES, BatchCorruptError, verify
from cluster.model.data_keys import DATA_KEYS_MAX
from storage.disk.port import Disk
from storage.encryption.envelope import ENVELOPE_BYTES, data_key_number
from storage.log.batch_scanner import BatchScanner
from storage.log.checkpoint import CheckpointDamagedError
from storage.log.data_directory import DataDirectoryError, read_meta
from storage.log.journal_scan import JournalCorruptError, read_frame, scan_journal
from storage.log.keys import PARTITIONS_DIRECTORY, LogKey, parse_key, parse_partition_directory
from storage.log.log_table import LOGS
from storage.log.recovery_points import read_recovery_points
from storage.log.segment import Segment, segment_base


def newest_data_key(disk: Disk, topic_id: str) -> int:
    """The highest number of all; 0 where nothing of the topic is encrypted. Reads all that is stored of it, up to what
    is damaged in each segment. Raises OSError."""
    numbers = [*_in_segments(disk, topic_id), *_in_journal(disk, topic_id)]
    return max((number for number in numbers if number <= DATA_KEYS_MAX), default=0)


def _in_segments(disk: Disk, topic_id: str) -> Iterator[int]:
    for name in disk.list_directory(PARTITIONS_DIRECTORY) if disk.exists(PARTITIONS_DIRECTORY) else ():
        place = parse_partition_directory(name)
        if place is None or place[0] != topic_id:
            continue
        for key in (LogKey(*place, kind) for kind in LOGS):
            for each in disk.list_directory(key.directory) if disk.exists(key.directory) else ():
                base = segment_base(each)
                if base is not None:
                    yield from _in_segment(disk, Segment(key.directory, base).path)


def _in_segment(disk: Disk, path: str) -> Iterator[int]:
    file = disk.open(path)
    try:
        for header, position in BatchScanner(file, position=0, size=file.size()):
            if header.is_encrypted:
                yield data_key_number(file.read(position + HEADER_BYTES, ENVELOPE_BYTES))
    finally:
        file.close()


def _in_journal(disk: Disk, topic_id: str) -> list[int]:
    """Of what may be in no segment yet; nothing where the journal cannot be read."""
    found: list[int] = []
    with contextlib.suppress(DataDirectoryError, CheckpointDamagedError, JournalCorruptError, msgspec.DecodeError):
        covered, meta = read_recovery_points(disk).covered_sequence, read_meta(disk)
        if meta is None:
            return found
        for frame in scan_journal(disk, journal_key=meta.journal_key, covered_sequence=covered).frames:
            for text, batches in read_frame(disk, frame, meta.journal_key):
                if parse_key(text).topic_id == topic_id:
                    found += _in_entry(batches)
    return found


def _in_entry(batches: memoryview) -> list[int]:
    found, at = [], 0
    with contextlib.suppress(BatchCorruptError):
        while at < len(batches):
            header = verify(batches, at)
            if header.is_encrypted:
                found.append(data_key_number(batches[at + HEADER_BYTES : at + header.length]))
            at += header.length
    return found
