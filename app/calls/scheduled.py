"""Messages that are to be seen later: how they are asked for, moved and shown."""

from dataclasses import dataclass

import msgspec
from msgspec import UNSET, Raw, UnsetType

from acklog.wire.limits import TIMESTAMP_MS_MAX
from acklog.wire.record import Schedule

LISTED_DEFAULT = 100
LISTED_MAX = 1000


class ScheduleFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `PATCH /topics/{topic}/scheduled/{scheduleId}`: one of the two."""

    delay_seconds: float | None = None
    deliver_at: int | str | None = None


@dataclass(frozen=True, slots=True)
class ScheduledCursor:
    """Where the next page begins: behind this message, in the order of time, partition and arrival."""

    due_ms: int
    partition: int
    order: int


@dataclass(frozen=True, slots=True)
class ScheduledRange:
    """What is due from `from_ms` on and before `to_ms`."""

    limit: int = LISTED_DEFAULT
    from_ms: int = 0
    to_ms: int = TIMESTAMP_MS_MAX
    cursor: ScheduledCursor | None = None


@dataclass(frozen=True, slots=True)
class MoveInTime:
    """To another time; None: as soon as it can be."""

    schedule: Schedule | None


class ScheduledView(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """`state` is scheduled, delivered (and the message is `message_id`) or cancelled. A list leaves out the body and
    says how many bytes it has; without the right to receive it leaves out what else is in the message, too.
    `ttl_seconds` is what the message says; it counts from when it is delivered."""

    schedule_id: str
    queue: str
    partition: int
    state: str
    deliver_at: int | UnsetType = UNSET
    size: int | UnsetType = UNSET
    key: str | UnsetType = UNSET
    body: Raw | UnsetType = UNSET
    body_base64: str | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET
    ttl_seconds: float | UnsetType = UNSET
    message_id: str | UnsetType = UNSET
    offset: int | UnsetType = UNSET


class ScheduledListing(msgspec.Struct, rename="camel", omit_defaults=True):
    """`pending` counts all that is scheduled in the topic. `next` is there when there is more: ask again with `cursor`
    set to it."""

    scheduled: list[ScheduledView]
    pending: int
    next: str | None = None
