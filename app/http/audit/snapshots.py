"""What there is of what a request names, as this gateway sees it: before an act, and after it."""

from app.audit.changes import Settings, settings_of
from cluster.metadata.metadata_view import MetadataView

_ALWAYS = frozenset({"id", "name", "createdAtMs"})
_OF_TOPIC = _ALWAYS | {"mapping", "earlierMappings", "orderedMappings", "dataKeys"}
_OF_TOKEN = _ALWAYS | {"secrets"}
"""What is no setting; and what could help anybody to be let in, or to read what was meant to be gone with its key."""


def snapshot(metadata: MetadataView, names: dict[str, str]) -> Settings:
    """By path. A moment later others may have changed it, so of two acts at once each may show what both did."""
    found: dict[str, object] = {}
    if "topic" in names:
        topic = metadata.topic(names["topic"])
        found |= settings_of(topic, without=_OF_TOPIC)
        if topic is not None and "partition" in names:
            order = metadata.steering.orders(topic.id).get(_number(names["partition"]))
            found |= {"moveTo": None if order is None else list(order.replicas)}
    if "group" in names:
        found |= settings_of(metadata.group(names["group"]), without=_ALWAYS)
    if "token" in names:
        found |= settings_of(metadata.tokens.find(names["token"]), without=_OF_TOKEN)
    if "namespace" in names:
        found |= settings_of(metadata.namespaces.find(names["namespace"]), without=_ALWAYS)
    if "node" in names:
        found |= {"draining": _number(names["node"]) in metadata.steering.membership.drain_items}
    if not names:
        found |= settings_of(metadata.steering.cluster)
    return found


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
