"""Medians, ratios round by round, and the curve of percentiles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtests.rounds import CURVE_NINES, nines_of, ratio_of, spread_of, tail_curve


def test_the_median_and_range_of_rounds() -> None:
    spread = spread_of([30.0, 10.0, 20.0])
    assert (spread.median, spread.low, spread.high, spread.relative) == (20.0, 10.0, 30.0, 1.0)
    assert spread_of([4.0]).relative == 0
    assert spread_of([1.0, 3.0]).median == 2.0
    with pytest.raises(ValueError, match="no rounds"):
        spread_of([])


def test_a_ratio_is_that_of_the_rounds_and_not_of_the_medians() -> None:
    """The machine was ten times slower in two of three rounds, for the limit and the result alike."""
    ratio = ratio_of([500.0, 50.0, 40.0], [1000.0, 100.0, 100.0])
    assert (ratio.median, ratio.low, ratio.high) == (0.5, 0.4, 0.5)


def test_a_ratio_needs_a_positive_limit_for_every_round() -> None:
    with pytest.raises(ValueError, match="shorter"):
        ratio_of([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="not positive"):
        ratio_of([1.0], [0.0])


@given(st.lists(st.floats(0, 100), min_size=1, max_size=300).map(sorted))
def test_a_curve_rises_to_the_slowest_sample(ordered: list[float]) -> None:
    curve = tail_curve(ordered)
    assert curve == sorted(curve)
    assert curve[0] == (0.0, ordered[0] * 1000)
    assert curve[-1][1] == ordered[-1] * 1000
    assert all(0 <= percent < 100 for percent, _ in curve)


@pytest.mark.parametrize(("samples", "nines"), [(10, 1), (1000, 3), (1_000_000, CURVE_NINES)])
def test_a_curve_ends_where_its_samples_do(samples: int, nines: int) -> None:
    """A percentile that no sample stands for would be an invention."""
    highest = tail_curve([1.0] * samples)[-2][0]
    assert nines_of(highest) == pytest.approx(nines)


def test_a_curve_of_nothing_is_empty() -> None:
    assert tail_curve([]) == []


def test_nines() -> None:
    assert [round(nines_of(percent), 6) for percent in (0, 90, 99, 99.9)] == [0, 1, 2, 3]
