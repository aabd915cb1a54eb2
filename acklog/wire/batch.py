"""The batch: the unit that is checksummed, appended, replicated and fetched, byte for byte the same everywhere.

    offset size field                 stamped by
    0      4    magic "AKB1"          producer
    4      4    length, whole batch   producer
    8      8    base offset           leader
    16     4    leader epoch          leader
    20     8    append time, ms       leader
    28     4    stamp CRC-32C         leader     over bytes 0..28
    32     4    content CRC-32C       producer   over bytes 36..length
    36     2    flags                 producer   bits 0-2 codec, 3 keyed, 4 transactional, 5 control,
                                            and the log's own: 6 compacted, 7 encrypted
    38     2    producer epoch        producer   -1: none
    40     4    record count          producer
    44     8    base timestamp, ms    producer   -1: no record has one
    52     8    max timestamp, ms     producer   -1: no record has one
    60     8    producer id           producer   -1: none
    68     4    base sequence         producer   -1: none
    72     8    tag filter            producer
    80     4    keys length           producer
    84          keys                  producer   msgpack [[index, key, fingerprint, count], ...], never compressed
    ...         payload               producer   msgpack [record, ...], compressed by the codec

All integers are big-endian. The content checksum leaves out what the leader stamps, so stamping never touches the
payload; the stamp has a checksum of its own, because a rotten base offset is as bad as a rotten body.
"""

import struct

import msgspec
from crc32c import crc32c

from acklog.wire.compression import Codec, compress, decompress
from acklog.wire.decode_errors import with_decode_errors
from acklog.wire.limits import BATCH_BYTES_MAX, BATCH_RECORDS_MAX
from acklog.wire.msgpack_list import list_length
from acklog.wire.record import PlainRecord, Record, tag_filter_of

Buffer = bytes | bytearray | memoryview

MAGIC = b"AKB1"
HEADER_BYTES = 84
OFFSETS_END_MAX = (1 << 63) - 1
"""What is behind the last message of a batch is an offset as well: readers put it into 64 bits, with a sign."""
_HEADER = struct.Struct(">4sIqiqIIHhIqqqiQI")
_STAMPED_FIELDS = struct.Struct(">4xIqiqIIHhIqqqiQI")
_STAMP = struct.Struct(">qiq")
_STAMP_AT = 8
STAMP_CRC_AT = 28
_CONTENT_CRC_AT = 32
CONTENT_AT = 36
_CRC = struct.Struct(">I")
_UNSTAMPED = struct.Struct(">4sI24xIH2xI36xI")
STAMPED_HEADER = struct.Struct(">4sIqiqIIH2xI36xI")
"""Magic, length, base offset, leader epoch, append time, stamp CRC, content CRC, flags, count, keys length: for who has
to look at many batches quickly, and checks what `verify` does."""

CODEC_MASK = 0x07
FLAG_KEYED = 0x08
FLAG_TRANSACTIONAL = 0x10
FLAG_CONTROL = 0x20
FLAG_COMPACTED = 0x40
"""`acklog.wire.compacted_batch` says what its payload is then."""
FLAG_ENCRYPTED = 0x80
"""Keys and payload are encrypted: nodes keep them so, and give them to nobody (`storage.encryption.log_cipher`)."""
KNOWN_FLAGS = CODEC_MASK | FLAG_KEYED | FLAG_TRANSACTIONAL | FLAG_CONTROL
"""Those that a producer may set."""

NO_TIMESTAMP = -1
NO_PRODUCER = -1

_encoder = msgspec.msgpack.Encoder()


class DedupKey(msgspec.Struct, array_like=True, frozen=True):
    """The idempotency key of the run of `count` records that begins at `index`; `fingerprint` is 8 bytes of a hash
    over their content."""

    index: int
    key: str
    fingerprint: bytes
    count: int = 1


_decode_records = with_decode_errors(msgspec.msgpack.Decoder(list[Record]).decode)
_decode_keys = with_decode_errors(msgspec.msgpack.Decoder(list[DedupKey]).decode)


class BatchCorruptError(ValueError):
    """The bytes are not a whole, unharmed batch. `reason` says what was found."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BatchHeader(msgspec.Struct, frozen=True, gc=False):
    """The fixed part of a batch, decoded. `length` counts the whole batch in bytes, this header included."""

    length: int
    base_offset: int
    leader_epoch: int
    append_time_ms: int
    stamp_crc: int
    content_crc: int
    flags: int
    producer_epoch: int
    count: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    base_sequence: int
    tag_filter: int
    keys_length: int

    @property
    def next_offset(self) -> int:
        """The offset after the batch's last record."""
        return self.base_offset + self.count

    @property
    def codec(self) -> Codec:
        return Codec(self.flags & CODEC_MASK)

    @property
    def is_keyed(self) -> bool:
        return bool(self.flags & FLAG_KEYED)

    @property
    def is_control(self) -> bool:
        return bool(self.flags & FLAG_CONTROL)

    @property
    def is_compacted(self) -> bool:
        return bool(self.flags & FLAG_COMPACTED)

    @property
    def is_encrypted(self) -> bool:
        return bool(self.flags & FLAG_ENCRYPTED)

    def check_clear(self) -> None:
        """Raises BatchCorruptError for a batch that only a node with its keys can open."""
        if self.flags & FLAG_ENCRYPTED:
            raise BatchCorruptError("it is encrypted")


