import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from app.http.exchange.turns import at_once
from app.workers.merged_exposition import LINES_AT_ONCE, merged_exposition


def samples(text: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def exposition(sent: int, *, topic: str = "orders") -> bytes:
    registry = CollectorRegistry()
    Counter("sent", "Sent", ["topic"], registry=registry).labels(topic).inc(sent)
    Gauge("waiting", "Waiting", registry=registry).set(sent)
    Histogram("seconds", "Time", ["route"], buckets=[1, 5], registry=registry).labels("/a b").observe(2)
    return generate_latest(registry)


def test_every_series_says_whose_it_is() -> None:
    found = samples(at_once(merged_exposition({"gateway-1": exposition(3), "storage": exposition(4)})))
    assert found["sent_total", (("topic", "orders"), ("worker", "gateway-1"))] == 3
    assert found["sent_total", (("topic", "orders"), ("worker", "storage"))] == 4
    assert found["waiting", (("worker", "storage"),)] == 4
    assert found["seconds_bucket", (("le", "5.0"), ("route", "/a b"), ("worker", "gateway-1"))] == 1
    assert found["acklog_worker_up", (("worker", "storage"),)] == 1


def test_each_family_is_there_once_with_all_its_series() -> None:
    text = at_once(merged_exposition({"one": exposition(1), "two": exposition(2)})).decode()
    assert text.count("# TYPE sent_total ") == text.count("# HELP sent_total ") == 1
    lines = text.splitlines()
    begin = lines.index("# TYPE sent_total counter")
    assert [line.split("{")[0] for line in lines[begin + 1 : begin + 3]] == ["sent_total", "sent_total"]


def test_one_that_does_not_answer_is_shown_as_such() -> None:
    found = samples(at_once(merged_exposition({"one": exposition(1), "two": None})))
    assert found["acklog_worker_up", (("worker", "two"),)] == 0
    assert found["acklog_worker_up", (("worker", "one"),)] == 1
    assert not any(("worker", "two") in labels for name, labels in found if name != "acklog_worker_up")


@given(st.text(st.characters(blacklist_categories=["Cs"]), max_size=20))
def test_whatever_a_label_holds_comes_through(topic: str) -> None:
    text = exposition(1, topic=topic)
    found, alone = samples(at_once(merged_exposition({"one": text}))), samples(text)
    assert found.pop(("acklog_worker_up", (("worker", "one"),))) == 1
    expected = {(name, tuple(sorted((*labels, ("worker", "one"))))): value for (name, labels), value in alone.items()}
    assert found == expected


@pytest.mark.parametrize(("lines", "turns"), [(LINES_AT_ONCE - 3, 1), (3 * LINES_AT_ONCE, 4)])
def test_others_have_their_turn(lines: int, turns: int) -> None:
    text = "# HELP a A\n# TYPE a gauge\n" + "".join(f'a{{n="{number}"}} 1\n' for number in range(lines))
    assert len(list(merged_exposition({"one": text.encode()}))) == turns
