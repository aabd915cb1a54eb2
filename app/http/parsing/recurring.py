"""What `/topics/{topic}/schedules` takes."""

import math

import msgspec
from msgspec import UNSET, UnsetType

from acklog.wire.limits import RECURRING_BODY_BYTES_MAX
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.calls.recurring import RecurringFields, RecurringWish
from app.calls.send import dedup_id_of, record_of
from app.http.parsing.delivery_time import WRONG_TIME, time_ms_of
from app.http.parsing.json_text import check_utf8, decode
from app.http.parsing.message import message_of
from app.http.parsing.message_properties import MessageFields
from cluster.errors import ServerError

_decoder = msgspec.json.Decoder(RecurringFields)
_message_decoder = msgspec.json.Decoder(MessageFields)
_NOT_IN_A_TEMPLATE = {
    "partition": "is not for schedules: the key says where the messages go, or the schedule's name",
    "dedup_id": "is not for schedules: each time is sent once as it is",
    "timestamp": "is not for schedules: each message has its own",
    "delay_seconds": "is not for schedules",
    "deliver_at": "is not for schedules",
}


def parse_recurring(body: bytes) -> RecurringWish:
    """Raises ServerError."""
    check_utf8(body)
    fields = decode(_decoder, body)
    if _is_named(fields.cron) and _is_named(fields.every_seconds):
        raise ServerError(ProblemCode.INVALID_FIELD, "give either cron or everySeconds", field="everySeconds")
    return RecurringWish(
        cron=fields.cron,
        time_zone=fields.time_zone,
        every_ms=_milliseconds(fields.every_seconds),
        record=UNSET if isinstance(fields.message, UnsetType) else _record_of(fields.message),
        missed=fields.missed,
        grace_ms=_milliseconds(fields.grace_seconds),
        is_paused=fields.paused,
        start_ms=_time(fields.start_at, "startAt"),
        end_ms=_time(fields.end_at, "endAt"),
    )


def _is_named(value: object) -> bool:
    return value is not UNSET and value is not None


def _milliseconds(seconds: float | UnsetType | None) -> int | UnsetType | None:
    return math.ceil(seconds * 1000) if isinstance(seconds, int | float) else seconds


def _time(value: int | str | UnsetType | None, field: str) -> int | UnsetType | None:
    if isinstance(value, UnsetType) or value is None:
        return value
    time_ms = time_ms_of(value)
    if time_ms is None:
        raise ServerError(ProblemCode.INVALID_FIELD, WRONG_TIME, field=field)
    return time_ms


def _record_of(text: msgspec.Raw) -> Record:
    fields = decode(_message_decoder, text, prefix="message")
    for attribute, detail in _NOT_IN_A_TEMPLATE.items():
        if getattr(fields, attribute) is not None:
            name = {each.name: each.encode_name for each in msgspec.structs.fields(MessageFields)}[attribute]
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field=f"message.{name}")
    message = message_of(fields, "message.")
    assert dedup_id_of(message) is None
    record = record_of(message)
    if len(record.body) > RECURRING_BODY_BYTES_MAX:
        detail = f"a schedule's message has at most {RECURRING_BODY_BYTES_MAX} bytes"
        raise ServerError(ProblemCode.MESSAGE_TOO_LARGE, detail, field="message.body")
    return record
