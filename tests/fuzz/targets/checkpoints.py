"""The small files of a data directory: checkpoints, indexes, what the directory is."""

import struct
from collections.abc import Callable

import msgspec
from crc32c import crc32c

from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint
from storage.log.data_directory import META_PATH, DataDirectoryError, read_meta
from storage.log.directory_life import LIFE_PATH, read_starts
from storage.log.directory_role import ROLE_PATH, read_role
from storage.log.index import IndexDamagedError, SegmentIndex, index_from_bytes, index_to_bytes
from storage.log.journal_files import JOURNAL_FILES_PATH, read_recorded_files
from storage.log.journal_reach import REACH_PATH, ReachDamagedError, read_reach
from storage.log.keys import parse_key
from storage.log.leader_epochs import leader_epochs_from_bytes
from storage.log.recovery_points import RECOVERY_POINTS_PATH, RecoveryPoint, RecoveryPoints, read_recovery_points
from storage.log.segment import segment_base
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of, text_of
from tests.support.held_disk import HeldDisk

_KEY = 0x0123456789ABCDEF
_LENGTH = struct.Struct(">Q")
_HEAD = struct.Struct(">4sIQ")
_INDEX_HEAD = struct.Struct(">4sI")


class NoFileError(ValueError):
    """The first part names none of the files."""


def _checkpoint(payload: bytes) -> bytes:
    crc = crc32c(payload, crc32c(_LENGTH.pack(len(payload))))
    return _HEAD.pack(b"AKC1", crc, len(payload)) + payload


def _index(content: bytes) -> None:
    for candidate in (content, _INDEX_HEAD.pack(b"AKI1", crc32c(content)) + content):
        try:
            index, fields = index_from_bytes(candidate, 4096)
        except IndexDamagedError:
            continue
        assert index_to_bytes(index, fields) == candidate


def _names(content: bytes) -> None:
    """Of files and logs: what is read is what would be written."""
    text = text_of(content)
    base = segment_base(text)
    assert base is None or f"{base:020d}.log" == text
    key = parse_key(text)
    assert parse_key(str(key)) == key


_READERS: dict[bytes, Callable[[bytes], object]] = {
    b"checkpoint": lambda content: read_checkpoint(HeldDisk({"file": content}), "file"),
    b"epochs": lambda content: leader_epochs_from_bytes(content),
    b"index": _index,
    b"journal-files": lambda content: read_recorded_files(HeldDisk({JOURNAL_FILES_PATH: _checkpoint(content)})),
    b"life": lambda content: read_starts(HeldDisk({LIFE_PATH: content})),
    b"meta": lambda content: read_meta(HeldDisk({META_PATH: content})),
    b"names": _names,
    b"reach": lambda content: read_reach(HeldDisk({REACH_PATH: content}), journal_key=_KEY),
    b"recovery-points": lambda content: read_recovery_points(HeldDisk({RECOVERY_POINTS_PATH: _checkpoint(content)})),
    b"role": lambda content: read_role(HeldDisk({ROLE_PATH: content})),
}


def _seeds() -> list[bytes]:
    index = SegmentIndex(10)
    for number in range(3):
        index.add(number, number * 20, 1_700_000_000_000 + number, 20)
    points = RecoveryPoints(3, True, {"0123456789abc-0-0": RecoveryPoint(5, 1)}, {"0123456789abc-1-0": 2}, 7, 7, 1)
    return [
        joined(b"checkpoint", _checkpoint(b"payload")),
        joined(b"epochs", msgspec.msgpack.encode([(1, 0), (3, 20)])),
        joined(b"index", index_to_bytes(index, (0, 3, 60, 0, 2, -1))),
        joined(b"journal-files", msgspec.msgpack.encode({0: 4096, 1: 4096})),
        joined(b"life", b'{"starts":3}\n'),
        joined(b"meta", b'{"meta":{"formatVersion":1,"directoryId":"0123456789abc","journalKey":5},"checksum":7}'),
        joined(b"names", b"0123456789abc-7-1"),
        joined(b"reach", b"AKR1" + _KEY.to_bytes(8, "big") + bytes(12)),
        joined(b"recovery-points", msgspec.msgpack.encode(points)),
        joined(b"role", b'{"nodeId":2}\n'),
    ]


def _read(data: bytes) -> None:
    name, content = parts_of(data, 2)
    if name not in _READERS:
        raise NoFileError
    try:
        _READERS[name](content)
    except ValueError as error:
        # Of names and epochs any ValueError is documented; of the rest one kind each.
        assert name in {b"names", b"epochs"} or isinstance(
            error, CheckpointDamagedError | IndexDamagedError | ReachDamagedError
        ), repr(error)
        raise


TARGET = FuzzTarget(_read, (ValueError, DataDirectoryError), _seeds)
