import pytest

from acklog.wire.batch import encode_batch, encode_plain_batch, read_header
from acklog.wire.record import Record
from app.gateway.batching.batch_numbers import SEQUENCE_MAX, BatchNumbers
from tests.support.counting_entropy import CountingEntropy


class LargeEntropy(CountingEntropy):
    def bits64(self) -> int:
        return (1 << 64) - 2 * super().bits64()


def test_no_two_batches_have_the_same_number() -> None:
    numbers = BatchNumbers(LargeEntropy(), sequence_max=2)
    drawn = [numbers.next() for _ in range(8)]
    assert [number.base_sequence for number in drawn] == [0, 1, 2, 0, 1, 2, 0, 1]
    assert len(set(drawn)) == 8
    assert len({number.producer_id for number in drawn}) == 3


@pytest.mark.parametrize("encode", [encode_batch, encode_plain_batch])
def test_every_number_fits_into_the_header(encode: object) -> None:
    number = BatchNumbers(LargeEntropy()).next()
    assert number.producer_id >= 0
    batch = encode(  # type: ignore[operator]
        [Record(b"1")],
        producer_id=number.producer_id,
        producer_epoch=number.producer_epoch,
        base_sequence=SEQUENCE_MAX,
    )
    header = read_header(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (number.producer_id, 0, SEQUENCE_MAX)
