"""Whole batches that stand back to back."""

import struct

from acklog.wire.batch import HEADER_BYTES, NO_PRODUCER, Buffer

_LENGTH = struct.Struct(">4xI")
_PRODUCER = struct.Struct(">4xIqiq32xqi")


def whole_batches(buffer: Buffer, bytes_max: int) -> int:
    """How many bytes of the whole batches that stand back to back in `buffer` are at most `bytes_max`: all of the
    first one in any case."""
    at, end = 0, len(buffer)
    while at < end:
        length: int = _LENGTH.unpack_from(buffer, at)[0]
        if length < HEADER_BYTES or (at and at + length > bytes_max):
            break
        at += length
    return min(at, end)


def producers_of(buffer: Buffer) -> list[tuple[int, int, int, int, int]]:
    """(producer id, base sequence, base offset, leader epoch, append time in ms) of the batches that stand back to back
    in `buffer`, whole and unharmed, but for those without a producer."""
    found = []
    at, end = 0, len(buffer)
    while at < end:
        length, base_offset, epoch, append_ms, producer_id, sequence = _PRODUCER.unpack_from(buffer, at)
        if producer_id != NO_PRODUCER:
            found.append((producer_id, sequence, base_offset, epoch, append_ms))
        at += length
    return found
