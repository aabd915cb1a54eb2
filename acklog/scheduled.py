"""Messages that are to be seen later, as the API describes them. Times are in milliseconds since 1970."""

from base64 import b64decode
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType, field

from acklog.stored_body import refuse_unreadable


class ScheduledMessage(msgspec.Struct, kw_only=True, omit_defaults=True, dict=True):
    """`state` is "scheduled" (and due at `deliver_at_ms`), "delivered" (and stored as `message_id`) or "cancelled". A
    list leaves out the body and says how many bytes it has; without the right to receive from the topic also key,
    headers, tags and what else is in the message. `ttl_seconds` is how long it may be delivered from when it is stored
    as a message on, where it says so itself."""

    schedule_id: str = field(name="scheduleId")
    topic: str = field(name="queue")
    partition: int
    state: str
    deliver_at_ms: int | None = field(name="deliverAt", default=None)
    size: int | None = None
    key: str | None = None
    json_body: Raw | UnsetType = field(name="body", default=UNSET)
    base64_body: str | None = field(name="bodyBase64", default=None)
    content_type: str | None = field(name="contentType", default=None)
    headers: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    ttl_seconds: float | None = field(name="ttlSeconds", default=None)
    message_id: str | None = field(name="messageId", default=None)
    offset: int | None = None

    @property
    def body(self) -> Any:
        """The JSON value, or bytes where the message has a content type (also no bytes at all); None where it was not
        asked for."""
        refuse_unreadable(self.__dict__)
        if isinstance(self.json_body, Raw):
            return msgspec.json.decode(self.json_body)
        return None if self.base64_body is None else b64decode(self.base64_body)


class ScheduledPage(msgspec.Struct):
    """Messages in the order of time. `pending` counts all of the topic; `next` is there when there is more."""

    scheduled: list[ScheduledMessage]
    pending: int
    next: str | None = None
