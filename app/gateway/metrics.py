"""What the gateway counts, for Prometheus. Every label has a bounded number of values."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

OTHER = "other"
_LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class BoundedNames:
    """The first `limit` names keep a label of their own; all later ones share `other`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._names: dict[str, str] = {}

    def label(self, name: str) -> str:
        label = self._names.get(name)
        if label is None:
            label = name if len(self._names) < self._limit else OTHER
            if label is not OTHER:
                self._names[name] = label
        return label


class Metrics:
    """Children of labels are kept: looking one up in prometheus-client costs three times as much as counting."""

    def __init__(self, *, names_max: int) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self._topics = BoundedNames(names_max)
        self._groups = BoundedNames(names_max)
        self._requests = Counter(
            "acklog_http_requests", "Requests answered", ["route", "method", "status"], registry=self.registry
        )
        self._latency = Histogram(
            "acklog_http_request_seconds",
            "Time from a request's headers to its answer",
            ["route"],
            buckets=_LATENCY_BUCKETS,
            registry=self.registry,
        )
        self._sent = Counter("acklog_messages_sent", "Messages stored", ["topic"], registry=self.registry)
        self._failed = Counter(
            "acklog_messages_refused",
            "Messages not stored, by the code of the problem",
            ["code"],
            registry=self.registry,
        )
        self._received = Counter(
            "acklog_messages_delivered", "Messages leased", ["topic", "group"], registry=self.registry
        )
        self._released = Counter(
            "acklog_messages_released", "Leases returned because the client was gone", registry=self.registry
        )
        self._settled = Counter(
            "acklog_messages_settled", "Deliveries settled", ["action", "result"], registry=self.registry
        )
        self.waiting = Gauge("acklog_waiting_requests", "Requests that wait for messages", registry=self.registry)
        self.body_bytes = Gauge(
            "acklog_request_body_bytes", "Bytes of request bodies being handled", registry=self.registry
        )
        self._request_children: dict[tuple[str, str, int], Counter] = {}
        self._latency_children: dict[str, Histogram] = {}
        self._sent_children: dict[str, Counter] = {}
        self._received_children: dict[tuple[str, str], Counter] = {}

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """`route` is a path template and `method` one that the route takes, or OTHER."""
        key = (route, method, status)
        child = self._request_children.get(key)
        if child is None:
            child = self._request_children[key] = self._requests.labels(route, method, str(status))
            self._latency_children.setdefault(route, self._latency.labels(route))
        child.inc()
        self._latency_children[route].observe(seconds)

    def count_sent(self, topic: str, count: int) -> None:
        label = self._topics.label(topic)
        child = self._sent_children.get(label)
        if child is None:
            child = self._sent_children[label] = self._sent.labels(label)
        child.inc(count)

    def count_refused(self, code: str, count: int = 1) -> None:
        self._failed.labels(code).inc(count)

    def count_received(self, topic: str, group: str, count: int) -> None:
        labels = (self._topics.label(topic), self._groups.label(group))
        child = self._received_children.get(labels)
        if child is None:
            child = self._received_children[labels] = self._received.labels(*labels)
        child.inc(count)

    def count_released(self, count: int) -> None:
        self._released.inc(count)

    def count_settled(self, action: str, result: str, count: int) -> None:
        """`result` is "done" or a problem's code."""
        self._settled.labels(action, result).inc(count)

    def exposition(self) -> bytes:
        """The text format."""
        return generate_latest(self.registry)
