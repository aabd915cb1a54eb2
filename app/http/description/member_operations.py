"""What openapi.yaml says of members of exclusive groups."""

from acklog.wire.problems import ProblemCode
from app.http.description.operation import FROM_NODES, OF_GROUP, WITH_BODY, WITH_TOKEN, Operation, json_of
from app.http.parsing.members import LEAVE_QUERY

_P = ProblemCode

_OF_A_MEMBER = (
    *WITH_TOKEN,
    *FROM_NODES,
    _P.OUTCOME_UNKNOWN,
    _P.INVALID_NAME,
    *OF_GROUP,
    _P.WRONG_GROUP_MODE,
)

MEMBER_OPERATIONS: dict[str, Operation] = {
    "listMembers": Operation(
        "The members of an exclusive group, and what each owns",
        {200: ("The members", json_of("MembersView"))},
        (*WITH_TOKEN, *FROM_NODES, _P.INVALID_NAME, _P.GROUP_NOT_FOUND, _P.WRONG_GROUP_MODE),
    ),
    "joinGroup": Operation(
        "Become a member of an exclusive group, or subscribe to something else",
        {200: ("The assignment", json_of("MemberAssignment"))},
        (
            *_OF_A_MEMBER,
            *WITH_BODY,
            _P.TOPIC_NOT_FOUND,
            _P.MEMBER_EXISTS,
            _P.TOO_MANY_MEMBERS,
            _P.TOO_MANY_GROUPS,
        ),
        body=json_of("JoinFields"),
    ),
    "heartbeat": Operation(
        "Stay a member, and hear of another assignment",
        {200: ("The assignment", json_of("MemberAssignment"))},
        (*_OF_A_MEMBER, *WITH_BODY, _P.TOPIC_NOT_FOUND, _P.MEMBER_UNKNOWN, _P.MEMBER_FENCED, _P.TOO_MANY_WAITING),
        body=json_of("HeartbeatFields"),
    ),
    "leaveGroup": Operation(
        "Be a member no more: its partitions are others' at once",
        {204: ("It has left", {})},
        (*_OF_A_MEMBER, _P.MEMBER_UNKNOWN, _P.MEMBER_FENCED),
        query=LEAVE_QUERY,
    ),
}
