"""Percentiles of how long things took, in bounded memory: counts in buckets that are 2 % wide."""

import math

_LEAST_MS = 0.001
_GROWTH = 1.02
_LOG_GROWTH = math.log(_GROWTH)
_BUCKETS = 1200  # up to 21 million seconds


class Latencies:
    """`percentile_ms` is right to 2 %; the least and the greatest are exact."""

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self.count = 0
        self.least_ms = math.inf
        self.greatest_ms = 0.0

    def add(self, duration_ms: float) -> None:
        self.count += 1
        self.least_ms = min(self.least_ms, duration_ms)
        self.greatest_ms = max(self.greatest_ms, duration_ms)
        index = math.ceil(math.log(max(duration_ms, _LEAST_MS) / _LEAST_MS) / _LOG_GROWTH)
        self._counts[min(index, _BUCKETS - 1)] += 1

    def percentile_ms(self, percent: float) -> float:
        """0.0 when nothing was measured."""
        if not self.count:
            return 0.0
        wanted = max(1, math.ceil(self.count * percent / 100))
        seen = 0
        for index, count in enumerate(self._counts):
            seen += count
            if seen >= wanted:
                return min(max(_LEAST_MS * _GROWTH**index, self.least_ms), self.greatest_ms)
        return self.greatest_ms
