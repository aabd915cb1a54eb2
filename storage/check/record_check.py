"""Whether the messages of a verified batch can be decoded."""

import msgspec

from acklog.wire.batch import BatchCorruptError, BatchHeader, decode_keys
from acklog.wire.compacted_batch import decode_remaining


def records_fault(data: bytes, header: BatchHeader) -> str | None:
    """What is wrong with the content of a batch whose checksums are right; None if nothing is."""
    try:
        decode_remaining(data, header)
        keys = decode_keys(data, header)
    except BatchCorruptError as error:
        return error.reason
    except (msgspec.DecodeError, ValueError, ImportError) as error:
        return f"{type(error).__name__}: {error}"
    if any(not 0 <= key.index < header.count for key in keys):
        return "an idempotency key belongs to no message"
    return None
