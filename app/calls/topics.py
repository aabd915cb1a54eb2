"""What is asked of topics, and how they are shown."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.calls.groups import ProgressView
from app.calls.problem_item import ProblemItem
from app.calls.quotas import PerSecond
from app.calls.setting_changes import applied
from app.calls.unclean_election import UncleanElectionView
from cluster.errors import ServerError
from cluster.model.values import CleanupPolicy, Encryption, PartitionLife, RetentionMode, TopicConfig

_MS_MAX = 1 << 53  # what every JSON reader can hold exactly


_Limit = Annotated[int, Meta(ge=-1, le=_MS_MAX)]


class TopicConfigFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """Settings of a topic; what is left out keeps its value, or gets the default in a new topic. What is null goes back
    to its default with `PATCH`, and is as left out with `PUT`."""

    retention: Annotated[
        RetentionMode | UnsetType | None,
        Meta(description="time: by age and size alone; untilAcked: also what every group that reads it has done"),
    ] = UNSET
    retention_ms: Annotated[
        _Limit | UnsetType | None,
        Meta(description="messages are removed this long after their append time; -1: never for their age"),
    ] = UNSET
    retention_bytes: Annotated[
        _Limit | UnsetType | None,
        Meta(description="the oldest messages of a partition beyond this size are removed; -1: any size"),
    ] = UNSET
    segment_bytes: Annotated[
        Annotated[int, Meta(ge=1024 * 1024, le=1024 * 1024 * 1024)] | UnsetType | None,
        Meta(
            description="size of a file of a partition; messages are removed by whole files. A change holds on "
            "a node from its next start on"
        ),
    ] = UNSET
    dedup_window_ms: Annotated[
        Annotated[int, Meta(ge=0, le=limits.DEDUP_WINDOW_MS_MAX)] | UnsetType | None,
        Meta(description="how long an idempotency key is remembered, per partition"),
    ] = UNSET
    min_insync_replicas: Annotated[
        Annotated[int, Meta(ge=1, le=limits.REPLICAS_MAX)] | UnsetType | None,
        Meta(description="replicas that must have a message before it counts; default: 2 of 3 or more, else 1"),
    ] = UNSET
    max_replica_lag_ms: Annotated[
        Annotated[int, Meta(ge=100, le=3_600_000)] | UnsetType | None,
        Meta(description="a replica that has not caught up for so long is in sync no more"),
    ] = UNSET
    cleanup_policy: Annotated[
        CleanupPolicy | UnsetType | None,
        Meta(
            description="delete: retention removes the oldest messages; compact: of each key the last message stays, "
            "for good; compact,delete: both"
        ),
    ] = UNSET
    min_compaction_lag_ms: Annotated[
        Annotated[int, Meta(ge=0, le=_MS_MAX)] | UnsetType | None,
        Meta(description="a message is there for so long at least, whatever follows with its key"),
    ] = UNSET
    max_compaction_lag_ms: Annotated[
        _Limit | UnsetType | None,
        Meta(description="after so long a message that has a later one of its key is compacted away; -1: no limit"),
    ] = UNSET
    tombstone_retention_ms: Annotated[
        Annotated[int, Meta(ge=0, le=_MS_MAX)] | UnsetType | None,
        Meta(description="how long a tombstone stays after compaction met it first"),
    ] = UNSET

    ttl_ms: Annotated[
        Annotated[int, Meta(ge=1, le=limits.TTL_SECONDS_MAX * 1000)] | UnsetType | None,
        Meta(
            description="how long after its append time a message may be delivered that names no ttlSeconds "
            "(default: as long as it is kept)"
        ),
    ] = UNSET

    delay_ms: Annotated[
        Annotated[int, Meta(ge=0, le=limits.DELAY_SECONDS_MAX * 1000)] | UnsetType | None,
        Meta(description="how much later messages are seen that name neither delaySeconds nor deliverAt; 0: at once"),
    ] = UNSET

    encryption: Annotated[
        Encryption | UnsetType | None,
        Meta(
            description="on: what is stored from now on is encrypted at rest, which takes a master key on every node; "
            "off: it is stored in clear; default: as the server's encrypt_topics says"
        ),
    ] = UNSET

    send_messages_per_second: Annotated[
        PerSecond | UnsetType | None,
        Meta(description="a quota: messages per second that may be sent to the topic, all gateways together"),
    ] = UNSET
    send_bytes_per_second: Annotated[
        PerSecond | UnsetType | None,
        Meta(description="a quota: bytes of bodies per second that may be sent to the topic, all gateways together"),
    ] = UNSET
    send_requests_per_second: Annotated[
        PerSecond | UnsetType | None,
        Meta(description="a quota: requests per second that may send to the topic, all gateways together"),
    ] = UNSET

    def applied_to(self, config: TopicConfig, *, defaults: TopicConfig) -> TopicConfig:
        """Raises ServerError INVALID_FIELD."""
        changed = applied(self, config, defaults=defaults)
        if 0 <= changed.max_compaction_lag_ms < changed.min_compaction_lag_ms:
            detail = f"must not be below minCompactionLagMs, {changed.min_compaction_lag_ms}"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field="config.maxCompactionLagMs")
        return changed


class TopicFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `PUT` and of `PATCH /topics/{topic}`. Null is as left out."""

    partitions: Annotated[int, Meta(ge=1, le=limits.PARTITIONS_MAX)] | None = None
    replication_factor: Annotated[
        Annotated[int, Meta(ge=1, le=limits.REPLICAS_MAX)] | None,
        Meta(description="nodes that hold each partition; default: 3 where there are three nodes, else one on each"),
    ] = None
    config: TopicConfigFields | None = None


class PartitionView(msgspec.Struct, rename="camel"):
    """`leader` is null while there is none; the offsets are null, with a `problem`, while it cannot be asked.

    `replicas` has the preferred leader first. `moving_to` is what they will be once the move under way is complete.
    `unclean_election` is the last one, if there ever was one: messages were lost by it.
    A partition that is not `active` was decommissioned: it takes no new messages, and has no copies once it is `gone`.
    """

    partition: int
    leader: int | None
    leader_epoch: int | None
    replicas: list[int]
    in_sync_replicas: list[int]
    moving_to: list[int] | None = None
    life: PartitionLife = PartitionLife.ACTIVE
    unclean_election: UncleanElectionView | None = None
    log_start: int | None = None
    high_watermark: int | None = None
    size_bytes: int | None = None
    problem: ProblemItem | None = None


class PartitionGroupView(ProgressView, rename="camel", kw_only=True):
    """How far one group is in the partition."""

    group: str


class PartitionDescription(PartitionView, rename="camel", kw_only=True):
    """A partition and the groups that have read from it, by name."""

    topic: str
    groups: list[PartitionGroupView]


class TopicView(msgspec.Struct, rename="camel", omit_defaults=True):
    """`partitions` counts the numbers ever given; the `decommissioned` ones of them take no new messages. One that is
    `restoring` is filled from a backup, and not served yet."""

    name: str
    id: str
    partitions: int
    replication_factor: int
    created_at: int
    config: TopicConfig
    decommissioned: list[int]
    restoring: bool = False


class TopicDescription(TopicView, kw_only=True):
    partition_states: list[PartitionView]


class TopicListing(msgspec.Struct, omit_defaults=True):
    """`next` is there when there is more: ask again with `after` set to it."""

    topics: list[TopicView]
    next: str | None = None
