from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.delivery.records import (
    Acked,
    Cause,
    Claimed,
    DeadLettered,
    DeliveryFormatError,
    GroupRemoved,
    Jumped,
    PositionCommitted,
    Returned,
    ReturnedItem,
    SkipCause,
    Skipped,
    Sought,
    Started,
    decode_records,
    encode_records,
    pack_offsets,
    unpack_ranges,
)

EVERY_KIND = [
    Started("g", 5),
    Acked("g", 0, [5, 3, 2, 1], 20),
    Returned(
        "g",
        1,
        123456,
        [ReturnedItem(7, 2, 1000, Cause.NACKED, 4, "ada", "why"), ReturnedItem(8, 16, -1, Cause.EXPIRED, 4)],
    ),
    DeadLettered("g", 1, [8, 1]),
    Sought("g", 2, 0),
    Jumped("g", 100, 93, True),
    GroupRemoved("g"),
    Skipped("g", 1, [5, 2, 0, 1], SkipCause.FILTERED),
    Claimed("g", 1, 7, "ada"),
    PositionCommitted("g", 1, 7, 3, "mine"),
]


def test_every_kind_survives_the_log() -> None:
    assert decode_records(encode_records(EVERY_KIND)) == EVERY_KIND


def test_the_bytes_on_disk_never_change() -> None:
    expected = [
        [1, "g", 5],
        [2, "g", 0, [5, 3, 2, 1], 20],
        [3, "g", 1, 123456, [[7, 2, 1000, 0, 4, "ada", "why"], [8, 16, -1, 1, 4, "", ""]]],
        [4, "g", 1, [8, 1]],
        [5, "g", 2, 0],
        [6, "g", 100, 93, True],
        [7, "g"],
        [8, "g", 1, [5, 2, 0, 1], 1],
        [9, "g", 1, 7, "ada"],
        [10, "g", 1, 7, 3, "mine"],
    ]
    assert msgspec.msgpack.decode(encode_records(EVERY_KIND)) == expected


def test_a_kind_of_a_newer_version_is_a_clear_error() -> None:
    with pytest.raises(DeliveryFormatError, match="newer"):
        decode_records(msgspec.msgpack.encode([[1, "g", 5], [99, "g"]]))


def test_fields_that_a_newer_version_adds_are_passed_over() -> None:
    assert decode_records(msgspec.msgpack.encode([[1, "g", 5, "new"]])) == [Started("g", 5)]


@pytest.mark.parametrize("runs", [[1], [1, 0], [-1, 2]])
def test_damaged_offsets_are_refused(runs: list[int]) -> None:
    with pytest.raises(DeliveryFormatError, match="damaged"):
        decode_records(encode_records([Acked("g", 0, runs, 0)]))
    with pytest.raises(DeliveryFormatError, match="damaged"):
        decode_records(encode_records([Skipped("g", 0, runs)]))


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x91"])
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(DeliveryFormatError):
        decode_records(data)


@given(st.lists(st.integers(0, 60)))
def test_offsets_are_packed_as_the_set_that_they_are(offsets: list[int]) -> None:
    ranges = list(unpack_ranges(pack_offsets(offsets)))
    assert [offset for start, end in ranges for offset in range(start, end)] == sorted(set(offsets))
    assert all(end < start for (_, end), (start, _) in pairwise(ranges))


def test_a_thousand_contiguous_offsets_cost_a_few_bytes() -> None:
    assert pack_offsets(range(5000, 6000)) == [5000, 1000]
