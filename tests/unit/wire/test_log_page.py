"""Pages of the log, and the same page as Arrow."""

import pytest

from acklog.wire.batch import BatchCorruptError, decode_records, encode_batch, stamp, verify
from acklog.wire.log_page import headers, runs
from acklog.wire.record import Record
from acklog.wire.records_arrow import record_batches
from tests.support.control_batch import control_batch


def page(*counts: int, base_offset: int = 0) -> bytes:
    """Batches of so many records, one behind the other. The body of each record is its offset."""
    content = b""
    offset = base_offset
    for count in counts:
        batch = encode_batch([Record(b"%d" % number, key="k") for number in range(offset, offset + count)])
        stamp(batch, base_offset=offset, leader_epoch=3, append_time_ms=1_700_000_000_000 + offset)
        content += batch
        offset += count
    return content


def test_a_control_batch_holds_no_message() -> None:
    mark = control_batch(2)
    assert decode_records(mark, verify(mark)) == []
    assert offsets_of(page(2) + mark + page(1, base_offset=3), 0) == [0, 1, 3]


def offsets_of(content: bytes, first_offset: int, until: int | None = None) -> list[int]:
    found = []
    for _, first, records in runs(content, first_offset, until):
        assert [record.body for record in records] == [b"%d" % (first + at) for at in range(len(records))]
        found += range(first, first + len(records))
    return found


@pytest.mark.parametrize("first", [0, 2, 3, 4, 9])
@pytest.mark.parametrize("until", [None, 0, 3, 4, 9, 20])
def test_a_page_is_cut_to_what_was_asked_for(first: int, until: int | None) -> None:
    end = 9 if until is None else min(until, 9)
    assert offsets_of(page(3, 1, 5), first, until) == list(range(first, max(first, end)))


def test_what_lies_behind_the_end_is_not_looked_at() -> None:
    whole = page(3, 1)
    assert offsets_of(whole + b"no batch", 0, until=4) == [0, 1, 2, 3]
    with pytest.raises(BatchCorruptError):
        offsets_of(whole + b"no batch", 0)


def test_damage_is_found_where_the_way_ends() -> None:
    damaged = bytearray(page(2, 2))
    damaged[-1] ^= 1
    assert [header.base_offset for header in headers(damaged)] == [0, 2], "headers are whole"
    with pytest.raises(BatchCorruptError, match="checksum"):
        list(runs(damaged, 0))


@pytest.mark.parametrize(
    ("rows_max", "bytes_max", "sizes"), [(100, 10**6, [9]), (4, 10**6, [4, 4, 1]), (100, 1, [1] * 9)]
)
def test_as_arrow_in_pieces_of_the_asked_for_size(rows_max: int, bytes_max: int, sizes: list[int]) -> None:
    batches = list(record_batches(7, runs(page(3, 1, 5), 0), rows_max=rows_max, bytes_max=bytes_max))
    assert [batch.num_rows for batch in batches] == sizes
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [(row["partition"], row["offset"], row["key"], row["value"]) for row in rows] == [
        (7, offset, "k", b"%d" % offset) for offset in range(9)
    ]
    assert [row["appendTime"].timestamp() * 1000 - 1_700_000_000_000 for row in rows] == [0, 0, 0, 3, 4, 4, 4, 4, 4]
