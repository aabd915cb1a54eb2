"""What openapi.yaml says of sending dead letters back."""

from acklog.wire.problems import ProblemCode
from app.http.description.operation import (
    FROM_COORDINATION,
    FROM_NODES,
    OF_GROUP,
    WITH_BODY,
    WITH_TOKEN,
    Operation,
    json_of,
)

_P = ProblemCode

_OF_GROUP = (*WITH_TOKEN, *FROM_COORDINATION, _P.INVALID_NAME, *OF_GROUP)
_OF_JOB = (*_OF_GROUP, _P.REDRIVE_NOT_FOUND)

REDRIVE_OPERATIONS: dict[str, Operation] = {
    "startRedrive": Operation(
        "Send dead letters back, each once: a job that goes on by itself until it is done or cancelled",
        {201: ("The job", json_of("RedriveView"))},
        (
            *_OF_GROUP,
            *WITH_BODY,
            *FROM_NODES,
            _P.TOPIC_NOT_FOUND,
            _P.MESSAGE_NOT_FOUND,
            _P.INVALID_MESSAGE_ID,
            _P.INVALID_FILTER,
            _P.REDRIVE_UNDER_WAY,
            _P.TOO_MANY_REDRIVES,
            _P.NODES_TOO_OLD,
        ),
        body=json_of("RedriveFields"),
        is_body_required=False,
    ),
    "listRedrives": Operation(
        "Jobs that send dead letters back, the newest first",
        {200: ("Those of the group", json_of("RedriveListing"))},
        _OF_GROUP,
    ),
    "lookAtRedrive": Operation(
        "How far such a job is",
        {200: ("The job, with its partitions", json_of("RedriveView"))},
        _OF_JOB,
    ),
    "cancelRedrive": Operation(
        "Have such a job begin nothing more",
        {200: ("The job; what was being sent is finished", json_of("RedriveView"))},
        _OF_JOB,
    ),
}
