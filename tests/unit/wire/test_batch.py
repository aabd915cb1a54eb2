"""Batches as producers make them."""

from hypothesis import given
from hypothesis import strategies as st

from acklog.wire.batch import (
    decode_records,
    encode_batch,
    encode_plain_batch,
    stamp,
    verify_unstamped,
)
from acklog.wire.batch_run import producers_of, whole_batches
from acklog.wire.record import Record

RECORDS = st.builds(Record, body=st.binary(max_size=50), key=st.none() | st.text(max_size=10))


@given(st.lists(RECORDS, min_size=1, max_size=20))
def test_a_plain_batch_reads_as_the_batch_of_its_records(records: list[Record]) -> None:
    plain, full = encode_plain_batch([(record.body, record.key) for record in records]), encode_batch(records)
    assert decode_records(plain, verify_unstamped(plain)) == decode_records(full, verify_unstamped(full)) == records
    assert len(plain) < len(full)


def test_the_producers_of_batches_are_read_from_their_headers() -> None:
    run = b""
    for number, producer_id in enumerate((7, -1, 2**62)):
        batch = encode_batch([Record(b"1")], producer_id=producer_id, producer_epoch=0, base_sequence=40 + number)
        stamp(batch, base_offset=100 + number, leader_epoch=3, append_time_ms=1_700_000_000_000 + number)
        run += batch
    assert producers_of(run) == [(7, 40, 100, 3, 1_700_000_000_000), (2**62, 42, 102, 3, 1_700_000_000_002)]


def test_whole_batches_are_counted_up_to_a_size() -> None:
    batch = bytes(encode_batch([Record(b"1")]))
    size = len(batch)
    run = batch * 3
    assert [whole_batches(run, size * 2 + extra) for extra in (-1, 0, size - 1, size, 10_000)] == [
        size,
        2 * size,
        2 * size,
        3 * size,
        3 * size,
    ]
    assert whole_batches(run, 1) == size, "the first one in any case"
