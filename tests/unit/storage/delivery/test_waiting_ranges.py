"""Ranges of what waits of a key, against a plain set."""

from hypothesis import given
from hypothesis import strategies as st

from storage.delivery.waiting_ranges import WaitingRanges

_RANGES = st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda drawn: (drawn[0], drawn[0] + drawn[1]))


def ranges_of(offsets: set[int]) -> list[tuple[int, int]]:
    starts = sorted(offset for offset in offsets if offset - 1 not in offsets)
    ends = sorted(offset + 1 for offset in offsets if offset + 1 not in offsets)
    return list(zip(starts, ends, strict=True))


def taken_out(ranges: WaitingRanges) -> list[tuple[int, int]]:
    """From the beginning on, until nothing is left."""
    found = []
    while ranges:
        found.append(ranges.first_range)
        ranges.remove(*ranges.first_range)
    return found


@given(_RANGES, st.lists(st.tuples(st.booleans(), _RANGES), max_size=20))
def test_it_is_a_set(first: tuple[int, int], changes: list[tuple[bool, tuple[int, int]]]) -> None:
    ranges, offsets = WaitingRanges(*first), set(range(*first))
    for is_added, (start, end) in changes:
        if is_added:
            ranges.add(start, end)
            offsets |= set(range(start, end))
        else:
            ranges.remove(start, end)
            offsets -= set(range(start, end))
        expected = ranges_of(offsets)
        assert (bool(ranges), ranges.range_count) == (bool(offsets), len(expected))
        if offsets:
            assert (ranges.first, ranges.end) == (min(offsets), max(offsets) + 1)
    assert taken_out(ranges) == ranges_of(offsets)
