"""How many spans were exported, and how many were not."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector


class SpanFigures(Collector):
    """`ended` and `refused` are counted where spans end, the others where they are exported: each by one thread."""

    def __init__(self) -> None:
        self.ended = 0
        self.refused = 0
        self.exported = 0
        self.failed = 0

    @property
    def waiting(self) -> int:
        """Ended, and neither refused nor exported nor given up."""
        return self.ended - self.refused - self.exported - self.failed

    def collect(self) -> Iterable[Metric]:
        yield CounterMetricFamily(
            "acklog_trace_spans_exported", "Spans that the receiver of traces has taken", value=self.exported
        )
        yield CounterMetricFamily(
            "acklog_trace_spans_dropped",
            "Spans that were not exported: too many waited, or the receiver did not take them",
            value=self.refused + self.failed,
        )
