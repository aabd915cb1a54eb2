"""A batch that is the log's own, as no part of the product writes one yet."""

from crc32c import crc32c

from acklog.wire.batch import CONTENT_AT, FLAG_CONTROL, encode_opaque_batch, stamp


def control_batch(base_offset: int) -> bytes:
    """A mark of the log itself; what it says is not messages."""
    batch = encode_opaque_batch(b"committed", count=1)
    batch[CONTENT_AT : CONTENT_AT + 2] = FLAG_CONTROL.to_bytes(2, "big")
    batch[CONTENT_AT - 4 : CONTENT_AT] = crc32c(batch[CONTENT_AT:]).to_bytes(4, "big")
    stamp(batch, base_offset=base_offset, leader_epoch=3, append_time_ms=1_700_000_000_000)
    return bytes(batch)
