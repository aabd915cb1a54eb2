"""Messages that are sent again and again, as the API describes them. Times are in milliseconds since 1970."""

from base64 import b64decode
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType, field

from acklog.stored_body import refuse_unreadable


class RecurringTemplate(msgspec.Struct, kw_only=True, omit_defaults=True, dict=True):
    """What is sent each time."""

    key: str | None = None
    json_body: Raw | UnsetType = field(name="body", default=UNSET)
    base64_body: str | None = field(name="bodyBase64", default=None)
    content_type: str | None = field(name="contentType", default=None)
    headers: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    ttl_seconds: float | None = field(name="ttlSeconds", default=None)

    @property
    def body(self) -> Any:
        """The JSON value, or bytes where the message has a content type."""
        refuse_unreadable(self.__dict__)
        if isinstance(self.json_body, Raw):
            return msgspec.json.decode(self.json_body)
        return b64decode(self.base64_body or "")


class RecurringMessage(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A recurring schedule: `cron` in `time_zone`, or each `every_seconds`. `next_at_ms` is when it is due next, None
    while it is paused and where it is over. A list leaves out `message`, and so does any answer to a token
    that may not receive it."""

    name: str = field(name="schedule")
    topic: str = field(name="queue")
    partition: int
    cron: str | None = None
    time_zone: str | None = field(name="timeZone", default=None)
    every_seconds: float | None = field(name="everySeconds", default=None)
    missed: str = "once"
    grace_seconds: float | None = field(name="graceSeconds", default=None)
    is_paused: bool = field(name="paused", default=False)
    start_at_ms: int | None = field(name="startAt", default=None)
    end_at_ms: int | None = field(name="endAt", default=None)
    created_at_ms: int = field(name="createdAt")
    next_at_ms: int | None = field(name="nextAt", default=None)
    message: RecurringTemplate | None = None


class RecurringPage(msgspec.Struct):
    """By name; `next` is there when there is more."""

    schedules: list[RecurringMessage]
    next: str | None = None
