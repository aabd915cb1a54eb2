"""What is asked of groups, and how they are shown."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from acklog.wire import limits
from acklog.wire.identifiers import MessageId
from acklog.wire.problems import ProblemCode
from app.calls.commits import CommittedView
from app.calls.group_shares import check_shares
from app.calls.members import GroupMemberView
from app.calls.names import check_name
from app.calls.pauses import PausedView
from app.calls.problem_item import ProblemItem
from app.calls.quotas import PerSecond
from app.calls.records import OFFSET_MAX
from app.calls.setting_changes import applied
from cluster.errors import ServerError
from cluster.model.values import (
    Assignor,
    Exhausted,
    Expired,
    FairBy,
    GroupMode,
    GroupSettings,
    MissingPosition,
    StartPosition,
)

_Backoff = Annotated[int, Meta(ge=0, le=limits.NACK_DELAY_SECONDS_MAX * 1000)]


class GroupSettingsFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """Settings of a group; what is left out keeps its value, or gets the default in a new group. What is null goes back
    to its default with `PATCH`, and is as left out with `PUT`."""

    start_position: Annotated[
        StartPosition | UnsetType | None,
        Meta(description="where the group begins in a partition that it reads for the first time"),
    ] = UNSET
    visibility_ms: Annotated[
        Annotated[int, Meta(ge=0, le=limits.VISIBILITY_SECONDS_MAX * 1000)] | UnsetType | None,
        Meta(description="how long a message is leased where the receive does not say"),
    ] = UNSET
    max_attempts: Annotated[
        Annotated[int, Meta(ge=1, le=limits.MAX_ATTEMPTS_MAX)] | UnsetType | None,
        Meta(description="attempts after which a message goes to the dead-letter topic"),
    ] = UNSET
    retry_backoff_min_ms: Annotated[
        _Backoff | UnsetType | None,
        Meta(description="delay after the first failure whose nack names none; it doubles with each further one"),
    ] = UNSET
    retry_backoff_max_ms: Annotated[_Backoff | UnsetType | None, Meta(description="the longest such delay")] = UNSET
    retry_delays_ms: Annotated[
        Annotated[tuple[_Backoff, ...], Meta(min_length=1, max_length=limits.RETRY_DELAYS_MAX)] | UnsetType | None,
        Meta(description="delays after the first, the second failure and so on instead; the last one repeats"),
    ] = UNSET
    retry_jitter: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | UnsetType | None,
        Meta(description="the part of each delay that is left to chance, so that failures do not come back together"),
    ] = UNSET
    dead_letter_topic: Annotated[
        str | UnsetType | None,
        Meta(description="where dead letters go (default: <topic>.<group>.dlq, created when needed)"),
    ] = UNSET
    max_in_flight: Annotated[
        Annotated[int, Meta(ge=1, le=limits.IN_FLIGHT_MAX)] | UnsetType | None,
        Meta(description="messages of a partition that may be leased at a time"),
    ] = UNSET
    max_in_flight_per_consumer: Annotated[
        Annotated[int, Meta(ge=1, le=limits.IN_FLIGHT_MAX)] | UnsetType | None,
        Meta(
            description="messages that one consumer may have leased at a time, as each node counts in its partitions "
            "of the topics that are asked; receives that name no consumer count as one (default: no limit)"
        ),
    ] = UNSET
    max_in_flight_per_key: Annotated[
        Annotated[int, Meta(ge=1, le=limits.IN_FLIGHT_MAX)] | UnsetType | None,
        Meta(description="messages of one key that may be leased at a time per partition (default: no limit)"),
    ] = UNSET
    fair_by: Annotated[
        FairBy | UnsetType | None,
        Meta(description="key: a key has its share of what is in flight, and no more while others wait"),
    ] = UNSET
    fair_by_header: Annotated[
        str | UnsetType | None,
        Meta(
            description="the name of a header: each of its values has such a share instead, whatever the keys; "
            "messages without it have one together"
        ),
    ] = UNSET
    max_in_flight_per_header: Annotated[
        Annotated[int, Meta(ge=1, le=limits.IN_FLIGHT_MAX)] | UnsetType | None,
        Meta(
            description="messages of one value of that header that may be leased at a time per partition (default: no "
            "limit)"
        ),
    ] = UNSET
    session_timeout_ms: Annotated[
        Annotated[int, Meta(ge=limits.SESSION_TIMEOUT_MS_MIN, le=limits.SESSION_TIMEOUT_MS_MAX)] | UnsetType | None,
        Meta(description="how long a member of an exclusive group may be silent before its partitions go to others"),
    ] = UNSET
    rebalance_timeout_ms: Annotated[
        Annotated[int, Meta(ge=0, le=limits.REBALANCE_TIMEOUT_MS_MAX)] | UnsetType | None,
        Meta(description="how long a partition that moves waits for what its owner before has in flight"),
    ] = UNSET
    assignor: Annotated[
        Assignor | UnsetType | None,
        Meta(
            description="which member gets which partition, always within one of the others: sticky moves only what "
            "has to move, range keeps neighbours together, roundRobin deals them out, lag evens out what is to be read"
        ),
    ] = UNSET

    on_missing_position: Annotated[
        MissingPosition | UnsetType | None,
        Meta(
            description="in a partition where it has no position, or retention has removed what it had not done: "
            "start, or refuse until a seek or commit says where it is"
        ),
    ] = UNSET
    on_exhausted: Annotated[
        Exhausted | UnsetType | None,
        Meta(
            description="what becomes of a message whose attempts are used up: deadLetter; retry, it goes on coming "
            "back; or block, where it waits for a decision and holds up its key (keyOrdered) or its partition "
            "(exclusive)"
        ),
    ] = UNSET

    on_expired: Annotated[
        Expired | UnsetType | None,
        Meta(
            description="what becomes of a message whose time to live is over: skip (it is passed over) or deadLetter"
        ),
    ] = UNSET

    filter: Annotated[
        str | UnsetType | None,
        Meta(
            description="which messages the group wants, by tags, key and headers; the others are passed over for good "
            "(default: all). A change holds for what is not done yet"
        ),
    ] = UNSET

    receive_messages_per_second: Annotated[
        PerSecond | UnsetType | None,
        Meta(description="a quota: messages per second that the group may be given, by all gateways together"),
    ] = UNSET
    receive_bytes_per_second: Annotated[
        PerSecond | UnsetType | None,
        Meta(description="a quota: bytes of bodies per second that the group may be given, by all gateways together"),
    ] = UNSET
    receive_requests_per_second: Annotated[
        PerSecond | UnsetType | None,
        Meta(description="a quota: receives per second of the group, by all gateways together"),
    ] = UNSET

    def applied_to(self, settings: GroupSettings) -> GroupSettings:
        """Raises ServerError INVALID_FIELD, INVALID_NAME."""
        changed = applied(self, settings, defaults=GroupSettings())
        if changed.retry_backoff_min_ms > changed.retry_backoff_max_ms:
            detail = "must not be below retryBackoffMinMs"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field="settings.retryBackoffMaxMs")
        if isinstance(self.dead_letter_topic, str):
            check_name(self.dead_letter_topic, field="settings.deadLetterTopic")
        check_shares(changed)
        return changed


class GroupFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `PUT` and of `PATCH /groups/{group}`. Null is as left out."""

    mode: GroupMode | None = None
    settings: GroupSettingsFields | None = None


