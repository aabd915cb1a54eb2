"""What openapi.yaml says of recurring schedules."""

from acklog.wire.problems import ProblemCode
from app.http.description.operation import FROM_COORDINATION, WITH_BODY, WITH_TOKEN, Operation, json_of
from app.http.parsing.topics import LISTING_QUERY

_P = ProblemCode

_TOPIC = (*WITH_TOKEN, _P.UNAVAILABLE, _P.TIMED_OUT, _P.INVALID_NAME, _P.TOPIC_NOT_FOUND)
_CHANGE = (*_TOPIC, *FROM_COORDINATION, _P.STORAGE_FULL)
_BODY = (*WITH_BODY, _P.INVALID_CRON, _P.MESSAGE_TOO_LARGE)

RECURRING_OPERATIONS: dict[str, Operation] = {
    "listSchedules": Operation(
        "Recurring schedules of a topic by name, without their messages",
        {200: ("A page of them", json_of("RecurringListing"))},
        _TOPIC,
        query=LISTING_QUERY,
    ),
    "putSchedule": Operation(
        "Make a schedule that sends a message again and again",
        {
            200: ("It is there already, with these settings", json_of("RecurringView")),
            201: ("It is made", json_of("RecurringView")),
        },
        (
            *_CHANGE,
            *_BODY,
            _P.SCHEDULE_EXISTS,
            _P.TOO_MANY_SCHEDULES,
            _P.NAMESPACE_FULL,
            _P.NODES_TOO_OLD,
            _P.QUOTA_EXCEEDED,
        ),
        body=json_of("RecurringFields"),
    ),
    "updateSchedule": Operation(
        "Change a recurring schedule, pause it, or let it go on",
        {200: ("The schedule as it is now", json_of("RecurringView"))},
        (*_CHANGE, *_BODY, _P.SCHEDULE_NOT_FOUND, _P.QUOTA_EXCEEDED),
        body=json_of("RecurringFields"),
    ),
    "describeSchedule": Operation(
        "A recurring schedule: what it sends, and when next",
        {200: ("The schedule", json_of("RecurringView"))},
        (*_TOPIC, _P.SCHEDULE_NOT_FOUND),
    ),
    "deleteSchedule": Operation(
        "Remove a recurring schedule, if it is there: nothing is sent any more",
        {204: ("It is removed", {})},
        _CHANGE,
    ),
}
