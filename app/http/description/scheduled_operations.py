"""What openapi.yaml says of messages that are to be seen later."""

from acklog.wire.problems import ProblemCode
from app.http.description.operation import FROM_NODES, WITH_BODY, WITH_TOKEN, Operation, json_of
from app.http.parsing.scheduled import SCHEDULED_QUERY

_P = ProblemCode

_TOPIC = (*WITH_TOKEN, *FROM_NODES, _P.INVALID_NAME, _P.TOPIC_NOT_FOUND, _P.NODES_TOO_OLD)
_ONE = (*_TOPIC, _P.INVALID_MESSAGE_ID, _P.MESSAGE_NOT_FOUND)
_CHANGE = (*_ONE, _P.SCHEDULE_OVER, _P.OUTCOME_UNKNOWN)

SCHEDULED_OPERATIONS: dict[str, Operation] = {
    "listScheduled": Operation(
        "Messages of a topic that are to be seen later, in the order of time",
        {200: ("A page of them", json_of("ScheduledListing"))},
        _TOPIC,
        query=SCHEDULED_QUERY,
    ),
    "lookAtScheduled": Operation(
        "A scheduled message, or what became of it",
        {200: ("The message", json_of("ScheduledMessage"))},
        _ONE,
    ),
    "cancelScheduled": Operation(
        "Have a scheduled message not delivered",
        {200: ("It is cancelled", json_of("ScheduledMessage"))},
        _CHANGE,
    ),
    "moveScheduled": Operation(
        "Have a scheduled message seen at another time",
        {200: ("It is scheduled anew", json_of("ScheduledMessage"))},
        (*_CHANGE, *WITH_BODY),
        body=json_of("ScheduleFields"),
    ),
}
