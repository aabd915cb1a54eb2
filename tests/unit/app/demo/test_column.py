"""Numbers by log position."""

import pytest

from app.demo.column import ABSENT, OFFSET_MAX, OffsetColumn


def test_what_was_never_put_is_absent() -> None:
    column = OffsetColumn()
    column.put(1, 2, 7)
    assert [column.get(1, offset) for offset in (-1, 0, 1, 2, 3)] == [ABSENT, ABSENT, ABSENT, 7, ABSENT]
    assert column.get(0, 2) == ABSENT


def test_a_number_put_twice_counts_once_and_the_second_one_stays() -> None:
    column = OffsetColumn()
    column.put(0, 0, 1)
    column.put(0, 0, 2)
    assert (len(column), column.get(0, 0)) == (1, 2)


def test_items_come_by_partition_and_offset() -> None:
    column = OffsetColumn()
    for partition, offset in ((2, 0), (0, 3), (0, 1)):
        column.put(partition, offset, offset)
    assert list(column.items()) == [(0, 1, 1), (0, 3, 3), (2, 0, 0)]


@pytest.mark.parametrize(("offset", "value"), [(-1, 0), (OFFSET_MAX + 1, 0), (0, -1)])
def test_a_stray_place_or_value_is_refused(offset: int, value: int) -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        OffsetColumn().put(0, offset, value)
