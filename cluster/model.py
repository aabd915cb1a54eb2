"""What the coordination store holds: topics, partitions, groups, nodes. Plain values; `cluster.codec` writes them."""

from enum import Enum

import msgspec

from acklog.wire import limits


class GroupMode(Enum):
    SHARED = "shared"
    KEY_ORDERED = "keyOrdered"
    EXCLUSIVE = "exclusive"


class StartPosition(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"


class RetentionMode(Enum):
    TIME = "time"  # by age and size, whether acknowledged or not
    UNTIL_ACKED = "untilAcked"  # frees what all registered groups have done, capped by age


class TopicConfig(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Settings of a topic. `retention_bytes` counts per partition; -1 means no limit, as does `retention_ms`."""

    retention: RetentionMode = RetentionMode.TIME
    retention_ms: int = limits.RETENTION_MS_DEFAULT
    retention_bytes: int = -1
    segment_bytes: int = 128 * 1024 * 1024
    dedup_window_ms: int = limits.DEDUP_WINDOW_MS_DEFAULT
    min_insync_replicas: int = 1
    max_replica_lag_ms: int = 10_000


class Topic(msgspec.Struct, frozen=True, rename="camel"):
    """`id` is the identity: a topic that is deleted and created again has another (rule R14)."""

    id: str
    name: str
    partitions: int
    replication_factor: int
    created_at_ms: int
    config: TopicConfig = TopicConfig()


class PartitionState(msgspec.Struct, frozen=True, rename="camel"):
    """Who holds a partition. Leadership is bound to (node, incarnation); every start takes a new leader epoch."""

    topic_id: str
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_incarnation: int
    leader_epoch: int


class GroupSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How a group reads. `dead_letter_topic` None means `<topic>.<group>.dlq`."""

    start_position: StartPosition = StartPosition.EARLIEST
    visibility_ms: int = limits.VISIBILITY_SECONDS_DEFAULT * 1000
    max_attempts: int = limits.MAX_ATTEMPTS_DEFAULT
    retry_backoff_min_ms: int = limits.RETRY_BACKOFF_MIN_MS
    retry_backoff_max_ms: int = limits.RETRY_BACKOFF_MAX_MS
    dead_letter_topic: str | None = None
    max_in_flight: int = limits.IN_FLIGHT_MAX


class Group(msgspec.Struct, frozen=True, rename="camel"):
    """`mode` is set at creation and never changes."""

    id: str
    name: str
    created_at_ms: int
    mode: GroupMode = GroupMode.SHARED
    settings: GroupSettings = GroupSettings()


class NodeRegistration(msgspec.Struct, frozen=True, rename="camel"):
    """A live node. `incarnation` is new at every start; `directory_id` names its data directory."""

    node_id: int
    incarnation: int
    directory_id: str
    address: str
    rack: str = ""


class Tombstone(msgspec.Struct, frozen=True, rename="camel"):
    """The topic or group with this id was deleted on purpose: only then may its data be removed (rule R13)."""

    id: str
    name: str
    deleted_at_ms: int
