"""The journal's files, after whatever became of them."""

import struct

from crc32c import crc32c

from storage.log.journal_files import JOURNAL_FILES_PATH
from storage.log.journal_frame import BLOCK_BYTES, FRAME_HEADER_BYTES, encode_frame
from storage.log.journal_names import journal_path
from storage.log.journal_scan import JournalCorruptError, read_frame, scan_journal
from tests.fuzz.batch_bytes import batches
from tests.fuzz.fuzz_target import FuzzTarget
from tests.support.held_disk import HeldDisk

_KEY = 0x0123456789ABCDEF
_HEAD_CRC_AT, _FIELDS_AT, _LENGTH_AT, _BODY_CRC_AT = 4, 8, 32, 40
_NUMBER = struct.Struct(">I")
_AS_IT_IS = 0


def _frames(*sequences: int) -> bytes:
    """Each with its padding, but for the last."""
    parts: list[bytes] = []
    for sequence in sequences:
        found = batches()
        entries = [
            (b"0123456789abc-0-0", found[:1], len(found[0])),
            (b"0123456789abc-1-1", found[1:3], len(found[1]) + len(found[2])),
        ]
        buffers, _ = encode_frame(entries, journal_key=_KEY, generation=sequences[0], sequence=sequence)
        parts += map(bytes, buffers)
    return b"".join(parts).rstrip(b"\0")


def _seeds() -> list[bytes]:
    one = _frames(1)
    return [
        b"\x00" + one,
        b"\x01" + one,
        b"\x01" + one[: FRAME_HEADER_BYTES + 60],
        b"\x00" + _frames(1, 2),
        b"\x00" + _frames(1, 3),
    ]


def _read(data: bytes) -> None:
    content = data[1:] if data and data[0] % 2 == _AS_IT_IS else _mended(data[1:])
    disk = HeldDisk({journal_path(0): content, JOURNAL_FILES_PATH: b""})
    scan = scan_journal(disk, journal_key=_KEY, covered_sequence=0)
    assert [frame.sequence for frame in scan.frames] == list(range(1, scan.last_sequence + 1))
    assert scan.present_sequence >= scan.last_sequence
    for place in scan.frames:
        entries = read_frame(disk, place, _KEY)
        again, _ = encode_frame(
            [(key.encode(), [batches], len(batches)) for key, batches in entries],
            journal_key=_KEY,
            generation=1,
            sequence=place.sequence,
        )
        assert b"".join(map(bytes, again[1:])).rstrip(b"\0") in content, "something of a frame was passed over"


def _mended(content: bytes) -> bytes:
    """One frame with the checksums, the length and the key that are right."""
    if len(content) < FRAME_HEADER_BYTES:
        return content
    frame = bytearray(content)
    frame[:4] = b"AKJ1"
    frame[_FIELDS_AT : _FIELDS_AT + 8] = _KEY.to_bytes(8, "big")
    frame[_FIELDS_AT + 8 : _FIELDS_AT + 24] = (1).to_bytes(8, "big") * 2
    _NUMBER.pack_into(frame, _LENGTH_AT, len(frame) - FRAME_HEADER_BYTES)
    _NUMBER.pack_into(frame, _BODY_CRC_AT, crc32c(bytes(frame[FRAME_HEADER_BYTES:])))
    _NUMBER.pack_into(frame, _HEAD_CRC_AT, crc32c(bytes(frame[_FIELDS_AT:FRAME_HEADER_BYTES])))
    return bytes(frame).ljust(BLOCK_BYTES, b"\0")


TARGET = FuzzTarget(_read, (JournalCorruptError,), _seeds)
