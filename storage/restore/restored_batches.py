"""Batches of a backup, made ready for the log of the topic that is restored: pure.

They keep their offsets, their append times and what is in them. The leader stamps them with its own epoch: epochs are
given out by the coordination store, and those of another history mean nothing here (rule R1). Offsets that the backup
has no batch of get placeholders, as compaction leaves them, so that the log has no gaps and begins at 0 as every log
does.
"""

from typing import NamedTuple

from acklog.wire.batch import (
    FLAG_CONTROL,
    FLAG_TRANSACTIONAL,
    NO_PRODUCER,
    NO_TIMESTAMP,
    BatchCorruptError,
    BatchHeader,
    Buffer,
    stamp,
)
from acklog.wire.batch_structure import check_structure
from acklog.wire.compacted_batch import decode_remaining, encode_placeholder
from acklog.wire.limits import TIMESTAMP_MS_MAX
from acklog.wire.log_page import verified
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError

PLACEHOLDER_RECORDS_MAX = 65_536
"""As many as compaction makes one of: who reads makes room for each."""
PLACEHOLDERS_MAX = 4_096
"""That one call may make; the next one goes on where it ended."""


class LogTail(NamedTuple):
    """Where the log goes on, and what it may not fall behind: its end, its last append time (-1: it has none), and the
    epoch of who leads it."""

    end: int
    append_ms: int
    epoch: int


def restored_batches(page: Buffer, tail: LogTail, *, fill_to: int = -1) -> list[bytearray]:
    """What of the page the log does not have yet, stamped, with placeholders in front of whatever does not follow, and
    behind it up to `fill_to`. Where more than PLACEHOLDERS_MAX were needed, it ends with these.

    Raises ServerError INVALID_FIELD for what is no batch of messages in clear, or falls behind the one before, and
    RESTORE_CONFLICT where the log ends within a batch.
    """
    made: list[bytearray] = []
    room = PLACEHOLDERS_MAX
    for header, batch in _checked(page):
        if header.next_offset <= tail.end:
            continue  # a call that comes again, or goes on where an earlier one was cut off
        if header.base_offset < tail.end:
            raise _conflict(header, tail.end)
        if header.append_time_ms < tail.append_ms:
            detail = f"the batch at offset {header.base_offset} was appended before the one in front of it"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field="body")
        filled_ms = header.append_time_ms if tail.append_ms < 0 else tail.append_ms
        fillers = _placeholders(tail, header.base_offset, append_ms=filled_ms, limit=room)
        made += fillers
        room -= len(fillers)
        if tail.end + len(fillers) * PLACEHOLDER_RECORDS_MAX < header.base_offset:
            return made
        stamp(
            batch,
            base_offset=header.base_offset,
            leader_epoch=tail.epoch,
            append_time_ms=header.append_time_ms,
        )
        made.append(batch)
        tail = LogTail(header.next_offset, header.append_time_ms, tail.epoch)
    return made + _placeholders(tail, fill_to, append_ms=max(tail.append_ms, 0), limit=room)


def _checked(page: Buffer) -> list[tuple[BatchHeader, bytearray]]:
    """Each batch as it came, with its header. Raises ServerError INVALID_FIELD."""
    found: list[tuple[BatchHeader, bytearray]] = []
    view = memoryview(page)
    try:
        for at, header in verified(page):
            header.check_clear()
            batch = bytearray(view[at : at + header.length])
            if header.flags & (FLAG_CONTROL | FLAG_TRANSACTIONAL):
                raise BatchCorruptError("it holds no messages")
            if header.is_compacted:
                decode_remaining(batch, header)
            else:
                check_structure(batch, header)
            if not 0 <= header.append_time_ms <= TIMESTAMP_MS_MAX:
                raise BatchCorruptError(f"its append time is {header.append_time_ms}")
            found.append((header, batch))
    except ValueError as error:
        detail = f"batch {len(found)} of the body cannot be restored: {error}"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="body") from error
    return found


def _placeholders(tail: LogTail, until: int, *, append_ms: int, limit: int) -> list[bytearray]:
    """In the place of all from the log's end to `until`, so many at most."""
    made: list[bytearray] = []
    at = tail.end
    while at < until and len(made) < limit:
        end = min(until, at + PLACEHOLDER_RECORDS_MAX)
        made.append(encode_placeholder(_nothing(at, end, tail.epoch, append_ms), base_offset=at))
        at = end
    return made


def _nothing(start: int, end: int, epoch: int, append_ms: int) -> BatchHeader:
    """The header of a batch of these offsets that holds nothing."""
    return BatchHeader(
        length=0,
        base_offset=start,
        leader_epoch=epoch,
        append_time_ms=append_ms,
        stamp_crc=0,
        content_crc=0,
        flags=0,
        producer_epoch=NO_PRODUCER,
        count=end - start,
        base_timestamp_ms=NO_TIMESTAMP,
        max_timestamp_ms=NO_TIMESTAMP,
        producer_id=NO_PRODUCER,
        base_sequence=NO_PRODUCER,
        tag_filter=0,
        keys_length=0,
    )


def _conflict(header: BatchHeader, end: int) -> ServerError:
    detail = f"The log ends at {end}, within the batch from {header.base_offset} to {header.next_offset}."
    return ServerError(ProblemCode.RESTORE_CONFLICT, detail, field="body", extra={"log_end": end})
