"""How many messages a batch may have: what its header says is room in memory, whatever there is in its payload."""

import struct

import pytest
from msgspec.structs import replace

from acklog.wire.batch import (
    BatchCorruptError,
    BatchHeader,
    decode_records,
    encode_again,
    encode_opaque_batch,
    read_header,
    verify,
    verify_unstamped,
)
from acklog.wire.batch_structure import check_structure
from acklog.wire.compacted_batch import decode_remaining, encode_placeholder, stored_records
from acklog.wire.compression import Codec, compress
from acklog.wire.limits import BATCH_RECORDS_MAX
from acklog.wire.record import Record
from tests.support.compaction import batch_at

EMPTY_RECORD = b"\x91\xc4\x00"


def payload_of(count: int) -> bytes:
    """Of so many empty messages."""
    return b"\xdd" + struct.pack(">I", count) + EMPTY_RECORD * count


def compressed(payload: bytes, *, count: int, codec: Codec) -> tuple[bytes, BatchHeader]:
    """A batch of a few kilobytes, whatever it unpacks to."""
    plain = batch_at(0, [Record(b"1")])
    header = replace(read_header(plain), count=count, flags=int(codec))
    batch = bytes(encode_again(header, compress(codec, payload)))
    return batch, verify(batch)


def test_a_leader_takes_batches_up_to_the_limit() -> None:
    for count, is_taken in ((BATCH_RECORDS_MAX, True), (BATCH_RECORDS_MAX + 1, False)):
        batch = encode_opaque_batch(payload_of(count), count=count)
        header = verify_unstamped(batch)
        if is_taken:
            check_structure(batch, header)
        else:
            with pytest.raises(BatchCorruptError, match="at most"):
                check_structure(batch, header)


@pytest.mark.parametrize("codec", [Codec.ZSTD, Codec.LZ4])
def test_what_unpacks_to_more_is_not_decoded(codec: Codec) -> None:
    """12 million messages fit into what a batch may unpack to, and would take a gigabyte."""
    batch, header = compressed(payload_of(BATCH_RECORDS_MAX + 1), count=BATCH_RECORDS_MAX + 1, codec=codec)
    assert len(batch) < 200_000
    for decode in (decode_records, decode_remaining, stored_records):
        with pytest.raises(BatchCorruptError):
            decode(batch, header)


def test_what_holds_more_than_it_says_is_not_decoded() -> None:
    batch, header = compressed(payload_of(500_000), count=3, codec=Codec.ZSTD)
    for decode in (decode_records, decode_remaining, stored_records):
        with pytest.raises(BatchCorruptError, match="says 3 messages and holds 500000"):
            decode(batch, header)


def test_a_placeholder_stands_for_as_many_and_no_more() -> None:
    header = read_header(batch_at(0, [Record(b"1")]))
    for count, is_taken in ((BATCH_RECORDS_MAX, True), (BATCH_RECORDS_MAX + 1, False)):
        batch = bytes(encode_placeholder(replace(header, count=count), base_offset=0))
        found = verify(batch)
        if is_taken:
            assert decode_remaining(batch, found) == [None] * count
        else:
            with pytest.raises(BatchCorruptError, match="at most"):
                decode_remaining(batch, found)
