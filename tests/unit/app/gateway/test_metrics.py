from app.gateway.metrics import OTHER, BoundedNames, Metrics
from app.http.exchange.turns import at_once


def test_later_names_share_one_label() -> None:
    names = BoundedNames(2)
    assert [names.label(name) for name in ("a", "b", "c", "a", "d")] == ["a", "b", OTHER, "a", OTHER]


def test_a_flood_of_topics_makes_no_flood_of_series() -> None:
    metrics = Metrics(names_max=3)
    for number in range(1000):
        metrics.count_sent(f"t{number}", 1)
        metrics.count_received(f"t{number}", f"g{number}", 2, again=1)
    text = at_once(metrics.exposition()).decode()
    assert text.count("acklog_messages_sent_total{") == 4
    assert text.count("acklog_messages_delivered_total{") == 4
    assert 'acklog_messages_sent_total{topic="other"} 997.0' in text
    assert 'acklog_messages_redelivered_total{group="other",topic="other"} 997.0' in text
    assert "_created" not in text
