"""The calls about messages that are sent again and again."""

from typing import Any

from acklog.client.call import JSON, Bodies, Call, Request, encode_document, read_as, read_nothing, segment, target
from acklog.client.delivery_time import DeliverAt, wire_time
from acklog.client.wire_message import wire_message
from acklog.messages import OutgoingMessage
from acklog.recurring import RecurringMessage, RecurringPage

_read_page = read_as(RecurringPage)
_read_one = read_as(RecurringMessage)


def settings_of(
    message: OutgoingMessage | None,
    *,
    cron: str | None,
    time_zone: str | None,
    every_seconds: float | None,
    missed: str | None,
    grace_seconds: float | None,
    is_paused: bool | None,
    start_at: DeliverAt | None,
    end_at: DeliverAt | None,
) -> dict[str, Any]:
    """As the API takes them; None is not named. Raises InvalidArgument."""
    named = {
        "message": None if message is None else wire_message(message),
        "cron": cron,
        "timeZone": time_zone,
        "everySeconds": every_seconds,
        "missed": missed,
        "graceSeconds": grace_seconds,
        "paused": is_paused,
        "startAt": wire_time(start_at),
        "endAt": wire_time(end_at),
    }
    return {name: value for name, value in named.items() if value is not None}


def put_recurring(topic: str, name: str, settings: dict[str, Any]) -> Call[RecurringMessage]:
    return Call(Request("PUT", _path(topic, name), encode_document(settings), JSON), _read_one, bodies=_bodies)


def update_recurring(topic: str, name: str, settings: dict[str, Any]) -> Call[RecurringMessage]:
    return Call(Request("PATCH", _path(topic, name), encode_document(settings), JSON), _read_one, bodies=_bodies)


def get_recurring(topic: str, name: str) -> Call[RecurringMessage]:
    return Call(Request("GET", _path(topic, name)), _read_one, bodies=_bodies)


def list_recurring(topic: str, *, limit: int, after: str | None) -> Call[RecurringPage]:
    return Call(Request("GET", target(_path(topic), [("limit", limit), ("after", after)])), _read_page)


def delete_recurring(topic: str, name: str) -> Call[None]:
    return Call(Request("DELETE", _path(topic, name)), read_nothing)


def _bodies(recurring: RecurringMessage) -> Bodies:
    return [] if recurring.message is None else [(recurring.topic, recurring.message)]


def _path(topic: str, name: str | None = None) -> str:
    path = f"/topics/{segment(topic)}/schedules"
    return path if name is None else f"{path}/{segment(name)}"
