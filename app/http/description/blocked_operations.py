"""What openapi.yaml says of messages that wait for a person's decision."""

from acklog.wire.problems import ProblemCode
from app.http.description.operation import FROM_NODES, OF_GROUP, WITH_BODY, WITH_TOKEN, Operation, json_of
from app.http.parsing.blocked import BLOCKED_QUERY

_P = ProblemCode

_DECISION = (
    *WITH_TOKEN,
    *WITH_BODY,
    *FROM_NODES,
    _P.OUTCOME_UNKNOWN,
    _P.INVALID_NAME,
    _P.INVALID_MESSAGE_ID,
    *OF_GROUP,
    _P.TOPIC_NOT_FOUND,
    _P.PARTITION_NOT_FOUND,
    _P.MESSAGE_NOT_FOUND,
    _P.NOT_BLOCKED,
    _P.CONFLICT,
)

BLOCKED_OPERATIONS: dict[str, Operation] = {
    "listBlocked": Operation(
        "Messages whose attempts are used up and that wait for a decision, in a group with onExhausted: block",
        {200: ("The first of them", json_of("BlockedListing"))},
        (*WITH_TOKEN, *FROM_NODES, _P.INVALID_NAME, *OF_GROUP, _P.TOPIC_NOT_FOUND),
        query=BLOCKED_QUERY,
    ),
    "releaseBlocked": Operation(
        "Let a blocked message go out again at once; its attempts begin anew",
        {200: ("What goes on", json_of("BlockedDecided"))},
        _DECISION,
        body=json_of("BlockedFields"),
    ),
    "skipBlocked": Operation(
        "Let a blocked message be done, though nobody handled it; what is behind it goes on",
        {200: ("What is done", json_of("BlockedDecided"))},
        _DECISION,
        body=json_of("BlockedFields"),
    ),
}
