import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from app.gateway.tallies import CounterTally, HistogramTally

BOUNDS = (0.01, 0.1, 1.0, 10.0)


def exposed(collector: object) -> list[str]:
    registry = CollectorRegistry(auto_describe=True)
    registry.register(collector)  # type: ignore[arg-type]
    return without_created(registry)


def without_created(registry: CollectorRegistry) -> list[str]:
    return [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]


def test_a_histogram_reads_as_that_of_prometheus_client() -> None:
    tally = HistogramTally("took_seconds", "How long it took", ["route"], BOUNDS)
    registry = CollectorRegistry()
    model = Histogram("took_seconds", "How long it took", ["route"], buckets=BOUNDS, registry=registry)
    for route, seconds in [("/a", 0.0), ("/a", 0.01), ("/b", 0.1000001), ("/a", 10.0), ("/a", 11.0), ("/b", 0.5)]:
        tally.observe((route,), seconds)
        model.labels(route).observe(seconds)
    assert exposed(tally) == without_created(registry)


def test_a_counter_reads_as_that_of_prometheus_client() -> None:
    tally = CounterTally("sent", "Messages stored", ["topic", "group"])
    registry = CollectorRegistry()
    model = Counter("sent", "Messages stored", ["topic", "group"], registry=registry)
    for topic, count in [("a", 3), ("b", 1), ("a", 0), ('quoted "name"', 2)]:
        tally.add((topic, "g"), count)
        model.labels(topic, "g").inc(count)
    assert exposed(tally) == without_created(registry)


def test_a_counter_without_labels_is_there_from_the_beginning() -> None:
    tally = CounterTally("sent", "Messages stored", [])
    assert exposed(tally)[-1] == "sent_total 0.0"
    tally.add((), 2)
    assert exposed(tally)[-1] == "sent_total 2.0"


def test_two_of_one_name_are_refused() -> None:
    registry = CollectorRegistry(auto_describe=True)
    registry.register(CounterTally("sent", "Messages stored", ["topic"]))
    with pytest.raises(ValueError, match="Duplicated"):
        Counter("sent", "Messages stored", registry=registry)
