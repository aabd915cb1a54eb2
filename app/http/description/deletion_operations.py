"""What openapi.yaml says of deleting messages."""

from acklog.wire.problems import ProblemCode
from app.http.description.operation import FROM_NODES, WITH_BODY, WITH_TOKEN, Operation, json_of
from app.http.parsing.json_schema import Schema

_P = ProblemCode

_DELETED: dict[int, tuple[str, dict[str, Schema]]] = {
    200: ("Where the partitions begin now, and what groups lost by it", json_of("DeletionView")),
    207: ("Some failed", json_of("DeletionView")),
}
_PROBLEMS = (
    *WITH_TOKEN,
    *WITH_BODY,
    *FROM_NODES,
    _P.INVALID_NAME,
    _P.TOPIC_NOT_FOUND,
    _P.PARTITION_NOT_FOUND,
    _P.NODES_TOO_OLD,
)

DELETION_OPERATIONS: dict[str, Operation] = {
    "purgeTopic": Operation(
        "Delete all messages that a topic holds now, for all groups, or (dryRun) say what that would come to",
        _DELETED,
        _PROBLEMS,
        body=json_of("PurgeFields"),
        is_body_required=False,
    ),
    "deleteBefore": Operation(
        "Delete a topic's messages before offsets or a time, for all groups, or (dryRun) say what that would come to",
        _DELETED,
        (*_PROBLEMS, _P.OFFSET_OUT_OF_RANGE),
        body=json_of("DeleteBeforeFields"),
    ),
}
