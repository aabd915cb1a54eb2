"""Topics and groups as the API describes them. Times are in milliseconds since 1970."""

from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec
from msgspec import field

from acklog.members import MemberOfGroup
from acklog.positions import CommittedPosition
from acklog.positions import ProblemItem as ProblemItem
from acklog.wire.limits import REBALANCE_TIMEOUT_MS_DEFAULT, RETRY_JITTER, SESSION_TIMEOUT_MS_DEFAULT


class TopicConfig(msgspec.Struct, rename="camel"):
    """`retention` is "time" or "untilAcked", `cleanup_policy` "delete", "compact" or "compact,delete"; -1 stands for no
    limit. `ttl_ms` is how long messages are delivered that say nothing else; None: as long as they are kept. `delay_ms`
    is how much later messages are seen that say nothing else. `encryption` is "on" or "off". Quotas (`…_per_second`)
    are those of the whole cluster; None: none."""

    retention: str
    retention_ms: int
    retention_bytes: int
    segment_bytes: int
    dedup_window_ms: int
    min_insync_replicas: int
    max_replica_lag_ms: int
    cleanup_policy: str = "delete"
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = -1
    tombstone_retention_ms: int = 0
    ttl_ms: int | None = None
    send_messages_per_second: int | None = None
    send_bytes_per_second: int | None = None
    send_requests_per_second: int | None = None
    delay_ms: int = 0
    encryption: str = "off"


class TopicChanges(TypedDict, total=False):
    """What of a topic's configuration is to be set; what is left out stays, or gets the server's default. An
    update takes None for no `ttl_ms` and for no quota."""

    retention: str
    retention_ms: int
    retention_bytes: int
    segment_bytes: int
    dedup_window_ms: int
    min_insync_replicas: int
    max_replica_lag_ms: int
    cleanup_policy: str
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    tombstone_retention_ms: int
    ttl_ms: int | None
    send_messages_per_second: int | None
    send_bytes_per_second: int | None
    send_requests_per_second: int | None
    delay_ms: int
    encryption: str


class Topic(msgspec.Struct, rename="camel"):
    name: str
    id: str
    partitions: int
    replication_factor: int
    config: TopicConfig
    created_at_ms: int = field(name="createdAt")
    decommissioned: list[int] = field(default_factory=list)
    """Partitions that take no new messages any more."""


class UncleanElection(msgspec.Struct, rename="camel"):
    """An operator had a replica elected that was not in sync. `count` is how often that was done to the partition. What
    the log had from `log_end` on is lost, up to `lost_below` as far as is known; `at_ms` is wall-clock time."""

    count: int
    leader_epoch: int
    node: int
    log_end: int
    lost_below: int
    at_ms: int


class PartitionState(msgspec.Struct, rename="camel"):
    """`log_start` and what follows are None, with a `problem`, where the partition's leader cannot be asked.

    `replicas` has the preferred leader first; `moving_to` is what they will be once the move under way is complete.
    `life` is "active", "decommissioned", "empty" (decommissioned, and nothing left) or "gone".
    """

    partition: int
    leader: int | None = None
    leader_epoch: int | None = None
    replicas: list[int] = field(default_factory=list)
    in_sync_replicas: list[int] = field(default_factory=list)
    moving_to: list[int] | None = None
    life: str = "active"
    unclean_election: UncleanElection | None = None
    """The last one, if there ever was one: messages were lost by it."""
    log_start: int | None = None
    high_watermark: int | None = None
    size_bytes: int | None = None
    problem: ProblemItem | None = None


class PartitionGroup(msgspec.Struct, rename="camel"):
    """How far a group is in a partition: everything below `progress` is done, and `done_above` messages after it."""

    group: str
    progress: int
    done_above: int
    in_flight: int
    delayed: int
    dead_lettered: int
    lost: int
    lag: int


class PartitionDescription(PartitionState, rename="camel", kw_only=True):
    """A partition, and the groups that have read from it, by name."""

    topic: str
    groups: list[PartitionGroup]


class TopicDescription(Topic, rename="camel", kw_only=True):
    """A topic with what the leader of each partition says."""

    partition_states: list[PartitionState]


class TopicPage(msgspec.Struct):
    topics: list[Topic]
    next: str | None = None


class GroupSettings(msgspec.Struct, rename="camel"):
    """`fair_by` is "none" or "key", `fair_by_header` the header whose values have their share instead; a limit or
    quota that is None is none. Timeouts and `assignor` are for exclusive groups; `assignor` is "sticky", "range",
    "roundRobin" or "lag"; `on_missing_position` is "start" or "refuse", `on_exhausted` "deadLetter", "retry" or
    "block", `on_expired` "skip" or "deadLetter". `filter` says which messages the group wants; None: all.
    `retry_delays_ms` None: the delay doubles from `retry_backoff_min_ms` to `retry_backoff_max_ms`; `retry_jitter` is
    the part of each delay that is left to chance."""

    start_position: str
    visibility_ms: int
    max_attempts: int
    retry_backoff_min_ms: int
    retry_backoff_max_ms: int
    max_in_flight: int
    dead_letter_topic: str | None = None
    max_in_flight_per_consumer: int | None = None
    max_in_flight_per_key: int | None = None
    fair_by: str = "none"
    session_timeout_ms: int = SESSION_TIMEOUT_MS_DEFAULT
    rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS_DEFAULT
    assignor: str = "sticky"
    on_missing_position: str = "start"
    on_exhausted: str = "deadLetter"
    filter: str | None = None
    retry_delays_ms: list[int] | None = None
    retry_jitter: float = RETRY_JITTER
    on_expired: str = "skip"
    receive_messages_per_second: int | None = None
    receive_bytes_per_second: int | None = None
    receive_requests_per_second: int | None = None
    fair_by_header: str | None = None
    max_in_flight_per_header: int | None = None