class SeekTarget(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """One of them. `relative` counts messages from where the group is, forward or (below 0) back."""

    offset: Annotated[int, Meta(ge=0, le=OFFSET_MAX)] | None = None
    time: Annotated[int, Meta(ge=0, le=limits.TIMESTAMP_MS_MAX)] | None = None
    relative: Annotated[int, Meta(ge=-OFFSET_MAX, le=OFFSET_MAX)] | None = None
    message_id: str | None = None


class SeekFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `PUT /groups/{group}/offsets`."""

    topic: str
    to: str | SeekTarget
    partition: Annotated[int, Meta(ge=0, lt=limits.PARTITIONS_MAX)] | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class SeekCommand:
    """`partition` None: all of them. `to` and `value` as in `storage.rpc.messages.SeekRequest`; with a `message` the
    group goes to that one."""

    topic: str
    partition: int | None
    to: str
    value: int
    is_dry_run: bool
    message: MessageId | None = None


class GroupView(msgspec.Struct, rename="camel"):
    """`dead_letter_sources` are the patterns of topics that `settings.deadLetterTopic` is for, those of the token that
    chose it; null: every topic. Dead letters of other topics go to `<topic>.<group>.dlq`. The description of an
    exclusive group has its members, or the `problem` why they cannot be asked for."""

    name: str
    id: str
    mode: GroupMode
    created_at: int
    settings: GroupSettings
    dead_letter_sources: tuple[str, ...] | None = None
    paused: list[PausedView] = []
    group_epoch: int | UnsetType = UNSET
    members: list[GroupMemberView] | UnsetType = UNSET
    problem: ProblemItem | UnsetType = UNSET


class GroupListing(msgspec.Struct, omit_defaults=True):
    """`next` is there when there is more: ask again with `after` set to it."""

    groups: list[GroupView]
    next: str | None = None


class ProgressView(msgspec.Struct, rename="camel"):
    """`progress` is the first offset not done, `doneAbove` counts the done ones above it, `lag` all that are not done,
    `blocked` those that wait for a person's decision, `lost` those that retention removed before they were done,
    `deleted` those that somebody deleted before, on purpose, `expired` those whose time to live was over before.
    `generation` rises with each seek, and each other owner: receipts of an earlier one are stale. `committed` is what a
    reader said that keeps its own position; null where there is none. `lag_ms` is how much earlier than the newest
    message the first one was appended that is not done, `oldest_age_ms` how long ago that was; null where it cannot be
    told, and where many groups are shown at once.

    All null, with a `problem`, where the partition's leader cannot be asked.
    """

    topic: str
    partition: int
    progress: int | None = None
    done_above: int | None = None
    in_flight: int | None = None
    delayed: int | None = None
    blocked: int | None = None
    dead_lettered: int | None = None
    lost: int | None = None
    expired: int | None = None
    log_start: int | None = None
    high_watermark: int | None = None
    lag: int | None = None
    lag_ms: int | None = None
    oldest_age_ms: int | None = None
    committed: CommittedView | None = None
    is_paused: bool = msgspec.field(name="paused", default=False)
    problem: ProblemItem | None = None
    generation: int | None = None
    deleted: int | None = None


class OffsetsView(msgspec.Struct, rename="camel"):
    """Only partitions from which the group has read, and which are not gone. `lag` is the sum of theirs, the times are
    the longest."""

    group: str
    offsets: list[ProgressView]
    lag: int
    lag_ms: int
    oldest_age_ms: int


class SeekItem(msgspec.Struct, rename="camel", omit_defaults=True):
    partition: int
    offset: int | msgspec.UnsetType = msgspec.UNSET
    previous: int | msgspec.UnsetType = msgspec.UNSET
    problem: ProblemItem | msgspec.UnsetType = msgspec.UNSET


class SeekView(msgspec.Struct, rename="camel"):
    group: str
    topic: str
    dry_run: bool
    partitions: list[SeekItem]
    failed: int
