"""Ranges of offsets: cutting, joining, limiting. Nothing is lost and nothing is there twice."""

from hypothesis import given
from hypothesis import strategies as st

from pyspark_acklog.ranges import OffsetRange, limited, split

OFFSETS = st.integers(0, 10_000)


def a_range(start: int, end: int, partition: int = 0) -> OffsetRange:
    return OffsetRange("t", "id", partition, start, end)


@given(OFFSETS, OFFSETS, st.integers(1, 5_000), st.integers(1, 200))
def test_slices_are_the_whole(start: int, length: int, bytes_max: int, message_bytes: int) -> None:
    whole = a_range(start, start + length)
    slices = split(whole, bytes_per_offset=message_bytes, bytes_max=bytes_max)
    assert [offset for each in slices for offset in (each.start, each.end)] == sorted(
        offset for each in slices for offset in (each.start, each.end)
    )
    assert sum(each.length for each in slices) == length
    if slices:
        assert (slices[0].start, slices[-1].end) == (whole.start, whole.end)
        limit = max(1, bytes_max // message_bytes)
        assert all(each.length <= limit * 1.25 + 1 for each in slices)
        assert not any(each.is_empty for each in slices)


def test_a_small_tail_is_joined() -> None:
    assert split(a_range(0, 105), bytes_per_offset=1, bytes_max=50) == [a_range(0, 50), a_range(50, 105)]
    assert split(a_range(0, 120), bytes_per_offset=1, bytes_max=50) == [
        a_range(0, 50),
        a_range(50, 100),
        a_range(100, 120),
    ]
    assert split(a_range(7, 7), bytes_per_offset=1, bytes_max=50) == []


@given(st.lists(st.tuples(OFFSETS, OFFSETS), max_size=6), st.integers(0, 20_000))
def test_a_limit_is_kept_and_used(bounds: list[tuple[int, int]], messages_max: int) -> None:
    ranges = [a_range(start, start + length, number) for number, (start, length) in enumerate(bounds)]
    cut = limited(ranges, messages_max=messages_max)
    assert sum(each.length for each in cut) == min(messages_max, sum(each.length for each in ranges))
    assert all(one.start == other.start and one.end <= other.end for one, other in zip(cut, ranges, strict=True))


def test_a_small_partition_does_not_starve_behind_a_large_one() -> None:
    small, large = limited([a_range(0, 1, 0), a_range(0, 1_000_000, 1)], messages_max=10)
    assert (small.length, large.length) == (1, 9)


def test_within() -> None:
    assert a_range(3, 9).within(5, 7) == a_range(5, 7)
    assert a_range(3, 9).within(None, 100) == a_range(3, 9)
    assert a_range(3, 9).within(20, 30).is_empty
