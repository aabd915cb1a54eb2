"""What the gateway counts, for Prometheus. Every label has a bounded number of values."""

from collections.abc import Generator
from typing import Protocol

from prometheus_client import Gauge

from app.gateway.audit_figures import AuditFigures
from app.gateway.bounded_names import BoundedNames
from app.gateway.exposition import SteppedRegistry
from app.gateway.namespace_traffic import NamespaceTraffic
from app.gateway.stream_figures import StreamFigures
from app.gateway.tallies import CounterTally, HistogramTally
from cluster.metadata.namespace_state import NamespaceState

_SETTLED = (
    "Deliveries settled, by their result: done, again (an ack of what was done before: each message is done once), "
)
_SETTLED += "or the code of the problem"
_LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Named(Protocol):
    """Which topics, groups and namespaces there are; None for what there is not."""

    def topic(self, name: str) -> object | None: ...
    def group(self, name: str) -> object | None: ...
    @property
    def namespaces(self) -> NamespaceState: ...


class Metrics:
    """To be used on the event loop only. `named` None: nothing goes."""

    def __init__(self, *, names_max: int, named: Named | None = None) -> None:
        self._named = named
        self.registry = SteppedRegistry()
        self.audit = AuditFigures(self.registry)
        self.streams = StreamFigures()
        self._topics = BoundedNames(names_max)
        self._groups = BoundedNames(names_max)
        self._requests = CounterTally("acklog_http_requests", "Requests answered", ["route", "method", "status"])
        self._latency = HistogramTally(
            "acklog_http_request_seconds",
            "Time from a request's headers to its answer, also of who waits for messages",
            ["route", "method"],
            _LATENCY_BUCKETS,
        )
        self._sent = CounterTally("acklog_messages_sent", "Messages stored", ["topic"])
        self._failed = CounterTally(
            "acklog_messages_refused", "Messages not stored, by the code of the problem", ["code"]
        )
        self._received = CounterTally("acklog_messages_delivered", "Messages leased", ["topic", "group"])
        self._redelivered = CounterTally(
            "acklog_messages_redelivered", "Those of the leased that had been leased before", ["topic", "group"]
        )
        self._consumer_calls = CounterTally(
            "acklog_consumer_calls",
            "Calls by which consumers of a group show that they are there, whether they got anything or not: receive, "
            "extend (a lease) or commit (a position)",
            ["topic", "group", "call"],
        )
        self._quotas = BoundedNames(names_max)
        self._quota_use = CounterTally("acklog_quota_used", "Units of a quota that were used here", ["quota"])
        self._quota_refusals = CounterTally("acklog_quota_refused", "Requests refused for a quota", ["quota"])
        self._let_through = CounterTally(
            "acklog_rights_let_through", "Acts that rights on trial would have refused, by action", ["action"]
        )
        self._released = CounterTally("acklog_messages_released", "Leases returned because the client was gone", [])
        self._settled = CounterTally("acklog_messages_settled", _SETTLED, ["action", "result"])
        self.waiting = Gauge("acklog_waiting_requests", "Requests that wait for messages", registry=self.registry)
        self.body_bytes = Gauge(
            "acklog_request_body_bytes", "Bytes of request bodies being handled", registry=self.registry
        )
        self.token_names_shared = Gauge(
            "acklog_token_names_shared",
            "Names that both a stored token and one of the tokens file have",
            registry=self.registry,
        )
        self._connections = Gauge("acklog_connections", "Open connections of clients", registry=self.registry)
        self.connections_max = Gauge(
            "acklog_connections_max",
            "How many there may be: further ones are closed. As the settings say, or as many as the process has file "
            "descriptors for",
            registry=self.registry,
        )
        for tally in (
            self._requests,
            self._latency,
            self._sent,
            self._failed,
            self._received,
            self._redelivered,
            self._consumer_calls,
            self._released,
            self._settled,
            self._quota_use,
            self._quota_refusals,
            self._let_through,
            self.streams,
        ):
            self.registry.register(tally)
        self.namespaces = NamespaceTraffic(self.registry, names_max=names_max)

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """`route` is a path template and `method` one that the route takes, or OTHER."""
        self._requests.add((route, method, str(status)))
        self._latency.observe((route, method), seconds)

    def count_connections(self, count: int) -> None:
        """So many are open now."""
        self._connections.set(count)

    def count_sent(self, topic: str, count: int) -> None:
        self._sent.add((self._topics.label(topic),), count)

    def count_refused(self, code: str, count: int = 1) -> None:
        self._failed.add((code,), count)

    def count_received(self, topic: str, group: str, count: int, *, again: int) -> None:
        """`again` of the `count` were leased before."""
        labels = self._topics.label(topic), self._groups.label(group)
        self._received.add(labels, count)
        if again:
            self._redelivered.add(labels, again)

    def count_consumer_call(self, call: str, topic: str, group: str) -> None:
        """`call` is "receive", "extend" or "commit"."""
        self._consumer_calls.add((self._topics.label(topic), self._groups.label(group), call))

    def count_quota_use(self, quota: str, units: int) -> None:
        self._quota_use.add((self._quotas.label(quota),), units)

    def count_quota_refusal(self, quota: str) -> None:
        self._quota_refusals.add((self._quotas.label(quota),))

    def count_let_through(self, action: str) -> None:
        self._let_through.add((action,))

    def count_released(self, count: int) -> None:
        self._released.add((), count)

    def count_settled(self, action: str, result: str, count: int) -> None:
        """`result` is "done", "again" or a problem's code."""
        self._settled.add((action, result), count)

    def done_so_far(self) -> dict[str, int]:
        """By the names that streams of events have for the pace of each. It may fall when topics or groups go."""
        return {
            "sentPerSecond": self._sent.total,
            "deliveredPerSecond": self._received.total,
            "settledPerSecond": self._settled.of(("ack", "done")),
            "requestsPerSecond": self._requests.total,
        }

    def exposition(self) -> Generator[None, None, bytes]:
        """The text format. Yields where others may have their turn."""
        if self._named is not None:
            self._forget_what_is_gone(self._named)
        return self.registry.exposition()

    def _forget_what_is_gone(self, named: Named) -> None:
        """Else the first topics that there ever were would have all labels, and those of today share `other`."""

        def is_of_something(quota: str) -> bool:
            kind, _, rest = quota.partition("/")
            look_up = {"topic": named.topic, "group": named.group, "namespace": named.namespaces.find}.get(kind)
            return look_up is None or look_up(rest.rpartition("/")[0]) is not None

        topics = self._topics.keep(lambda name: named.topic(name) is not None)
        groups = self._groups.keep(lambda name: named.group(name) is not None)
        quotas = self._quotas.keep(is_of_something)
        self.namespaces.forget_what_is_gone(lambda name: named.namespaces.find(name) is not None)
        if topics:
            self._sent.forget(0, topics)
        for tally in (self._received, self._redelivered, self._consumer_calls) if topics or groups else ():
            tally.forget(0, topics)
            tally.forget(1, groups)
        for tally in (self._quota_use, self._quota_refusals) if quotas else ():
            tally.forget(0, quotas)
