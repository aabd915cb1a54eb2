"""What the gateway counts of streams: of events, and of tails of topics."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

EVENTS = "events"
TAIL = "tail"
_LABELS = ["stream"]


class StreamFigures(Collector):
    """To be used on the event loop only. `stream` is what the streams are of: EVENTS or TAIL."""

    def __init__(self) -> None:
        self._open = {EVENTS: 0, TAIL: 0}
        self._refused = {EVENTS: 0, TAIL: 0}

    def count_open(self, stream: str, count: int) -> None:
        """So many are served now."""
        self._open[stream] = count

    def count_refused(self, stream: str) -> None:
        self._refused[stream] += 1

    def collect(self) -> Iterator[Metric]:
        opened = GaugeMetricFamily(
            "acklog_streams", "Streams that are served now: of events, or of a topic's tail", labels=_LABELS
        )
        refused = CounterMetricFamily(
            "acklog_streams_refused",
            "Streams that got no place: as many are served as the settings allow, or as one token may have",
            labels=_LABELS,
        )
        for stream in self._open:
            opened.add_metric([stream], self._open[stream])
            refused.add_metric([stream], self._refused[stream])
        yield opened
        yield refused
