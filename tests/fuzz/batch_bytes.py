"""Batches as they are on disks, and their checksums made right again: behind these a parser has to do without them."""

import struct

from crc32c import crc32c

from acklog.wire.batch import (
    CONTENT_AT,
    HEADER_BYTES,
    MAGIC,
    STAMP_CRC_AT,
    DedupKey,
    encode_batch,
    encode_control_batch,
    encode_plain_batch,
    read_header,
    stamp,
)
from acklog.wire.compacted_batch import encode_compacted, encode_placeholder, stored_records
from acklog.wire.compression import Codec
from acklog.wire.record import Record, Schedule

_HEAD = struct.Struct(">4sI")
_BASE_OFFSET_SIGN_AT = 8
_CRC = struct.Struct(">I")
RECORDS = [
    Record(b'{"id":1}'),
    Record(b"2", "key", {"header": "value"}, ["a", "b"], 1_700_000_000_000),
    Record(b"\xff", "key", content_type="image/png", ttl_ms=1_500),
    Record(b"4", None, None, None, None, None, Schedule(at_ms=1_800_000_000_000, id="s-1")),
]


def stamped(batch: bytearray, base_offset: int = 0) -> bytes:
    stamp(batch, base_offset=base_offset, leader_epoch=3, append_time_ms=1_700_000_000_000)
    return bytes(batch)


def batches() -> list[bytes]:
    """One of each kind."""
    keyed = encode_batch(RECORDS, keys=[DedupKey(0, "k", b"12345678", 2)], producer_id=5, base_sequence=7)
    whole = stamped(encode_batch(RECORDS), 10)
    header = read_header(whole)
    _, kept = stored_records(whole, header)
    return [
        stamped(encode_batch(RECORDS[:1])),
        stamped(keyed, 4),
        stamped(encode_batch(RECORDS, codec=Codec.ZSTD)),
        stamped(encode_batch(RECORDS, codec=Codec.LZ4)),
        stamped(encode_plain_batch([(b"1", "k"), (b"2", None)])),
        stamped(encode_control_batch(b"\x91\x92\x03\x05", count=1)),
        bytes(encode_compacted(whole, header, kept[1:3], compacted_ms=1_700_000_000_001)),
        bytes(encode_placeholder(header, base_offset=11)),
    ]


def mended(data: bytes) -> bytes:
    """The bytes as one stamped batch of that length, if there are enough of them."""
    if len(data) < HEADER_BYTES:
        return data
    batch = bytearray(data)
    _HEAD.pack_into(batch, 0, MAGIC, len(batch))
    batch[_BASE_OFFSET_SIGN_AT] &= 0x7F
    _CRC.pack_into(batch, STAMP_CRC_AT, crc32c(bytes(batch[:STAMP_CRC_AT])))
    _CRC.pack_into(batch, STAMP_CRC_AT + _CRC.size, crc32c(bytes(batch[CONTENT_AT:])))
    return bytes(batch)
