import pytest

from storage.log.index import IndexDamagedError, SegmentIndex, index_from_bytes, index_to_bytes

FIELDS = (0, 20, 2000, 1000, 1019, -1)


def index_of_twenty() -> SegmentIndex:
    index = SegmentIndex(250)
    for number in range(20):
        index.add(number, number * 100, 1000 + number, 100)
    return index


def test_a_row_per_interval_and_lookups() -> None:
    index = index_of_twenty()
    assert list(index.offsets) == [0, 3, 6, 9, 12, 15, 18]
    assert index.floor(0) == (0, 0)
    assert index.floor(5) == (3, 300)
    assert index.floor(99) == (18, 1800)
    assert index.following(5) == 6
    assert index.following(18) is None
    assert [index.offset_before_time(time) for time in (0, 1003, 1004, 9999)] == [0, 0, 3, 18]
    index.truncate(600)
    assert list(index.offsets) == [0, 3]


def test_stored_and_read_back() -> None:
    index, fields = index_from_bytes(index_to_bytes(index_of_twenty(), FIELDS), 250)
    assert fields == FIELDS
    assert (index.offsets, index.positions) == (index_of_twenty().offsets, index_of_twenty().positions)
    assert index.times_ms == index_of_twenty().times_ms


def test_every_flipped_byte_and_every_truncation_is_noticed() -> None:
    whole = index_to_bytes(index_of_twenty(), FIELDS)
    harmed = [whole[:length] for length in range(len(whole))]
    harmed += [whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :] for at in range(len(whole))]
    for content in harmed:
        with pytest.raises(IndexDamagedError):
            index_from_bytes(content, 250)
