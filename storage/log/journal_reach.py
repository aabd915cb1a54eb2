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
"""

import struct

from crc32c import crc32c

from storage.disk.port import Disk, File
from storage.log.checkpoint import read_file, replace_file
from storage.log.journal_names import JOURNAL_DIRECTORY

REACH_PATH = f"{JOURNAL_DIRECTORY}/reach"
REACH_BYTES = 4096
_MAGIC = b"AKR1"
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
        self._file.write(0, [_record(self._key, sequence)])

    def close(self) -> None:
        self._file.close()


def make_reach(disk: Disk, *, journal_key: int, sequence: int) -> JournalReach:
    """In an I/O thread: the file anew, durable on return. Its bytes are there, so that a write needs no space."""
    record = _record(journal_key, sequence)
    replace_file(disk, REACH_PATH, [record, bytes(REACH_BYTES - len(record))])
    return JournalReach(disk.open(REACH_PATH), journal_key=journal_key)


def read_reach(disk: Disk, *, journal_key: int) -> int | None:
    """The sequence, None where a loss of power has torn it; raises ReachDamagedError, also when there is no file."""
    content = read_file(disk, REACH_PATH)
    if content is None:
        raise ReachDamagedError("the file is missing")
    if len(content) != REACH_BYTES:
        raise ReachDamagedError(f"it has {len(content)} bytes, not {REACH_BYTES}")
    if content[:_CONSTANT_BYTES] != _record(journal_key, 0)[:_CONSTANT_BYTES]:
        raise ReachDamagedError("it does not begin as the one of this directory does")
    (crc,) = _CRC.unpack_from(content, _FIELDS.size)
    sequence: int = _FIELDS.unpack_from(content)[2]
    return sequence if crc == crc32c(content[: _FIELDS.size]) else None


def _record(journal_key: int, sequence: int) -> bytes:
    fields = _FIELDS.pack(_MAGIC, journal_key, sequence)
    return fields + _CRC.pack(crc32c(fields))
