import msgspec
import pytest

from acklog.wire.batch import (
    FLAG_COMPACTED,
    BatchCorruptError,
    DedupKey,
    decode_keys,
    encode_batch,
    read_header,
    stamp,
    verify,
)
from acklog.wire.batch_run import producers_of
from acklog.wire.batch_structure import check_structure
from acklog.wire.compacted_batch import (
    NEVER_MS,
    decode_remaining,
    encode_compacted,
    encode_placeholder,
    from_offset,
    is_placeholder,
    stored_records,
)
from acklog.wire.compression import Codec
from acklog.wire.log_page import runs
from acklog.wire.record import Record, tag_bit
from tests.support.compaction import batch_at, tombstone, value

RECORDS = [value("a", "1"), Record(b"2", "b", {"h": "v"}, ["new"], 5, "text/plain"), tombstone("a"), value(None, "4")]


def made(codec: Codec = Codec.NONE) -> bytes:
    batch = encode_batch(
        RECORDS,
        codec=codec,
        keys=[DedupKey(1, "once", b"12345678", 2)],
        producer_id=9,
        producer_epoch=2,
        base_sequence=70,
    )
    stamp(batch, base_offset=40, leader_epoch=3, append_time_ms=1234)
    return bytes(batch)


@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_left_stays_at_its_offset(codec: Codec) -> None:
    batch = made(codec)
    header = read_header(batch)
    compacted_ms, stored = stored_records(batch, header)
    assert compacted_ms == NEVER_MS
    assert [each.record for each in stored] == RECORDS
    left = encode_compacted(batch, header, stored[1:3], compacted_ms=99)
    new_header = verify(left)
    assert decode_remaining(left, new_header) == [None, RECORDS[1], RECORDS[2], None]
    assert new_header.flags == header.flags | FLAG_COMPACTED
    changed = {"length", "stamp_crc", "content_crc", "flags"}
    for name in header.__struct_fields__:
        assert (getattr(new_header, name) == getattr(header, name)) or name in changed
    assert decode_keys(left, new_header) == decode_keys(batch, header)
    assert producers_of(left) == producers_of(batch)
    assert new_header.tag_filter & tag_bit("new")
    again_ms, again = stored_records(left, new_header)
    assert again_ms == 99
    assert [(each.index, each.record) for each in again] == [(1, RECORDS[1]), (2, RECORDS[2])]


def test_fields_that_are_not_known_yet_stay() -> None:
    known = [b"1", "a", *[None] * (len(Record.__struct_fields__) - 2)]
    newer = msgspec.msgpack.encode([[*known, "newer"], [b"2", "b"]])
    batch = encode_batch([value("a", "1"), value("b", "2")], payload=newer)
    stamp(batch, base_offset=0, leader_epoch=0, append_time_ms=0)
    header = read_header(batch)
    left = encode_compacted(batch, header, stored_records(batch, header)[1][:1], compacted_ms=0)
    assert b"newer" in left


def test_a_placeholder_stands_for_neighbours_and_is_cut_where_it_has_to_begin() -> None:
    header = read_header(made())
    placeholder = encode_placeholder(header, base_offset=10)
    found = verify(placeholder)
    assert (found.base_offset, found.next_offset) == (10, 44)
    assert (found.leader_epoch, found.append_time_ms) == (3, 1234)
    assert is_placeholder(placeholder, found)
    assert decode_remaining(placeholder, found) == [None] * 34
    assert not producers_of(placeholder)
    rest = from_offset(bytes(placeholder) + made(), 20)
    cut = verify(rest)
    assert (cut.base_offset, cut.next_offset) == (20, 44)
    assert bytes(rest)[cut.length :] == made()
    assert from_offset(made(), 41) == made(), "others begin where they begin"
    assert from_offset(placeholder, 10) is placeholder


def test_a_page_has_what_is_left_in_rows_of_neighbours() -> None:
    batch = batch_at(10, [value("k", str(number)) for number in range(6)])
    header = read_header(batch)
    stored = stored_records(batch, header)[1]
    left = encode_compacted(batch, header, [stored[1], stored[2], stored[5]], compacted_ms=0)
    assert [(first, [each.body for each in found]) for _, first, found in runs(left, 0)] == [
        (11, [b"1", b"2"]),
        (15, [b"5"]),
    ]
    assert [(first, len(found)) for _, first, found in runs(left, 12, 15)] == [(12, 1)]
    assert not list(runs(encode_placeholder(header, base_offset=0), 0))


@pytest.mark.parametrize("index", [-1, 4])
def test_an_index_beyond_the_batch_is_damage(index: int) -> None:
    batch = made()
    header = read_header(batch)
    stored = msgspec.structs.replace(stored_records(batch, header)[1][0], index=index)
    left = encode_compacted(batch, header, [stored], compacted_ms=0)
    with pytest.raises(BatchCorruptError):
        decode_remaining(left, read_header(left))
    with pytest.raises(BatchCorruptError):
        stored_records(left, read_header(left))


def test_no_producer_may_send_one() -> None:
    batch = made()
    header = read_header(batch)
    left = encode_compacted(batch, header, [], compacted_ms=0)
    with pytest.raises(BatchCorruptError):
        check_structure(left, read_header(left))
