"""What is counted with every request, for Prometheus, at the price of an addition.

prometheus-client's own counters take a lock for each step, a histogram three of them: with a single send that is a
sixteenth of its time. These belong to the event loop, whoever counts and whoever asks runs there, so they need none.
"""

from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

Labels = tuple[str, ...]


class CounterTally(Collector):
    """A counter with labels, or without any: then it is shown from the beginning."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str]) -> None:
        self._description = name, documentation, labels
        self._counts: dict[Labels, int] = {} if labels else {(): 0}

    def add(self, labels: Labels, count: int = 1) -> None:
        self._counts[labels] = self._counts.get(labels, 0) + count

    def of(self, labels: Labels) -> int:
        return self._counts.get(labels, 0)

    @property
    def total(self) -> int:
        """Of all series that there are."""
        return sum(self._counts.values())

    def forget(self, position: int, values: Container[str]) -> None:
        """The series in which the label at `position` is one of these."""
        self._counts = {labels: count for labels, count in self._counts.items() if labels[position] not in values}

    def describe(self) -> Iterator[CounterMetricFamily]:
        yield self._family()

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = self._family()
        for labels, count in self._counts.items():
            family.add_metric(labels, count)
        yield family

    def _family(self) -> CounterMetricFamily:
        name, documentation, labels = self._description
        return CounterMetricFamily(name, documentation, labels=labels)


class HistogramTally(Collector):
    """A histogram with labels and `bounds`, the upper ones of its buckets, ascending."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str], bounds: Sequence[float]) -> None:
        self._description = name, documentation, labels
        self._bounds = bounds
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, labels: Labels, value: float) -> None:
        counts = self._counts.get(labels)
        if counts is None:
            counts = self._counts[labels] = [0] * (len(self._bounds) + 1)
            self._sums[labels] = 0.0
        counts[bisect_left(self._bounds, value)] += 1
        self._sums[labels] += value

    def describe(self) -> Iterator[HistogramMetricFamily]:
        yield self._family()

    def collect(self) -> Iterator[HistogramMetricFamily]:
        family = self._family()
        bounds = [*map(floatToGoString, self._bounds), "+Inf"]
        for labels, counts in self._counts.items():
            family.add_metric(labels, list(zip(bounds, accumulate(counts), strict=True)), self._sums[labels])
        yield family

    def _family(self) -> HistogramMetricFamily:
        name, documentation, labels = self._description
        return HistogramMetricFamily(name, documentation, labels=labels)
