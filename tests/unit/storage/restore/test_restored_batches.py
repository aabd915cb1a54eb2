"""What a restore appends: at the offsets that it had, without gaps, once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acklog.wire.batch import FLAG_CONTROL, encode_batch, encode_control_batch, read_header, stamp
from acklog.wire.compacted_batch import is_placeholder
from acklog.wire.log_page import runs, verified
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from storage.log.stamped_run import StampedRun
from storage.restore.restored_batches import (
    PLACEHOLDER_RECORDS_MAX,
    PLACEHOLDERS_MAX,
    LogTail,
    restored_batches,
)

EMPTY = LogTail(0, -1, 9)


def batch(base_offset: int, count: int = 1, *, append_ms: int = 1_000, epoch: int = 3) -> bytes:
    made = encode_batch([Record(b"%d" % number) for number in range(base_offset, base_offset + count)])
    stamp(made, base_offset=base_offset, leader_epoch=epoch, append_time_ms=append_ms)
    return bytes(made)


_BATCHES = st.lists(st.tuples(st.integers(0, 200_000), st.integers(1, 5), st.integers(0, 1_000)), max_size=8)


def page_of(pieces: list[tuple[int, int, int]]) -> tuple[bytes, dict[int, tuple[bytes, int]], int]:
    """A page with gaps in it; (body, append time) by offset; the end."""
    content, held, offset, append_ms = b"", dict[int, tuple[bytes, int]](), 0, 0
    for gap, count, later_ms in pieces:
        offset += gap
        append_ms += later_ms
        content += batch(offset, count, append_ms=append_ms)
        held |= {each: (b"%d" % each, append_ms) for each in range(offset, offset + count)}
        offset += count
    return content, held, offset


@settings(deadline=None)
@given(_BATCHES, st.integers(0, 100_000))
def test_the_log_has_every_message_at_its_offset_and_nothing_else(
    pieces: list[tuple[int, int, int]], more: int
) -> None:
    content, held, end = page_of(pieces)
    made = b"".join(restored_batches(content, EMPTY, fill_to=end + more))
    if not made:
        assert end + more == 0
        return
    run = StampedRun(made)
    assert (run.base_offset, run.end_offset) == (0, end + more)
    assert run.epochs == [(9, 0)]
    found = {
        first + index: (record.body, header.append_time_ms)
        for header, first, records in runs(made, 0)
        for index, record in enumerate(records)
    }
    assert found == held


@settings(deadline=None)
@given(_BATCHES, st.integers(0, 8))
def test_what_is_there_is_left_out_when_it_comes_again(pieces: list[tuple[int, int, int]], first: int) -> None:
    content, _, end = page_of(pieces)
    whole = restored_batches(content, EMPTY)
    there = whole[: min(first, len(whole))]
    tail = EMPTY
    if there:
        header = read_header(there[-1])
        tail = LogTail(header.next_offset, header.append_time_ms, 9)
    assert there + restored_batches(content, tail) == whole
    assert restored_batches(content, LogTail(end, 10**9, 9)) == []


def test_a_long_stretch_of_nothing_takes_several_calls() -> None:
    far = PLACEHOLDER_RECORDS_MAX * (PLACEHOLDERS_MAX + 1)
    first = restored_batches(batch(far), EMPTY)
    assert len(first) == PLACEHOLDERS_MAX
    header = read_header(first[-1])
    assert header.count == PLACEHOLDER_RECORDS_MAX
    assert all(is_placeholder(each, read_header(each)) for each in first)
    rest = restored_batches(batch(far), LogTail(header.next_offset, header.append_time_ms, 9))
    assert [read_header(each).base_offset for each in rest] == [far - PLACEHOLDER_RECORDS_MAX, far]


def test_exactly_as_many_places_as_one_call_fills() -> None:
    far = PLACEHOLDER_RECORDS_MAX * PLACEHOLDERS_MAX
    made = restored_batches(batch(far), EMPTY)
    assert len(made) == PLACEHOLDERS_MAX + 1


def test_a_log_that_ends_within_a_batch_is_another_one() -> None:
    with pytest.raises(ServerError) as raised:
        restored_batches(batch(0, 4), LogTail(2, 1_000, 9))
    assert raised.value.code is ProblemCode.RESTORE_CONFLICT
    assert raised.value.extra == {"log_end": 2}


def _control() -> bytes:
    made = encode_control_batch(b"\x90", count=1)
    stamp(made, base_offset=0, leader_epoch=1, append_time_ms=1)
    assert read_header(made).flags & FLAG_CONTROL
    return bytes(made)


def _flipped() -> bytes:
    made = bytearray(batch(0))
    made[-1] ^= 1
    return bytes(made)


@pytest.mark.parametrize(
    "content",
    [b"x", _flipped(), batch(0)[:-1], _control(), batch(0, append_ms=2_000) + batch(1, append_ms=1_999)],
    ids=["no batch", "a flipped bit", "cut off", "a control batch", "append times that fall"],
)
def test_what_is_no_batch_of_messages_is_refused(content: bytes) -> None:
    with pytest.raises(ServerError) as raised:
        restored_batches(content, EMPTY)
    assert raised.value.code is ProblemCode.INVALID_FIELD
    assert raised.value.field == "body"


def test_the_pages_own_bytes_are_left_alone() -> None:
    content = batch(0)
    before = bytes(content)
    restored_batches(content, EMPTY)
    assert content == before
    assert [header.leader_epoch for _, header in verified(content)] == [3]
