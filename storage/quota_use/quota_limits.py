"""Which quotas there are of a topic and of what else a call meets, and what a call takes of them."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from cluster.model.namespace import Namespace
from cluster.model.quotas import Quota, quota_of
from cluster.model.values import Topic
from storage.quota_use.quota_book import Charge


class Measure(Enum):
    REQUESTS = "requests"
    MESSAGES = "messages"
    BYTES = "bytes"


class Limit(NamedTuple):
    """A quota that a call meets, and who claims it there."""

    quota: Quota
    claimant: str
    measure: Measure


class Quotas(Protocol):
    """What may be done in all, of whatever kind it is."""

    @property
    def requests_per_second(self) -> int | None: ...

    @property
    def messages_per_second(self) -> int | None: ...

    @property
    def bytes_per_second(self) -> int | None: ...


def limits_of_topic(topic: Topic, claimant: str) -> list[Limit]:
    """Those that a send meets."""
    config = topic.config
    found = [
        (config.send_messages_per_second, "sendMessagesPerSecond", Measure.MESSAGES),
        (config.send_bytes_per_second, "sendBytesPerSecond", Measure.BYTES),
        (config.send_requests_per_second, "sendRequestsPerSecond", Measure.REQUESTS),
    ]
    return [
        Limit(quota_of("topic", topic.id, topic.name, setting, per_second), claimant, measure)
        for per_second, setting, measure in found
        if per_second is not None
    ]


def limits_of_namespace(namespace: Namespace | None, claimant: str) -> list[Limit]:
    """Those that every call meets."""
    if namespace is None:
        return []
    return limits_of_everything("namespace", namespace.id, namespace.name, namespace.settings, claimant)


def limits_of_everything(kind: str, identity: str, name: str, quotas: Quotas | None, claimant: str) -> list[Limit]:
    """Of what is named, of the kind: a namespace or a token."""
    if quotas is None:
        return []
    found = [
        (quotas.requests_per_second, "requestsPerSecond", Measure.REQUESTS),
        (quotas.messages_per_second, "messagesPerSecond", Measure.MESSAGES),
        (quotas.bytes_per_second, "bytesPerSecond", Measure.BYTES),
    ]
    return [
        Limit(quota_of(kind, identity, name, setting, per_second), claimant, measure)
        for per_second, setting, measure in found
        if per_second is not None
    ]


def only(limits: Sequence[Limit], measure: Measure) -> list[Limit]:
    return [limit for limit in limits if limit.measure is measure]


def charges_of(limits: Sequence[Limit], *, requests: int = 1, messages: int = 0, size_bytes: int = 0) -> list[Charge]:
    """What is taken by so many requests of so many messages, of so many bytes together."""
    units = {Measure.REQUESTS: requests, Measure.MESSAGES: messages, Measure.BYTES: size_bytes}
    return [Charge(limit.quota, limit.claimant, units[limit.measure]) for limit in limits]
