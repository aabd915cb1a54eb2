"""Which quotas a call meets: those of a topic or a group, of its namespace, and of the token."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from app.auth.principal import Principal
from app.gateway.quotas.quota_book import Charge
from cluster.model.namespace import Namespace
from cluster.model.quotas import Quota, quota_of
from cluster.model.values import Group, Topic


class Measure(Enum):
    REQUESTS = "requests"
    MESSAGES = "messages"
    BYTES = "bytes"


class Limit(NamedTuple):
    """A quota that a call meets, and who claims it there."""

    quota: Quota
    claimant: str
    measure: Measure


def limits_of_send(topic: Topic, namespace: Namespace | None, principal: Principal) -> list[Limit]:
    """Of a topic's quota each token has its share."""
    config = topic.config
    found = [
        (config.send_messages_per_second, "sendMessagesPerSecond", Measure.MESSAGES),
        (config.send_bytes_per_second, "sendBytesPerSecond", Measure.BYTES),
        (config.send_requests_per_second, "sendRequestsPerSecond", Measure.REQUESTS),
    ]
    limits = [
        Limit(quota_of("topic", topic.id, topic.name, setting, per_second), principal.name, measure)
        for per_second, setting, measure in found
        if per_second is not None
    ]
    return limits + limits_of_read(namespace, principal)


def limits_of_receive(group: Group, namespace: Namespace | None, principal: Principal, consumer: str) -> list[Limit]:
    """Of a group's quota each consumer has its share; those without a name have their token's."""
    settings, claimant = group.settings, consumer or principal.name
    found = [
        (settings.receive_messages_per_second, "receiveMessagesPerSecond", Measure.MESSAGES),
        (settings.receive_bytes_per_second, "receiveBytesPerSecond", Measure.BYTES),
        (settings.receive_requests_per_second, "receiveRequestsPerSecond", Measure.REQUESTS),
    ]
    limits = [
        Limit(quota_of("group", group.id, group.name, setting, per_second), claimant, measure)
        for per_second, setting, measure in found
        if per_second is not None
    ]
    return limits + limits_of_read(namespace, principal)


def limits_of_read(namespace: Namespace | None, principal: Principal) -> list[Limit]:
    """Those that every call meets. Of a namespace's quota each token has its share."""
    limits = _of_everything("token", principal.name, principal.name, principal.quotas, principal)
    if namespace is not None:
        limits = _of_everything("namespace", namespace.id, namespace.name, namespace.settings, principal) + limits
    return limits


class _Quotas(Protocol):
    """What may be done in all, of whatever kind it is."""

    @property
    def requests_per_second(self) -> int | None: ...

    @property
    def messages_per_second(self) -> int | None: ...

    @property
    def bytes_per_second(self) -> int | None: ...


def _of_everything(kind: str, identity: str, name: str, quotas: _Quotas | None, principal: Principal) -> list[Limit]:
    if quotas is None:
        return []
    found = [
        (quotas.requests_per_second, "requestsPerSecond", Measure.REQUESTS),
        (quotas.messages_per_second, "messagesPerSecond", Measure.MESSAGES),
        (quotas.bytes_per_second, "bytesPerSecond", Measure.BYTES),
    ]
    return [
        Limit(quota_of(kind, identity, name, setting, per_second), principal.name, measure)
        for per_second, setting, measure in found
        if per_second is not None
    ]


def only(limits: Sequence[Limit], measure: Measure) -> list[Limit]:
    return [limit for limit in limits if limit.measure is measure]


def charges_of(limits: Sequence[Limit], *, messages: int = 0, size_bytes: int = 0) -> list[Charge]:
    """What one request takes that has so many messages, of so many bytes together."""
    units = {Measure.REQUESTS: 1, Measure.MESSAGES: messages, Measure.BYTES: size_bytes}
    return [Charge(limit.quota, limit.claimant, units[limit.measure]) for limit in limits]
