"""Durations of requests, kept packed, and their percentiles."""

import math
from array import array
from collections.abc import Sequence

SAMPLES_MAX = 10_000_000


class Latencies:
    """In seconds. Holds every sample up to a limit (80 MB), so percentiles are exact."""

    def __init__(self) -> None:
        self._samples = array("d")

    def __len__(self) -> int:
        return len(self._samples)

    def add(self, seconds: float) -> None:
        """Raises OverflowError beyond SAMPLES_MAX."""
        if len(self._samples) >= SAMPLES_MAX:
            raise OverflowError(f"more than {SAMPLES_MAX:,} latencies")
        self._samples.append(seconds)

    def percentiles_ms(self, percents: Sequence[float]) -> list[float]:
        """By the nearest-rank method, in milliseconds; NaN where there are no samples."""
        ordered = sorted(self._samples)
        return [percentile(ordered, percent) * 1000 for percent in percents]


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest sample that at least `percent` per cent of `ordered` do not exceed; NaN without samples."""
    if not ordered:
        return math.nan
    rank = math.ceil(len(ordered) * percent / 100)
    return ordered[min(max(rank, 1), len(ordered)) - 1]
