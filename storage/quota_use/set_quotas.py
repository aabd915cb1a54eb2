"""Which quotas there still are: what was owed of one that was taken away is owed no more."""

import re
from functools import lru_cache

from cluster.metadata.metadata_view import MetadataView
from cluster.model.quotas import Quota


def is_set(quota: Quota, metadata: MetadataView) -> bool:
    """Whether its topic, group or namespace has it, as far as this process has heard. Those of tokens last as long as
    it does."""
    kind, identity, setting = quota.parts
    if kind == "topic":
        topic = metadata.topic_by_id(identity)
        return topic is not None and getattr(topic.config, _attribute_of(setting)) is not None
    if kind == "group":
        group = metadata.group_by_id(identity)
        return group is not None and getattr(group.settings, _attribute_of(setting)) is not None
    if kind == "namespace":
        namespace = metadata.namespaces.by_id(identity)
        return namespace is not None and getattr(namespace.settings, _attribute_of(setting)) is not None
    return True


@lru_cache(maxsize=16)
def _attribute_of(setting: str) -> str:
    """`send_messages_per_second` of sendMessagesPerSecond."""
    return re.sub("[A-Z]", lambda found: f"_{found.group().lower()}", setting)
