"""The calls about messages that are to be seen later."""

from acklog.client.call import JSON, Bodies, Call, Request, encode_document, read_as, segment, target
from acklog.client.delivery_time import DeliverAt, wire_time
from acklog.scheduled import ScheduledMessage, ScheduledPage

_read_page = read_as(ScheduledPage)
_read_message = read_as(ScheduledMessage)


def list_scheduled(
    topic: str, *, since: DeliverAt | None, before: DeliverAt | None, limit: int, cursor: str | None
) -> Call[ScheduledPage]:
    pairs = [("limit", limit), ("from", wire_time(since)), ("to", wire_time(before)), ("cursor", cursor)]
    return Call(Request("GET", target(_path(topic), pairs)), _read_page)


def get_scheduled(topic: str, schedule_id: str) -> Call[ScheduledMessage]:
    return Call(Request("GET", _path(topic, schedule_id)), _read_message, bodies=_bodies)


def cancel_scheduled(topic: str, schedule_id: str) -> Call[ScheduledMessage]:
    return Call(Request("DELETE", _path(topic, schedule_id)), _read_message, bodies=_bodies)


def move_scheduled(
    topic: str, schedule_id: str, *, delay_seconds: float | None, deliver_at: DeliverAt | None
) -> Call[ScheduledMessage]:
    when = {"delaySeconds": delay_seconds, "deliverAt": wire_time(deliver_at)}
    body = encode_document({name: value for name, value in when.items() if value is not None})
    return Call(Request("PATCH", _path(topic, schedule_id), body, JSON), _read_message, bodies=_bodies)


def _bodies(message: ScheduledMessage) -> Bodies:
    return [(message.topic, message)]


def _path(topic: str, schedule_id: str | None = None) -> str:
    path = f"/topics/{segment(topic)}/scheduled"
    return path if schedule_id is None else f"{path}/{segment(schedule_id)}"
