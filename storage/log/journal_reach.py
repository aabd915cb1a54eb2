"""How far the journal has surely got: the sequence of the last frame whose sync has returned.

offset size field
0      4    magic "AKR1"
4      8    journal key: as in the frames
12     8    sequence
20     4    CRC-32C over bytes 0 to 19

It is written behind every frame and synced with nothing, as that would be a second sync per round. After a killed
process the page cache has it as it was; after a loss of power it may be an earlier one, which is true all the same,
because its frame was durable first. So a journal that ends before it has lost something, always. A loss of power may
tear what was being written back, which can only be the sequence and the checksum: such a one says nothing.

Behind it, from byte 512 on, is which start of the directory made the file, in the same form with the magic "AKL1". It
is never written again, and durable before the recovery points name that start: so a journal of an earlier one is told.
"""

import struct

from crc32c import crc32c

from storage.disk.port import Disk, File
from storage.log.checkpoint import read_file, replace_file
from storage.log.journal_names import JOURNAL_DIRECTORY

REACH_PATH = f"{JOURNAL_DIRECTORY}/reach"
REACH_BYTES = 4096
LIFE_OFFSET = 512  # another sector: no write of the sequence touches it
_MAGIC = b"AKR1"
_LIFE_MAGIC = b"AKL1"
_FIELDS = struct.Struct(">4sQQ")
_CONSTANT_BYTES = 12
_CRC = struct.Struct(">I")


class ReachDamagedError(ValueError):
    """No crash leaves the file like this."""


class JournalReach:
    """The open file. `write` runs in an I/O thread, behind the sync of the frame."""

    def __init__(self, file: File, *, journal_key: int) -> None:
        self._file = file
        self._key = journal_key

    def write(self, sequence: int) -> None:
        self._file.write(0, [_record(_MAGIC, self._key, sequence)])

    def close(self) -> None:
        self._file.close()


def make_reach(disk: Disk, *, journal_key: int, sequence: int, life: int) -> JournalReach:
    """In an I/O thread: the file anew, durable on return. Its bytes are there, so that a write needs no space."""
    content = _record(_MAGIC, journal_key, sequence).ljust(LIFE_OFFSET, b"\0")
    content += _record(_LIFE_MAGIC, journal_key, life)
    replace_file(disk, REACH_PATH, [content.ljust(REACH_BYTES, b"\0")])
    return JournalReach(disk.open(REACH_PATH), journal_key=journal_key)


def read_reach(disk: Disk, *, journal_key: int) -> int | None:
    """The sequence, None where a loss of power has torn it; raises ReachDamagedError, also when there is no file."""
    content = read_file(disk, REACH_PATH)
    if content is None:
        raise ReachDamagedError("the file is missing")
    if len(content) != REACH_BYTES:
        raise ReachDamagedError(f"it has {len(content)} bytes, not {REACH_BYTES}")
    if content[:_CONSTANT_BYTES] != _record(_MAGIC, journal_key, 0)[:_CONSTANT_BYTES]:
        raise ReachDamagedError("it does not begin as the one of this directory does")
    return _number(content, _MAGIC, journal_key)


def noted_sequence(disk: Disk, journal_key: int) -> int:
    """As `read_reach`; 0 where nothing is said, as for a new directory or in one of an earlier version."""
    try:
        return read_reach(disk, journal_key=journal_key) or 0
    except ReachDamagedError:
        return 0


def read_life(disk: Disk, *, journal_key: int) -> int | None:
    """Which start made the file; None where nothing says so, as in one that an earlier version made."""
    content = read_file(disk, REACH_PATH)
    return None if content is None else _number(content[LIFE_OFFSET:], _LIFE_MAGIC, journal_key)


def _number(content: bytes, magic: bytes, journal_key: int) -> int | None:
    """What `_record` was given; None where it does not begin like this, or its checksum does not match."""
    if len(content) < _FIELDS.size + _CRC.size:
        return None
    number: int = _FIELDS.unpack_from(content)[2]
    return number if content.startswith(_record(magic, journal_key, number)) else None


def _record(magic: bytes, journal_key: int, number: int) -> bytes:
    fields = _FIELDS.pack(magic, journal_key, number)
    return fields + _CRC.pack(crc32c(fields))
