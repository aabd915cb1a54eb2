"""Topics of Acklog's own. Their names begin with two underscores, which no other topic's may."""

from acklog.wire.limits import DEDUP_WINDOW_MS_MAX
from acklog.wire.partitioner import partition_for_key
from cluster.model.values import Encryption, Topic, TopicConfig

GROUPS_TOPIC = "__groups"
"""The state of exclusive groups: each belongs to one partition, whose leader coordinates it and whose log is its
state."""

GROUPS_PARTITIONS = 16

AUDIT_TOPIC = "__audit"
"""Who did what, and who was refused. Acklog alone writes it, retention alone removes from it, and nobody deletes it."""

INTERNAL_TOPICS = frozenset({GROUPS_TOPIC, AUDIT_TOPIC})

_GROUPS_SEGMENT_BYTES = 1024 * 1024
_AUDIT_SEGMENT_BYTES = 16 * 1024 * 1024


def is_internal(topic_name: str) -> bool:
    return topic_name.startswith("__")


def groups_topic_config(min_insync_replicas: int) -> TopicConfig:
    """Retention removes nothing: whoever leads a partition writes its state anew, and trims the log for that."""
    return TopicConfig(
        retention_ms=-1,
        retention_bytes=-1,
        segment_bytes=_GROUPS_SEGMENT_BYTES,
        min_insync_replicas=min_insync_replicas,
    )


def audit_topic_config(
    *, min_insync_replicas: int, retention_ms: int, retention_bytes: int, encryption: Encryption
) -> TopicConfig:
    """A record is sent again for as long as the window remembers it, and is there once."""
    return TopicConfig(
        retention_ms=retention_ms,
        retention_bytes=retention_bytes,
        segment_bytes=_AUDIT_SEGMENT_BYTES,
        min_insync_replicas=min_insync_replicas,
        dedup_window_ms=DEDUP_WINDOW_MS_MAX,
        encryption=encryption,
    )


def coordinator_partition(group_id: str, groups_topic: Topic) -> int:
    """Of the topic `__groups`, whose number of partitions never changes."""
    return partition_for_key(group_id.encode(), groups_topic.partitions)
