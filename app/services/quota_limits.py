"""Which quotas a call meets: those of a topic or a group, of its namespace, and of the token."""

from app.auth.principal import Principal
from cluster.model.namespace import Namespace
from cluster.model.quotas import quota_of
from cluster.model.values import Group, Topic
from storage.quota_use.quota_limits import Limit, Measure, limits_of_everything, limits_of_namespace, limits_of_topic


def limits_of_send(topic: Topic, namespace: Namespace | None, principal: Principal) -> list[Limit]:
    """Of a topic's quota each token has its share."""
    return limits_of_topic(topic, principal.name) + limits_of_read(namespace, principal)


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
    of_token = limits_of_everything("token", principal.name, principal.name, principal.quotas, principal.name)
    return limits_of_namespace(namespace, principal.name) + of_token
