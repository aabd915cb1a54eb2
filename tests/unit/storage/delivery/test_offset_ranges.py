import random
from itertools import pairwise

import pytest

from storage.delivery.offset_ranges import OffsetRanges


def test_adjacent_and_overlapping_ranges_become_one() -> None:
    ranges = OffsetRanges()
    for start, end in ((10, 12), (14, 16), (12, 14), (5, 11), (30, 31), (15, 29)):
        ranges.add(start, end)
    assert list(ranges) == [(5, 29), (30, 31)]
    assert (ranges.offset_count, ranges.range_count, ranges.end) == (25, 2, 31)


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        OffsetRanges().add(3, 3)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_a_set_whatever_the_order(seed: int) -> None:
    random_source = random.Random(seed)
    ranges, model = OffsetRanges(), set()
    span = 6000
    for step in range(4000):
        start = random_source.randrange(span)
        end = start + random_source.choice((1, 1, 1, 1, 2, 3, 200 if step % 50 == 0 else 1))
        if random_source.random() < 0.2:
            ranges.remove(start, end)
            model.difference_update(range(start, end))
        else:
            ranges.add(start, end)
            model.update(range(start, end))
        if step % 500 == 499:
            if random_source.random() < 0.5:
                bound = random_source.randrange(span // 3)
                ranges.remove_below(bound)
                model = {offset for offset in model if offset >= bound}
            else:
                bound = random_source.randrange(span // 2, span)
                ranges.remove_from(bound)
                model = {offset for offset in model if offset < bound}
            check(ranges, model, span)
    while model:
        ranges.remove_first()
        first = min(model)
        while first in model:
            model.remove(first)
            first += 1
    assert list(ranges) == []
    assert (ranges.offset_count, ranges.range_count) == (0, 0)


def check(ranges: OffsetRanges, model: set[int], span: int) -> None:
    assert [offset for start, end in ranges for offset in range(start, end)] == sorted(model)
    pairs = list(ranges)
    assert all(end < start for (_, end), (start, _) in pairwise(pairs))
    assert (ranges.offset_count, ranges.range_count) == (len(model), len(pairs))
    following = None
    for offset in range(span + 300, -1, -1):
        starts_here = offset in model and offset - 1 not in model
        following = offset if starts_here else following
        assert (offset in ranges) == (offset in model)
        assert ranges.next_start(offset) == following
        found = ranges.range_from(offset)
        assert found == ((offset, ranges.end_of(offset)) if offset in model else _range_at(pairs, following))
    assert ranges.count_below(span // 2) == len([offset for offset in model if offset < span // 2])


def _range_at(pairs: list[tuple[int, int]], start: int | None) -> tuple[int, int] | None:
    return next((pair for pair in pairs if pair[0] == start), None)


def test_what_is_taken_out_of_the_middle_leaves_both_ends() -> None:
    ranges = OffsetRanges()
    ranges.add(0, 10)
    ranges.remove(4, 6)
    assert list(ranges) == [(0, 4), (6, 10)]
    ranges.remove(2, 20)
    assert list(ranges) == [(0, 2)]
    assert ranges.first == 0
    ranges.remove(0, 2)
    assert list(ranges) == []


def test_thousands_of_holes_in_one_range() -> None:
    ranges = OffsetRanges()
    ranges.add(0, 10_000)
    for offset in range(1, 10_000, 2):
        ranges.remove(offset, offset + 1)
    assert (ranges.range_count, ranges.offset_count) == (5_000, 5_000)
    ranges.remove(0, 9_998)
    assert list(ranges) == [(9_998, 9_999)]
