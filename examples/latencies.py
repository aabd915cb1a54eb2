"""Percentiles of durations."""

import math
from collections.abc import Sequence


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest sample that at least `percent` per cent of `ordered` do not exceed; NaN without samples."""
    if not ordered:
        return math.nan
    rank = math.ceil(len(ordered) * percent / 100)
    return ordered[min(max(rank, 1), len(ordered)) - 1]
