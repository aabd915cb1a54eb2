"""What the gateway counts of streams: of events, and of tails of topics."""

from prometheus_client import Gauge

from app.gateway.exposition import SteppedRegistry
from app.gateway.tallies import CounterTally

EVENTS = "events"
TAIL = "tail"


class StreamFigures:
    """To be used on the event loop only. `stream` is what the streams are of: EVENTS or TAIL."""

    def __init__(self, registry: SteppedRegistry) -> None:
        self._gauge = Gauge(
            "acklog_streams",
            "Streams that are served now: of events, or of a topic's tail",
            ["stream"],
            registry=registry,
        )
        self._refused = CounterTally(
            "acklog_streams_refused",
            "Streams that got no place: as many are served as the settings allow, or as one token may have",
            ["stream"],
        )
        registry.register(self._refused)
        for stream in (EVENTS, TAIL):
            self.count_open(stream, 0)
            self._refused.add((stream,), 0)

    def count_open(self, stream: str, count: int) -> None:
        """So many are served now."""
        self._gauge.labels(stream).set(count)

    def count_refused(self, stream: str) -> None:
        self._refused.add((stream,))