def encode_batch(
    records: list[Record],
    *,
    payload: bytes | None = None,
    keys: list[DedupKey] | None = None,
    codec: Codec = Codec.NONE,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = NO_PRODUCER,
    base_sequence: int = NO_PRODUCER,
) -> bytearray:
    """An unstamped batch of `records` (at least one). The leader stamps it in place with `stamp`.

    `payload` is the msgpack of the records, where it has been made already, and saves making it again.
    """
    buffer = bytearray(HEADER_BYTES)
    keys_length = 0
    if keys:
        _encoder.encode_into(keys, buffer, HEADER_BYTES)
        keys_length = len(buffer) - HEADER_BYTES
    if codec is not Codec.NONE:
        buffer += compress(codec, _encoder.encode(records) if payload is None else payload)
    elif payload is None:
        _encoder.encode_into(records, buffer, len(buffer))
    else:
        buffer += payload
    return _finish(
        buffer,
        records,
        flags=int(codec) | (FLAG_KEYED if keys else 0),
        producer=(producer_id, producer_epoch, base_sequence),
        tag_filter=tag_filter_of(records),
        keys_length=keys_length,
    )


def encode_plain_batch(
    records: list[PlainRecord],
    *,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = NO_PRODUCER,
    base_sequence: int = NO_PRODUCER,
) -> bytearray:
    """As `encode_batch`, for records without tags and timestamps: nobody looks for them one by one."""
    buffer = bytearray(HEADER_BYTES)
    _encoder.encode_into(records, buffer, HEADER_BYTES)
    producer = (producer_id, producer_epoch, base_sequence)
    return _finish(buffer, (), flags=0, producer=producer, tag_filter=0, keys_length=0, count=len(records))


def encode_opaque_batch(payload: Buffer, *, count: int) -> bytearray:
    """An unstamped batch whose payload is not messages (delivery records, schedules): the log does not care."""
    buffer = bytearray(HEADER_BYTES)
    buffer += payload
    return _finish(buffer, (), flags=0, producer=(-1, -1, -1), tag_filter=0, keys_length=0, count=count)


def encode_control_batch(payload: Buffer, *, count: int) -> bytearray:
    """As `encode_opaque_batch`, among batches of messages: readers of these step over it."""
    buffer = bytearray(HEADER_BYTES)
    buffer += payload
    return _finish(buffer, (), flags=FLAG_CONTROL, producer=(-1, -1, -1), tag_filter=0, keys_length=0, count=count)


def _finish(
    buffer: bytearray,
    records: list[Record] | tuple[()],
    *,
    flags: int,
    producer: tuple[int, int, int],
    tag_filter: int,
    keys_length: int,
    count: int | None = None,
) -> bytearray:
    base_timestamp = max_timestamp = NO_TIMESTAMP
    for record in records:
        timestamp = record.timestamp_ms
        if timestamp is not None:
            if base_timestamp == NO_TIMESTAMP or timestamp < base_timestamp:
                base_timestamp = timestamp
            if timestamp > max_timestamp:
                max_timestamp = timestamp
    producer_id, producer_epoch, base_sequence = producer
    _HEADER.pack_into(
        buffer,
        0,
        MAGIC,
        len(buffer),
        -1,
        -1,
        -1,
        0,
        0,
        flags,
        producer_epoch,
        len(records) if count is None else count,
        base_timestamp,
        max_timestamp,
        producer_id,
        base_sequence,
        tag_filter,
        keys_length,
    )
    with memoryview(buffer) as view:
        content_crc = crc32c(view[CONTENT_AT:])
    _CRC.pack_into(buffer, _CONTENT_CRC_AT, content_crc)
    return buffer


def encode_again(header: BatchHeader, *content: Buffer) -> bytearray:
    """A stamped batch with other content, and all that `header` says but for length and checksums: also how much of the
    content are keys."""
    batch = bytearray(HEADER_BYTES)
    for part in content:
        batch += part
    fields = msgspec.structs.astuple(msgspec.structs.replace(header, length=len(batch)))
    _HEADER.pack_into(batch, 0, MAGIC, *fields)
    with memoryview(batch) as view:
        content_crc = crc32c(view[CONTENT_AT:])
    _CRC.pack_into(batch, _CONTENT_CRC_AT, content_crc)
    stamp(
        batch,
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        append_time_ms=header.append_time_ms,
    )
    return batch


def stamp(batch: bytearray, *, base_offset: int, leader_epoch: int, append_time_ms: int) -> None:
    """Write what only the leader knows into the header, in place."""
    _STAMP.pack_into(batch, _STAMP_AT, base_offset, leader_epoch, append_time_ms)
    with memoryview(batch) as view:
        stamp_crc = crc32c(view[:STAMP_CRC_AT])
    _CRC.pack_into(batch, STAMP_CRC_AT, stamp_crc)


