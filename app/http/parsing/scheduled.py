"""What `/topics/{topic}/scheduled` takes."""

import re

import msgspec

from acklog.wire.identifiers import ScheduleId, parse_schedule_id
from acklog.wire.problems import ProblemCode
from app.calls.scheduled import LISTED_DEFAULT, LISTED_MAX, MoveInTime, ScheduledCursor, ScheduledRange, ScheduleFields
from app.http.parsing import query
from app.http.parsing.delivery_time import WRONG_TIME, delay_fault, delivery_time_fault, schedule_of, time_ms_of
from app.http.parsing.json_text import check_utf8, decode
from app.http.parsing.query import Parameter
from cluster.errors import ServerError

_decoder = msgspec.json.Decoder(ScheduleFields)
_CURSOR = re.compile(r"([0-9]{1,15})\.([0-9]{1,4})\.([0-9]{1,18})")


def time_parameter(name: str, description: str) -> Parameter:
    """A time, as `deliverAt` has it."""

    def parse(text: str) -> int:
        time_ms = time_ms_of(text)
        if time_ms is None:
            raise ValueError(WRONG_TIME)
        return time_ms

    return Parameter(name, parse, {"type": "string"}, description, example="2027-03-01T08:30:00+01:00")


def _parse_cursor(text: str) -> ScheduledCursor:
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise ValueError("must be `next` of the page before")
    return ScheduledCursor(*map(int, found.groups()))


SCHEDULED_QUERY = query.QueryTable(
    (
        query.integer("limit", 1, LISTED_MAX, "messages at most", default=LISTED_DEFAULT),
        time_parameter("from", "only what is due then or later"),
        time_parameter("to", "only what is due before"),
        Parameter("cursor", _parse_cursor, {"type": "string"}, "only what is behind: `next` of the page before"),
    )
)


def cursor_text(cursor: ScheduledCursor) -> str:
    """As the next page is asked for."""
    return f"{cursor.due_ms}.{cursor.partition}.{cursor.order}"


def parse_scheduled_page(query_string: bytes) -> ScheduledRange:
    """Raises ServerError."""
    arguments = SCHEDULED_QUERY.parse(query_string)
    page = ScheduledRange()
    cursor = arguments.value("cursor")
    from_ms, to_ms = arguments.integer("from"), arguments.integer("to")
    return ScheduledRange(
        arguments.integer("limit") or page.limit,
        page.from_ms if from_ms is None else from_ms,
        page.to_ms if to_ms is None else to_ms,
        cursor if isinstance(cursor, ScheduledCursor) else None,
    )


def schedule_id_of(text: str) -> ScheduleId:
    """Raises ServerError INVALID_MESSAGE_ID."""
    found = parse_schedule_id(text)
    if found is None:
        raise ServerError(ProblemCode.INVALID_MESSAGE_ID, "is not a scheduleId from Acklog", field="scheduleId")
    return found


def parse_move_in_time(body: bytes) -> MoveInTime:
    """Raises ServerError."""
    check_utf8(body)
    fields = decode(_decoder, body)
    if fields.delay_seconds is None and fields.deliver_at is None:
        raise ServerError(ProblemCode.MISSING_FIELD, "give deliverAt or delaySeconds", field="deliverAt")
    fault = None if fields.delay_seconds is None else delay_fault(fields.delay_seconds)
    if fault is not None:
        raise ServerError(ProblemCode.INVALID_FIELD, fault, field="delaySeconds")
    fault = None if fields.deliver_at is None else delivery_time_fault(fields.deliver_at)
    if fault is not None:
        raise ServerError(ProblemCode.INVALID_FIELD, fault, field="deliverAt")
    return MoveInTime(schedule_of(fields.delay_seconds, fields.deliver_at))
