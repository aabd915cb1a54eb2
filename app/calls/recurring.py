"""Recurring schedules: how they are asked for, and shown."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from acklog.wire.record import Record
from cluster.model.recurrence import CRON_BYTES_MAX, EVERY_MS_MAX, EVERY_MS_MIN
from cluster.model.recurring_schedule import MISSED_GRACE_MS, MissedRuns

GRACE_SECONDS_MAX = 24 * 60 * 60

_Time = Annotated[
    int | str,
    Meta(description="RFC 3339 with an offset, or milliseconds since 1970", examples=["2027-03-01T08:30:00Z"]),
]


class RecurringFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `PUT` and `PATCH /topics/{topic}/schedules/{schedule}`. What is left out keeps its value, or gets the
    default in a new one. What is null goes back to its default with `PATCH`, and is as left out with `PUT`."""

    cron: Annotated[
        Annotated[str, Meta(max_length=CRON_BYTES_MAX)] | UnsetType | None,
        Meta(description="minute, hour, day of month, month, day of week; with six fields the first is seconds"),
    ] = UNSET
    time_zone: Annotated[
        Annotated[str, Meta(max_length=64)] | UnsetType | None,
        Meta(description="of cron: a name of the IANA database (Europe/Berlin); UTC if there is none"),
    ] = UNSET
    every_seconds: Annotated[
        Annotated[float, Meta(ge=EVERY_MS_MIN / 1000, le=EVERY_MS_MAX / 1000)] | UnsetType | None,
        Meta(description="instead of cron: so often, from startAt or from now on"),
    ] = UNSET
    message: Annotated[
        Raw | UnsetType,
        Meta(description="what is sent: body or bodyBase64, key, headers, tags, contentType, ttlSeconds"),
    ] = UNSET
    missed: Annotated[
        MissedRuns | UnsetType | None,
        Meta(
            description="what becomes of times at which nobody could send: skip (what is later than graceSeconds is "
            "not sent), once (one message, for the last of them), all (a message each, the last 1,000)"
        ),
    ] = UNSET
    grace_seconds: Annotated[
        Annotated[float, Meta(ge=0, le=GRACE_SECONDS_MAX)] | UnsetType | None,
        Meta(description=f"with `skip`, how late is not too late; {MISSED_GRACE_MS // 1000} if nothing is said"),
    ] = UNSET
    paused: Annotated[bool | UnsetType | None, Meta(description="nothing is sent, and nothing is missed by it")] = UNSET
    start_at: Annotated[_Time | UnsetType | None, Meta(description="nothing is sent before")] = UNSET
    end_at: Annotated[_Time | UnsetType | None, Meta(description="nothing is sent then or later")] = UNSET


@dataclass(frozen=True, slots=True)
class RecurringWish:
    """What is asked of a schedule, checked by itself: UNSET is not named, None is the default."""

    cron: str | UnsetType | None = UNSET
    time_zone: str | UnsetType | None = UNSET
    every_ms: int | UnsetType | None = UNSET
    record: Record | UnsetType = UNSET
    missed: MissedRuns | UnsetType | None = UNSET
    grace_ms: int | UnsetType | None = UNSET
    is_paused: bool | UnsetType | None = UNSET
    start_ms: int | UnsetType | None = UNSET
    end_ms: int | UnsetType | None = UNSET


class TemplateView(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """What a schedule sends."""

    key: str | UnsetType = UNSET
    body: Raw | UnsetType = UNSET
    body_base64: str | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET
    ttl_seconds: float | UnsetType = UNSET


class RecurringView(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """`next_at` is when it is due next, where it is; `partition` where its messages go. Lists leave `message`
    out, and so do answers to who may not receive it."""

    schedule: str
    queue: str
    partition: int
    cron: str | UnsetType = UNSET
    time_zone: str | UnsetType = UNSET
    every_seconds: float | UnsetType = UNSET
    missed: MissedRuns = MissedRuns.ONCE
    grace_seconds: float | UnsetType = UNSET
    paused: bool | UnsetType = UNSET
    start_at: int | UnsetType = UNSET
    end_at: int | UnsetType = UNSET
    created_at: int
    next_at: int | UnsetType = UNSET
    message: TemplateView | UnsetType = UNSET


class RecurringListing(msgspec.Struct, rename="camel", omit_defaults=True):
    """By name. `next` is there when there is more: ask again with `after` set to it."""

    schedules: list[RecurringView]
    next: str | None = None
