"""The judge of what is said of keys complains of what it should."""

from math import inf

import pytest

from tests.sim.cluster.view_judgement import Latest, Page, ViewJudge, Write
from tests.sim.history import Outcome


def judge(*writes: Write, surely_kept_ms: float = 0) -> ViewJudge:
    found = ViewJudge(surely_kept_ms=surely_kept_ms)
    for each in writes:
        found.begin(each)
    return found


def stored(serial: int, partition: int, offset: int, *, has_value: bool = True) -> Write:
    began_ms = serial * 100.0
    return Write(serial, "k", has_value, began_ms, began_ms + 10, Outcome.OK, (partition, offset))


def unknown(serial: int, *, has_value: bool = True) -> Write:
    return Write(serial, "k", has_value, serial * 100.0)


def latest(began_ms: float, serial: int | None, place: tuple[int, int] | None = None) -> Latest:
    return Latest("k", began_ms, began_ms + 5, serial, place)


def test_an_older_value_than_one_that_was_acknowledged_is_wrong() -> None:
    view = judge(stored(1, 0, 0), stored(2, 0, 1))
    assert view.judge_latest(latest(500, 2, (0, 1))) is None
    assert view.judge_latest(latest(500, 1, (0, 0)))
    assert view.judge_latest(latest(500, None))
    assert view.judge_latest(latest(205, 1, (0, 0))) is None, "the second was not acknowledged yet"
    assert view.judge_latest(latest(500, 2, (0, 7)))
    assert view.judge_latest(latest(500, 3, (0, 7)))


def test_also_where_it_is_in_another_partition() -> None:
    view = judge(stored(1, 0, 9), stored(2, 1, 0))
    assert view.judge_latest(latest(500, 1, (0, 9)))
    assert view.judge_latest(latest(500, 2, (1, 0))) is None


def test_what_was_removed_does_not_come_back() -> None:
    view = judge(stored(1, 0, 0), stored(2, 0, 1, has_value=False))
    assert view.judge_latest(latest(500, None)) is None
    assert view.judge_latest(latest(500, 1, (0, 0)))
    assert view.judge_latest(latest(500, 2, (0, 1)))


def test_what_is_unknown_may_come_late_and_then_it_stays() -> None:
    view = judge(unknown(1), stored(2, 0, 0))
    assert view.judge_latest(latest(500, 2, (0, 0))) is None
    assert view.judge_latest(latest(600, 1, (0, 1))) is None
    assert view.judge_latest(latest(700, 2, (0, 0)))


def test_an_unknown_tombstone_may_be_why_there_is_nothing() -> None:
    assert judge(unknown(1, has_value=False), stored(2, 0, 0)).judge_latest(latest(500, None)) is None
    assert judge(stored(1, 0, 0), unknown(2)).judge_latest(latest(500, None))
    assert judge(stored(1, 0, 0), unknown(2, has_value=False)).judge_latest(latest(150, None))


@pytest.mark.parametrize(("writes", "found", "is_right"), [
    ([stored(1, 0, 0), stored(2, 0, 1)], {1: 2}, True),
    ([stored(1, 0, 0), stored(2, 0, 1)], {0: 1}, False),
    ([stored(1, 0, 0), stored(2, 0, 1)], {0: 2}, False),
    ([stored(1, 0, 0), unknown(2)], {}, True),
    ([stored(1, 0, 0)], {}, False),
    ([stored(1, 0, 0, has_value=False)], {}, True),
])  # fmt: skip
def test_a_page_has_what_nothing_follows(writes: list[Write], found: dict[int, int], is_right: bool) -> None:
    page = Page(0, 0, 2, 1_000, 1_005, found)
    assert (judge(*writes).judge_page(page) == []) is is_right


def test_a_page_has_all_that_is_young() -> None:
    view = judge(stored(1, 0, 0), stored(2, 0, 1), surely_kept_ms=1_000)
    assert view.judge_page(Page(0, 0, 2, 800, 900, {1: 2}))
    assert view.judge_page(Page(0, 0, 2, 1_150, 1_160, {1: 2})) == []


def test_only_what_was_there_has_to_be_in_a_page() -> None:
    view = judge(stored(9, 0, 0))
    assert view.judge_page(Page(0, 0, 1, 905, 920, {})) == []
    assert view.judge_page(Page(1, 0, 1, 1_000, 1_005, {})) == []


def test_last_values_are_those_of_which_all_is_known() -> None:
    assert judge(stored(1, 0, 0), stored(2, 0, 1)).last_values() == {"k": 2}
    assert judge(stored(1, 0, 0), unknown(2)).last_values() == {}
    assert judge(stored(1, 0, 0), stored(2, 0, 1, has_value=False)).last_values() == {}
    failed = Write(2, "k", True, 200, inf, Outcome.FAILED)
    assert judge(stored(1, 0, 0), failed).last_values() == {"k": 1}
