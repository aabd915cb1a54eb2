"""What a batch's header says of its content, held against what can be seen of that without decoding it.

A leader checks it once, when a batch comes from a gateway: it costs the same for one message as for ten thousand. What
is behind the first bytes of the payload shows when it is decoded, and harms that batch only.
"""

from acklog.wire.batch import (
    CODEC_MASK,
    FLAG_KEYED,
    HEADER_BYTES,
    KNOWN_FLAGS,
    NO_TIMESTAMP,
    BatchCorruptError,
    BatchHeader,
)
from acklog.wire.compression import Buffer, Codec, unpacked_bytes
from acklog.wire.limits import BATCH_BYTES_MAX, BATCH_RECORDS_MAX, TIMESTAMP_MS_MAX
from acklog.wire.msgpack_list import list_length

_UNKNOWN_FLAGS = 0xFFFF & ~KNOWN_FLAGS
_CODEC_MAX = int(max(Codec))

RECORD_BYTES_MIN = 3
"""The smallest message: a list, and in it an empty body."""


def check_structure(batch: Buffer, header: BatchHeader) -> None:
    """Of a whole batch whose checksums are right, and its header. Raises BatchCorruptError."""
    flags, keys_length = header.flags, header.keys_length
    codec = flags & CODEC_MASK
    if flags & _UNKNOWN_FLAGS or codec > _CODEC_MAX:
        raise BatchCorruptError(f"its flags {flags:#06x} are not known")
    if (flags & FLAG_KEYED > 0) != (keys_length > 0):
        raise BatchCorruptError(f"its flags {flags:#06x} do not go with {keys_length} bytes of keys")
    _check_times(header.base_timestamp_ms, header.max_timestamp_ms)
    begin, end, count = HEADER_BYTES + keys_length, header.length, header.count
    if count > BATCH_RECORDS_MAX:
        raise BatchCorruptError(f"it says {count} messages, a batch has at most {BATCH_RECORDS_MAX}")
    if codec:
        size_bytes = unpacked_bytes(Codec(codec), memoryview(batch)[begin:end])
    else:
        stated = list_length(batch, begin, end)
        if stated != count:
            raise BatchCorruptError(f"it says {count} messages, its payload {stated}")
        size_bytes = end - begin
    if size_bytes > BATCH_BYTES_MAX or size_bytes < RECORD_BYTES_MIN * count:
        raise BatchCorruptError(f"{count} messages cannot be in a payload of {size_bytes} bytes")


def _check_times(base_ms: int, max_ms: int) -> None:
    if not (base_ms == max_ms == NO_TIMESTAMP or 0 <= base_ms <= max_ms <= TIMESTAMP_MS_MAX):
        raise BatchCorruptError(f"its timestamps go from {base_ms} to {max_ms}")
