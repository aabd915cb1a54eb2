"""A batch that compaction has gone through: what is left of its messages, each at the offset that it always had.

Header and count stay, so the log has no gaps; the flag FLAG_COMPACTED says that the payload is another one:

    msgpack [compacted_ms, {index: record, ...}], compressed by the codec

`index` counts from the base offset, and what is not in the map was removed. `compacted_ms` is when compaction first
went through the batch, by the clock of the node that did: tombstones go so long after that. Records are kept as the
bytes that their producer sent, with fields that this version may not know.

A batch of which nothing is left is a *placeholder*. It may stand for neighbours, too, and is cut where somebody needs
it to begin: nothing but its header says anything.
"""

from typing import cast

import msgspec
from msgspec.structs import replace

from acklog.wire.batch import (
    CODEC_MASK,
    FLAG_COMPACTED,
    FLAG_CONTROL,
    FLAG_KEYED,
    HEADER_BYTES,
    NO_PRODUCER,
    NO_TIMESTAMP,
    BatchCorruptError,
    BatchHeader,
    Buffer,
    decode_records,
    encode_again,
    read_header,
)
from acklog.wire.compression import Codec, compress, decompress
from acklog.wire.decode_errors import with_decode_errors
from acklog.wire.limits import BATCH_BYTES_MAX, BATCH_RECORDS_MAX
from acklog.wire.msgpack_list import list_length
from acklog.wire.record import Record

NEVER_MS = -1

_Kept = tuple[int, dict[int, Record]]
_KeptBytes = tuple[int, dict[int, msgspec.Raw]]
_decode_bytes = with_decode_errors(msgspec.msgpack.Decoder(list[msgspec.Raw]).decode)
_decode_kept = with_decode_errors(msgspec.msgpack.Decoder(_Kept).decode)
_decode_kept_bytes = with_decode_errors(msgspec.msgpack.Decoder(_KeptBytes).decode)
_decode_record = with_decode_errors(msgspec.msgpack.Decoder(Record).decode)
_encode = msgspec.msgpack.Encoder().encode
_NOTHING = _encode((NEVER_MS, {}))


class StoredRecord(msgspec.Struct, frozen=True, gc=False):
    """A message in a batch: its place, its bytes, and what they say."""

    index: int
    content: msgspec.Raw
    record: Record


def decode_remaining(buffer: Buffer, header: BatchHeader, at: int = 0) -> list[Record | None]:
    """As `decode_records`, of a batch that may have been compacted: None in the place of what was removed."""
    if not header.is_compacted:
        return cast("list[Record | None]", decode_records(buffer, header, at))
    if header.count > BATCH_RECORDS_MAX:
        raise BatchCorruptError(f"it says {header.count} messages, a batch has at most {BATCH_RECORDS_MAX}")
    _, kept = _decode_kept(_payload(buffer, header, at))
    remaining: list[Record | None] = [None] * header.count
    for index, record in kept.items():
        _check_index(index, header)
        remaining[index] = record
    return remaining


def stored_records(buffer: Buffer, header: BatchHeader, at: int = 0) -> tuple[int, list[StoredRecord]]:
    """When the batch was first compacted (NEVER_MS: it was not), and the messages that are in it; none of a control
    batch. Raises ValueError as `decode_records`."""
    header.check_clear()
    if header.flags & FLAG_CONTROL:
        return NEVER_MS, []
    payload = _payload(buffer, header, at)
    if header.is_compacted:
        compacted_ms, kept = _decode_kept_bytes(payload)
        for index in kept:
            _check_index(index, header)
        return compacted_ms, [StoredRecord(index, content, _decode_record(content)) for index, content in kept.items()]
    count = list_length(payload, 0, len(payload))
    if count != header.count or count > BATCH_RECORDS_MAX:
        raise BatchCorruptError(f"it says {header.count} messages and holds {max(count, 0)}")
    contents = _decode_bytes(payload)
    return NEVER_MS, [StoredRecord(index, content, _decode_record(content)) for index, content in enumerate(contents)]


def encode_compacted(buffer: Buffer, header: BatchHeader, kept: list[StoredRecord], *, compacted_ms: int) -> bytearray:
    """The stamped batch in `buffer` of which `kept` is left. What it is known by when it is sent again stays: its
    idempotency keys, and its producer's number."""
    keys = memoryview(buffer)[HEADER_BYTES : HEADER_BYTES + header.keys_length]
    payload = _encode((compacted_ms, {each.index: each.content for each in kept}))
    return encode_again(replace(header, flags=header.flags | FLAG_COMPACTED), keys, compress(header.codec, payload))


def encode_placeholder(last: BatchHeader, *, base_offset: int) -> bytearray:
    """In the place of all from `base_offset` to the end of the batch `last`, in its epoch. Nothing tells any more that
    these were there before."""
    header = replace(
        last,
        base_offset=base_offset,
        count=last.next_offset - base_offset,
        flags=(last.flags & ~CODEC_MASK & ~FLAG_KEYED) | FLAG_COMPACTED,
        producer_id=NO_PRODUCER,
        producer_epoch=NO_PRODUCER,
        base_sequence=NO_PRODUCER,
        base_timestamp_ms=NO_TIMESTAMP,
        max_timestamp_ms=NO_TIMESTAMP,
        tag_filter=0,
        keys_length=0,
    )
    return encode_again(header, _NOTHING)


def is_placeholder(buffer: Buffer, header: BatchHeader, at: int = 0) -> bool:
    payload = memoryview(buffer)[at + HEADER_BYTES : at + header.length]
    return header.is_compacted and not header.keys_length and header.codec is Codec.NONE and payload == _NOTHING


def from_offset(batches: Buffer, offset: int) -> Buffer:
    """Whole batches back to back, of which the first one holds `offset`: from there on, where that one is a
    placeholder. Others begin where they begin."""
    header = read_header(batches)
    if not header.base_offset < offset < header.next_offset or not is_placeholder(batches, header):
        return batches
    return bytes(encode_placeholder(header, base_offset=offset)) + memoryview(batches)[header.length :]


def _payload(buffer: Buffer, header: BatchHeader, at: int) -> Buffer:
    header.check_clear()
    payload = memoryview(buffer)[at + HEADER_BYTES + header.keys_length : at + header.length]
    if header.codec is Codec.NONE:
        return payload
    return decompress(header.codec, payload, limit_bytes=BATCH_BYTES_MAX)


def _check_index(index: int, header: BatchHeader) -> None:
    if not 0 <= index < header.count:
        raise BatchCorruptError(f"it says {header.count} messages, and has one at {index}")
