"""How many messages batches hold: offsets may stand for what is no message, or for none any more. Pure."""

from acklog.wire.batch import BatchHeader
from acklog.wire.compacted_batch import decode_remaining
from acklog.wire.log_page import verified


def messages_from(first_offset: int, content: bytes) -> int:
    """Those at `first_offset` and behind it. Raises BatchCorruptError."""
    return sum(_messages(content, at, header, first_offset) for at, header in verified(content))


def _messages(content: bytes, at: int, header: BatchHeader, first_offset: int) -> int:
    left_out = min(max(0, first_offset - header.base_offset), header.count)
    if header.is_control or left_out == header.count:
        return 0
    if not header.is_compacted:
        return header.count - left_out
    try:
        remaining = decode_remaining(content, header, at)
    except ValueError:
        return 0  # nobody can read it
    return sum(record is not None for record in remaining[left_out:])