class GroupChanges(TypedDict, total=False):
    """What of a group's settings is to be set; what is left out stays, or gets the server's default. An update takes
    None for the default of `dead_letter_topic`, for no limit, no quota, no filter and no header to be fair by."""

    start_position: str
    visibility_ms: int
    max_attempts: int
    retry_backoff_min_ms: int
    retry_backoff_max_ms: int
    max_in_flight: int
    dead_letter_topic: str | None
    max_in_flight_per_consumer: int | None
    max_in_flight_per_key: int | None
    fair_by: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    assignor: str
    on_missing_position: str
    on_exhausted: str
    filter: str | None
    retry_delays_ms: list[int] | None
    retry_jitter: float
    on_expired: str
    receive_messages_per_second: int | None
    receive_bytes_per_second: int | None
    receive_requests_per_second: int | None
    fair_by_header: str | None
    max_in_flight_per_header: int | None


class Paused(msgspec.Struct, rename="camel"):
    """What of a group is paused: `topic` None is every topic, `partitions` None all of them. `since_ms` is when the
    first of it was."""

    topic: str | None
    partitions: list[int] | None
    since_ms: int = field(name="since")


class Group(msgspec.Struct, rename="camel"):
    """`dead_letter_sources` are shell patterns of the topics that `settings.dead_letter_topic` is for; None: all.

    `groups.get` of an exclusive group has its members, or the `problem` why they cannot be asked for."""

    name: str
    id: str
    mode: str
    settings: GroupSettings
    created_at_ms: int = field(name="createdAt")
    dead_letter_sources: list[str] | None = None
    paused: list[Paused] = field(default_factory=list)
    group_epoch: int | None = None
    members: list[MemberOfGroup] | None = None
    problem: ProblemItem | None = None


class GroupPage(msgspec.Struct):
    groups: list[Group]
    next: str | None = None


class PartitionProgress(msgspec.Struct, rename="camel"):
    """How far a group is in a partition: everything below `progress` is done, and `done_above` messages after it.

    All None, with a `problem`, where the partition's leader cannot be asked.
    """

    topic: str
    partition: int
    progress: int | None = None
    done_above: int | None = None
    in_flight: int | None = None
    delayed: int | None = None
    blocked: int | None = None
    """Messages that wait for a person's decision."""
    dead_lettered: int | None = None
    lost: int | None = None
    expired: int | None = None
    log_start: int | None = None
    high_watermark: int | None = None
    lag: int | None = None
    lag_ms: int | None = None
    """How much earlier than the newest message the first one was appended that is not done."""
    oldest_age_ms: int | None = None
    """How long ago that was."""
    committed: CommittedPosition | None = None
    is_paused: bool = field(name="paused", default=False)
    problem: ProblemItem | None = None
    generation: int | None = None
    """Rises with each seek, and each other owner: receipts of an earlier one are stale."""
    deleted: int | None = None
    """Messages that somebody deleted on purpose before they were done; `lost` are those that retention removed."""


class BlockedMessage(msgspec.Struct, rename="camel"):
    """Its attempts are used up, and it waits for a decision. `message_id` and `key` are None where it cannot be read,
    and `key` where it has none or the token has no right to receive it."""

    topic: str
    partition: int
    offset: int
    message_id: str | None
    key: str | None
    attempts: int
    since_ms: int = field(name="since")


class UnknownPartition(msgspec.Struct):
    """What is blocked there could not be asked."""

    topic: str
    partition: int
    problem: ProblemItem


class BlockedMessages(msgspec.Struct):
    """Of a group that blocks. `count` is how many there are, also of those that are not shown."""

    group: str
    keys: list[BlockedMessage]
    count: int
    unknown: list[UnknownPartition]


class BlockedDecision(msgspec.Struct):
    """What was released or skipped, as it was before."""

    group: str
    keys: list[BlockedMessage]


class GroupOffsets(msgspec.Struct, rename="camel"):
    """Only partitions from which the group has read. `lag` is the sum of theirs, the times are the longest."""

    group: str
    offsets: list[PartitionProgress]
    lag: int
    lag_ms: int = 0
    oldest_age_ms: int = 0


class GroupDemand(msgspec.Struct, rename="camel"):
    """How much a group has to do: of the `lag`, `waiting` messages could be delivered now, `in_flight` are with
    consumers, `delayed` come later and `blocked` wait for a person. The rates are since the gateway was asked before;
    None at the first time. `suggested_consumers` meets the targets that were given; None without any."""

    group: str
    mode: str
    lag: int
    waiting: int
    in_flight: int
    delayed: int
    blocked: int
    oldest_age_seconds: float
    arrivals_per_second: float | None
    settled_per_second: float | None
    consumers: int
    suggested_consumers: int | None
    unknown_partitions: int
    """Whose leaders could not be asked."""


class PartitionSeek(msgspec.Struct):
    """Where the group goes on in the partition, and where it was; or the `problem` that kept it there."""

    partition: int
    offset: int | None = None
    previous: int | None = None
    problem: ProblemItem | None = None


class SeekResult(msgspec.Struct, rename="camel"):
    """What a seek did, or would do (`dry_run`), partition by partition; `failed` counts those that did not move."""

    group: str
    topic: str
    dry_run: bool
    partitions: list[PartitionSeek]
    failed: int


def camel_case(changes: Mapping[str, Any]) -> dict[str, Any]:
    """`retention_ms` as the API spells it: `retentionMs`."""
    return {_camel(name): value for name, value in changes.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
