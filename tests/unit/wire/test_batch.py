"""Batches as producers make them."""

from hypothesis import given
from hypothesis import strategies as st

from acklog.wire.batch import encode_batch, encode_plain_batch
from acklog.wire.record import Record

RECORDS = st.builds(Record, body=st.binary(max_size=50), key=st.none() | st.text(max_size=10))


@given(st.lists(RECORDS, min_size=1, max_size=20))
def test_a_plain_batch_is_the_batch_of_its_records(records: list[Record]) -> None:
    assert encode_plain_batch(records) == encode_batch(records)
