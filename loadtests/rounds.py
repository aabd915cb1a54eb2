"""Statistics of a measurement that was repeated, and of the latencies in it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from examples.latencies import percentile

CURVE_NINES = 4  # the curve ends at 99.99 %
CURVE_POINTS_PER_NINE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The median of some rounds, and the lowest and highest of them."""

    median: float
    low: float
    high: float

    @property
    def relative(self) -> float:
        """How far apart the rounds are, as a share of their median: 0 when they agree."""
        return (self.high - self.low) / self.median if self.median else 0.0


def spread_of(values: Sequence[float]) -> Spread:
    """Raises ValueError when there are no values."""
    if not values:
        raise ValueError("there are no rounds")
    return Spread(median=median(values), low=min(values), high=max(values))


def ratio_of(values: Sequence[float], limits: Sequence[float]) -> Spread:
    """Of each round's value to the limit that was measured beside it. What slows the machine down for a while slows
    both down, so that these ratios agree better than the values do.

    Raises ValueError when there are not as many of the one as of the other, or a limit is not positive.
    """
    if any(limit <= 0 for limit in limits):
        raise ValueError("a limit is not positive")
    return spread_of([value / limit for value, limit in zip(values, limits, strict=True)])


def tail_curve(ordered: Sequence[float]) -> list[tuple[float, float]]:
    """(percentile, latency in ms), denser the nearer to 100 %, and only as far as there are samples for it: the
    highest point is the slowest sample. Empty without samples."""
    points = []
    for step in range(CURVE_NINES * CURVE_POINTS_PER_NINE + 1):
        above = 10 ** (-step / CURVE_POINTS_PER_NINE)  # the share of samples that may be slower
        if above * len(ordered) < 1:
            break
        percent = 100 * (1 - above)
        points.append((percent, percentile(ordered, percent) * 1000))
    if ordered:
        points.append((100 * (1 - 0.5 / len(ordered)), ordered[-1] * 1000))
    return points


def nines_of(percent: float) -> float:
    """Where a percentile stands on an axis of nines: 90 % at 1, 99 % at 2, 99.9 % at 3. Below 100 %."""
    return -math.log10(1 - percent / 100)
