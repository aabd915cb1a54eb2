from app.gateway.bounded_names import OTHER, BoundedNames
from app.gateway.metrics import Metrics
from app.gateway.namespace_traffic import RECEIVE, SEND
from app.http.exchange.turns import at_once
from cluster.metadata.namespace_state import NamespaceState
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.namespace import Namespace
from cluster.ports.coordination import Changed, KeyValue, Removed


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


class Catalogue:
    """Which topics and groups there are, all of the same names, and which namespaces."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)
        self.namespaces = NamespaceState()

    def topic(self, name: str) -> object | None:
        return name if name in self.names else None

    group = topic


def text_of(metrics: Metrics) -> str:
    return at_once(metrics.exposition()).decode()


def test_topics_and_groups_that_are_gone_give_up_their_places() -> None:
    """Those of a test run, which came first, are deleted: the shop's get labels of their own."""
    there = Catalogue("t1", "t2", "g1", "shop", "mail")
    metrics = Metrics(names_max=2, named=there)
    metrics.count_sent("t1", 1)
    metrics.count_sent("t2", 1)
    metrics.count_received("t1", "g1", 1, again=1)
    metrics.count_sent("shop", 5)
    text_of(metrics)
    assert 'acklog_messages_sent_total{topic="other"} 5.0' in text_of(metrics)
    there.names -= {"t1", "g1"}
    assert 'acklog_messages_sent_total{topic="t1"} 1.0' in text_of(metrics), "the last of it is seen once"
    text = text_of(metrics)
    assert "t1" not in text
    assert "g1" not in text
    metrics.count_sent("shop", 2)
    metrics.count_consumer_call("receive", "shop", "mail")
    text = text_of(metrics)
    assert 'acklog_messages_sent_total{topic="shop"} 2.0' in text
    assert 'acklog_messages_sent_total{topic="t2"} 1.0' in text, "of what is there nothing falls"
    assert 'acklog_messages_sent_total{topic="other"} 5.0' in text
    assert 'acklog_consumer_calls_total{call="receive",group="mail",topic="shop"} 1.0' in text


def test_a_name_that_is_missed_once_and_then_known_keeps_its_count() -> None:
    there = Catalogue()
    metrics = Metrics(names_max=2, named=there)
    metrics.count_sent("late", 1)
    text_of(metrics)
    there.names.add("late")
    text_of(metrics)
    there.names.clear()
    assert 'topic="late"} 1.0' in text_of(metrics)


def test_quotas_go_with_what_they_are_of() -> None:
    there = Catalogue("shop", "shop/orders")
    there.namespaces.apply(Changed(namespace("tenant")))
    metrics = Metrics(names_max=9, named=there)
    for quota in (
        "topic/shop/sendMessagesPerSecond",
        "group/gone/receiveRequestsPerSecond",
        "token/ann/requestsPerSecond",
        "topic/shop/orders/sendMessagesPerSecond",
        "topic/shop/gone/sendMessagesPerSecond",
        "namespace/tenant/requestsPerSecond",
        "namespace/left/requestsPerSecond",
    ):
        metrics.count_quota_use(quota, 1)
    for _ in range(2):
        text = text_of(metrics)
    assert ("topic/shop/orders/" in text, "topic/shop/gone/" in text) == (True, False)
    assert ("namespace/tenant/" in text, "namespace/left/" in text) == (True, False)
    assert ("topic/shop" in text, "group/gone" in text, "token/ann" in text) == (True, False, True)


def namespace(name: str) -> KeyValue:
    return KeyValue(keys.namespace(name), encode(Namespace(name, name, 0)), 1, 1, 1)


def test_what_is_done_in_a_namespace_is_counted_as_long_as_it_is_there() -> None:
    there = Catalogue()
    metrics = Metrics(names_max=2, named=there)
    for name in ("a", "b", "c"):
        there.namespaces.apply(Changed(namespace(name)))
        metrics.namespaces.count_request(f"{name}/orders", SEND)
        metrics.namespaces.count_messages(f"{name}/orders", SEND, 3, 70)
    metrics.namespaces.count_messages("a/billing", RECEIVE, 2, 20)
    metrics.namespaces.count_request("orders", SEND)  # in no namespace
    text = text_of(metrics)
    assert 'acklog_namespace_requests_total{call="send",namespace="a"} 1.0' in text
    assert 'acklog_namespace_messages_total{call="send",namespace="a"} 3.0' in text
    assert 'acklog_namespace_bytes_total{call="receive",namespace="a"} 20.0' in text
    assert 'acklog_namespace_bytes_total{call="send",namespace="other"} 70.0' in text
    assert text.count("acklog_namespace_requests_total{") == 3
    there.namespaces.apply(Removed(keys.namespace("a"), 2))
    text_of(metrics)
    assert 'namespace="a"' not in text_of(metrics)
