"""The journal's frames: one per round of the group commit.

    offset size field
    0      4    magic "AKJ1"
    4      4    header CRC-32C, over bytes 8..44
    8      8    journal key: random, of the data directory
    16     8    generation: the sequence of the first frame in this use of the file
    24     8    sequence: rises by one from frame to frame, over all files, for ever
    32     4    length of the body in bytes
    36     4    number of entries
    40     4    body CRC-32C
    44          body: entries

An entry is what one round adds to one log: key length (2), length of the batches (4), key, batches back to back.

Frames begin at multiples of 4096, so that writing one never touches a block of another that is already durable. The
journal key keeps a message whose body imitates a frame from being taken for one; generation and sequence do the same
for what an earlier use of the file left behind.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from crc32c import crc32c

from storage.disk.port import Buffer, File

BLOCK_BYTES = 4096
_MAGIC = b"AKJ1"
_HEAD = struct.Struct(">4sI")
_FIELDS = struct.Struct(">QQQIII")
_ENTRY = struct.Struct(">HI")
FRAME_HEADER_BYTES = _HEAD.size + _FIELDS.size
ENTRY_HEADER_BYTES = _ENTRY.size
_PADDING = memoryview(bytes(BLOCK_BYTES))


class FrameHeader(NamedTuple):
    generation: int
    sequence: int
    body_bytes: int
    entries: int
    body_crc: int

    @property
    def stored_bytes(self) -> int:
        """With its padding."""
        return padded(FRAME_HEADER_BYTES + self.body_bytes)


def padded(length: int) -> int:
    return -(-length // BLOCK_BYTES) * BLOCK_BYTES


def encode_frame(
    entries: Sequence[tuple[bytes, Sequence[Buffer], int]], *, journal_key: int, generation: int, sequence: int
) -> tuple[list[Buffer], int]:
    """(buffers to write, their length with padding) of a frame of (key, batches, bytes of the batches) entries."""
    buffers: list[Buffer] = [b""]
    crc = body_bytes = 0
    for key, batches, batches_bytes in entries:
        head = _ENTRY.pack(len(key), batches_bytes) + key
        buffers.append(head)
        crc = crc32c(head, crc)
        for batch in batches:
            crc = crc32c(batch, crc)
        buffers += batches
        body_bytes += len(head) + batches_bytes
    fields = _FIELDS.pack(journal_key, generation, sequence, body_bytes, len(entries), crc)
    buffers[0] = _HEAD.pack(_MAGIC, crc32c(fields)) + fields
    length = FRAME_HEADER_BYTES + body_bytes
    stored = padded(length)
    if stored > length:
        buffers.append(_PADDING[: stored - length])
    return buffers, stored


def decode_header(head: bytes, journal_key: int) -> FrameHeader | None:
    """The header if it is whole and of this journal."""
    if len(head) < FRAME_HEADER_BYTES:
        return None
    magic, header_crc = _HEAD.unpack_from(head)
    if magic != _MAGIC or crc32c(head[_HEAD.size : FRAME_HEADER_BYTES]) != header_crc:
        return None
    key, *fields = _FIELDS.unpack_from(head, _HEAD.size)
    return FrameHeader(*fields) if key == journal_key else None


def read_body(file: File, position: int, header: FrameHeader) -> bytes | None:
    """The body of the frame at `position`; None if it is not whole."""
    body = file.read(position + FRAME_HEADER_BYTES, header.body_bytes)
    return body if len(body) == header.body_bytes and crc32c(body) == header.body_crc else None


def decode_entries(body: bytes) -> Iterator[tuple[str, memoryview]]:
    """(key, batches) of a body whose checksum is right. Raises ValueError where that is no list of entries."""
    view = memoryview(body)
    at = 0
    while at < len(body):
        key_at = at + _ENTRY.size
        if key_at > len(body):
            raise ValueError(f"the head of an entry is cut off at byte {at}")
        key_length, batches_bytes = _ENTRY.unpack_from(body, at)
        batches_at = key_at + key_length
        at = batches_at + batches_bytes
        if at > len(body):
            raise ValueError(f"the entry at byte {key_at - _ENTRY.size} ends behind the frame")
        yield str(view[key_at:batches_at], "ascii"), view[batches_at:at]
