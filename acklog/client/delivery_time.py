"""When a message is to be seen, as the API takes it."""

from datetime import datetime

from acklog.errors import InvalidArgument

DeliverAt = datetime | int | str
"""A time that knows its zone, milliseconds since 1970, or RFC 3339 with an offset."""


def wire_time(deliver_at: DeliverAt | None) -> int | str | None:
    """Raises InvalidArgument for a time without a zone: nobody could say which one is meant."""
    if not isinstance(deliver_at, datetime):
        return deliver_at
    if deliver_at.tzinfo is None:
        raise InvalidArgument("the time has no zone: datetime(..., tzinfo=...)", field="deliver_at")
    return deliver_at.isoformat()