def read_header(buffer: Buffer, at: int = 0) -> BatchHeader:
    """The header at `at`. Checks magic, bounds and the stamp's checksum, not the content.

    Raises BatchCorruptError.
    """
    if len(buffer) - at < HEADER_BYTES:
        raise BatchCorruptError(f"only {len(buffer) - at} bytes are left, a header has {HEADER_BYTES}")
    magic, *fields = _HEADER.unpack_from(buffer, at)
    header = BatchHeader(*fields)
    if magic != MAGIC:
        raise BatchCorruptError(f"the magic is {bytes(magic)!r}, not {MAGIC!r}")
    if header.base_offset >= 0:
        with memoryview(buffer) as view:
            stamp_crc = crc32c(view[at : at + STAMP_CRC_AT])
        if stamp_crc != header.stamp_crc:
            raise BatchCorruptError("the checksum of the leader's stamp does not match")
        if header.next_offset > OFFSETS_END_MAX:
            raise BatchCorruptError(f"the offset {header.base_offset} is out of bounds")
    if not HEADER_BYTES + header.keys_length <= header.length <= BATCH_BYTES_MAX:
        raise BatchCorruptError(f"the length {header.length} is out of bounds")
    return header


def stamped_header(batch: Buffer) -> BatchHeader:
    """The header of a batch that this process has just stamped: nothing is checked."""
    return BatchHeader(*_STAMPED_FIELDS.unpack_from(batch))


def verify(buffer: Buffer, at: int = 0) -> BatchHeader:
    """The header of the whole, unharmed and stamped batch at `at`; raises BatchCorruptError for anything else."""
    header = read_header(buffer, at)
    if header.base_offset < 0:
        raise BatchCorruptError("no leader has stamped the batch")
    _verify_content(buffer, at, header)
    return header


def verify_unstamped(buffer: Buffer) -> BatchHeader:
    """As `verify`, for a batch that has not been appended yet and fills `buffer` exactly."""
    header = read_header(buffer)
    if header.length != len(buffer):
        raise BatchCorruptError(f"the batch says {header.length} bytes, there are {len(buffer)}")
    _verify_content(buffer, 0, header)
    return header


def check_unstamped(buffer: Buffer) -> tuple[int, int]:
    """(record count, flags) of a batch that has not been appended yet and fills `buffer` exactly: the checks of
    `verify_unstamped` without decoding the rest of the header. Raises BatchCorruptError."""
    size = len(buffer)
    if size < HEADER_BYTES:
        raise BatchCorruptError(f"only {size} bytes are left, a header has {HEADER_BYTES}")
    magic, length, content_crc, flags, count, keys_length = _UNSTAMPED.unpack_from(buffer)
    with memoryview(buffer) as view:
        if magic != MAGIC or length != size or size > BATCH_BYTES_MAX or crc32c(view[CONTENT_AT:]) != content_crc:
            verify_unstamped(buffer)
            raise BatchCorruptError("the batch is not whole")
    if count < 1 or HEADER_BYTES + keys_length > size:
        raise BatchCorruptError("the batch has no records, or more bytes of keys than bytes")
    return count, flags


def _verify_content(buffer: Buffer, at: int, header: BatchHeader) -> None:
    end = at + header.length
    if end > len(buffer):
        raise BatchCorruptError(f"the batch has {header.length} bytes, only {len(buffer) - at} are left")
    with memoryview(buffer) as view:
        content_crc = crc32c(view[at + CONTENT_AT : end])
    if content_crc != header.content_crc:
        raise BatchCorruptError("the checksum of the content does not match")
    if header.count < 1:
        raise BatchCorruptError("the batch has no records")


def decode_records(buffer: Buffer, header: BatchHeader, at: int = 0) -> list[Record]:
    """The records of a verified batch; none of a control batch, whose payload is the log's own. Raises ValueError:
    BatchCorruptError, or of what decodes and unpacks."""
    header.check_clear()
    if header.flags & FLAG_CONTROL:
        return []
    payload = memoryview(buffer)[at + HEADER_BYTES + header.keys_length : at + header.length]
    content: Buffer = payload
    if header.codec is not Codec.NONE:
        content = decompress(header.codec, payload, limit_bytes=BATCH_BYTES_MAX)
    count = list_length(content, 0, len(content))
    if count != header.count or count > BATCH_RECORDS_MAX:  # or their offsets would be others', or fill the memory
        raise BatchCorruptError(f"it says {header.count} messages and holds {max(count, 0)}")
    return _decode_records(content)


def decode_keys(buffer: Buffer, header: BatchHeader, at: int = 0) -> list[DedupKey]:
    """The idempotency keys of a verified batch; empty where there are none. Raises ValueError."""
    if not header.keys_length:
        return []
    header.check_clear()
    start = at + HEADER_BYTES
    return _decode_keys(memoryview(buffer)[start : start + header.keys_length])


def opaque_payload(buffer: Buffer, header: BatchHeader, at: int = 0) -> memoryview:
    """The payload of a batch made by `encode_opaque_batch`. Raises BatchCorruptError."""
    header.check_clear()
    return memoryview(buffer)[at + HEADER_BYTES : at + header.length]
