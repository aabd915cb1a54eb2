"""What a batch's header says of its content, held against what can be seen of that without decoding it.

A leader checks it once, when a batch comes from a gateway: it costs the same for one message as for ten thousand. What
is behind the first bytes of the payload shows when it is decoded, and harms that batch only.
"""

from acklog.wire.batch import CODEC_MASK, HEADER_BYTES, KNOWN_FLAGS, NO_TIMESTAMP, BatchCorruptError, BatchHeader
from acklog.wire.compression import Buffer, Codec, unpacked_bytes
from acklog.wire.limits import BATCH_BYTES_MAX, TIMESTAMP_MS_MAX

RECORD_BYTES_MIN = 3
"""The smallest message: a list, and in it an empty body."""


def check_structure(batch: Buffer, header: BatchHeader) -> None:
    """Of a whole batch whose checksums are right, and its header. Raises BatchCorruptError."""
    flags = header.flags
    if flags & ~KNOWN_FLAGS or flags & CODEC_MASK > max(Codec):
        raise BatchCorruptError(f"its flags {flags:#06x} are not known")
    if header.is_keyed != (header.keys_length > 0):
        raise BatchCorruptError(f"its flags {flags:#06x} do not go with {header.keys_length} bytes of keys")
    _check_times(header.base_timestamp_ms, header.max_timestamp_ms)
    begin = HEADER_BYTES + header.keys_length
    if flags & CODEC_MASK:
        payload = memoryview(batch)[begin : header.length]
        size_bytes = unpacked_bytes(header.codec, payload)
    else:
        count = _list_length(batch, begin, header.length)
        if count != header.count:
            raise BatchCorruptError(f"it says {header.count} messages, its payload {count}")
        size_bytes = header.length - begin
    if size_bytes > BATCH_BYTES_MAX or size_bytes < RECORD_BYTES_MIN * header.count:
        raise BatchCorruptError(f"{header.count} messages cannot be in a payload of {size_bytes} bytes")


def _check_times(base_ms: int, max_ms: int) -> None:
    if not (base_ms == max_ms == NO_TIMESTAMP or 0 <= base_ms <= max_ms <= TIMESTAMP_MS_MAX):
        raise BatchCorruptError(f"its timestamps go from {base_ms} to {max_ms}")


def _list_length(batch: Buffer, at: int, end: int) -> int:
    """Of the msgpack list that begins at `at`; -1 where there is none."""
    if at >= end:
        return -1
    first = batch[at]
    if first & 0xF0 == 0x90:
        return first & 0x0F
    length_bytes = {0xDC: 2, 0xDD: 4}.get(first, 0)
    if not length_bytes or at + 1 + length_bytes > end:
        return -1
    return int.from_bytes(batch[at + 1 : at + 1 + length_bytes], "big")
