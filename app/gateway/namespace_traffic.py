"""What is done in each namespace by this gateway, for Prometheus."""

from collections.abc import Callable

from acklog.wire.names import namespace_of
from app.gateway.bounded_names import BoundedNames
from app.gateway.exposition import SteppedRegistry
from app.gateway.tallies import CounterTally

SEND = "send"
RECEIVE = "receive"
READ = "read"


class NamespaceTraffic:
    """Whatever quotas have let through, whether they limit it or not. What is in no namespace is not counted."""

    def __init__(self, registry: SteppedRegistry, *, names_max: int) -> None:
        labels = ["namespace", "call"]
        self._names = BoundedNames(names_max)
        self._requests = CounterTally(
            "acklog_namespace_requests", "Sends, receives and reads of records of topics in the namespace", labels
        )
        self._messages = CounterTally(
            "acklog_namespace_messages", "Messages that were sent, delivered or read there", labels
        )
        self._bytes = CounterTally(
            "acklog_namespace_bytes", "Bytes of their bodies; where records are read, of the stored batches", labels
        )
        for tally in (self._requests, self._messages, self._bytes):
            registry.register(tally)

    def count_request(self, full_name: str, call: str) -> None:
        namespace = namespace_of(full_name)
        if namespace:
            self._requests.add((self._names.label(namespace), call))

    def count_messages(self, full_name: str, call: str, messages: int, size_bytes: int) -> None:
        namespace = namespace_of(full_name)
        if namespace and messages:
            labels = self._names.label(namespace), call
            self._messages.add(labels, messages)
            self._bytes.add(labels, size_bytes)

    def forget_what_is_gone(self, exists: Callable[[str], bool]) -> None:
        gone = self._names.keep(exists)
        for tally in (self._requests, self._messages, self._bytes) if gone else ():
            tally.forget(0, gone)
