"""The text that Prometheus scrapes: as prometheus-client writes it, in steps."""

from collections.abc import Iterator

from prometheus_client import Gauge, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from app.gateway.exposition import LINES_AT_ONCE, LabelledFamily, Labels, SteppedCollector, SteppedRegistry
from app.gateway.tallies import CounterTally, HistogramTally
from app.http.exchange.turns import at_once

AWKWARD = 'a "quoted" \\ name\nof two lines'


def families(text: str) -> list[tuple[str, str, str, list[tuple[str, dict[str, str], float]]]]:
    return [
        (each.name, each.documentation, each.type, [(line.name, line.labels, line.value) for line in each.samples])
        for each in text_string_to_metric_families(text)
    ]


class Groups(SteppedCollector):
    def __init__(self, count: int) -> None:
        self._rows: dict[Labels, float] = {
            Labels(("topic", "group"), (AWKWARD, f"g{number}")): number for number in range(count)
        }

    def steps(self) -> Iterator[Metric | None]:
        yield LabelledFamily("lag", "Messages\nnot done", "gauge", ("topic", "group"), self._rows)
        yield None
        yield LabelledFamily("letters", "Dead letters", "counter", ("topic", "group"), self._rows)


def test_it_is_what_prometheus_client_writes() -> None:
    registry = SteppedRegistry()
    Gauge("heat", "With a \\ in it", ["place"], registry=registry).labels(AWKWARD).set(1.5e-7)
    Gauge("steps", "Many", registry=registry).set(12345678)
    tally = CounterTally("requests", "Answered", ["route", "status"])
    tally.add(("/messages", "201"), 7)
    registry.register(tally)
    times = HistogramTally("times", "In seconds", ["route"], (0.1, 1))
    times.observe(("/messages",), 0.25)
    registry.register(times)
    registry.register(Groups(3))
    ours = at_once(registry.exposition()).decode()
    assert families(ours) == families(generate_latest(registry).decode())


def test_others_have_their_turn_meanwhile() -> None:
    registry = SteppedRegistry()
    registry.register(Groups(3 * LINES_AT_ONCE))
    text, turns = b"", 0
    steps = registry.exposition()
    while True:
        try:
            next(steps)
            turns += 1
        except StopIteration as end:
            text = end.value
            break
    assert turns == 7  # three of each family, and the collector's own
    assert text.count(b"\n") == 2 * 3 * LINES_AT_ONCE + 4
