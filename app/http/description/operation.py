"""What openapi.yaml says of one call, and the problems that many calls share."""

from dataclasses import dataclass, field

from acklog.wire.problems import ProblemCode
from app.http.description.media_types import JSON
from app.http.parsing.json_schema import Schema, reference
from app.http.parsing.query import NO_PARAMETERS, QueryTable

_P = ProblemCode

# Every request may meet these.
COMMON = (_P.INVALID_FIELD, _P.UNKNOWN_FIELD, _P.INTERNAL, _P.METHOD_NOT_ALLOWED)
OF_ANY_TOKEN = (_P.UNAUTHENTICATED, _P.TOKEN_EXPIRED, _P.KEYS_UNAVAILABLE)
WITH_TOKEN = (*OF_ANY_TOKEN, _P.FORBIDDEN)
WITH_BODY = (
    _P.INVALID_JSON,
    _P.MISSING_FIELD,
    _P.UNSUPPORTED,
    _P.BODY_INCOMPLETE,
    _P.REQUEST_TIMEOUT,
    _P.REQUEST_TOO_LARGE,
    _P.UNSUPPORTED_MEDIA_TYPE,
    _P.OVERLOADED,
)
FROM_NODES = (
    _P.UNAVAILABLE,
    _P.TIMED_OUT,
    _P.OVERLOADED,
    _P.STORAGE_FULL,
    _P.STORAGE_FAILED,
    _P.RECORDS_CORRUPT,
    _P.SHUTTING_DOWN,
)
FROM_COORDINATION = (_P.UNAVAILABLE, _P.OUTCOME_UNKNOWN, _P.CONFLICT, _P.TIMED_OUT)
OF_GROUP = (_P.GROUP_NOT_FOUND, _P.NAMESPACE_MISMATCH)
"""Of what is about a group and topics."""
OF_MAKING = (_P.NAMESPACE_NOT_FOUND, _P.NAMESPACE_FULL)
"""Of what makes a topic or a group, in a namespace."""
OF_UNCLEAN_ELECTION = (
    *FROM_COORDINATION,
    _P.INVALID_NAME,
    _P.TOPIC_NOT_FOUND,
    _P.PARTITION_NOT_FOUND,
    _P.CLEAN_ELECTION_POSSIBLE,
    _P.REPLICA_NOT_ELECTABLE,
)


@dataclass(frozen=True, slots=True)
class Operation:
    """`answers` maps a status to (description, schemas by content type); `problems` are what else may come back."""

    summary: str
    answers: dict[int, tuple[str, dict[str, Schema]]]
    problems: tuple[ProblemCode, ...]
    query: QueryTable = NO_PARAMETERS
    body: dict[str, Schema] = field(default_factory=dict)
    is_body_required: bool = True
    headers: tuple[str, ...] = ()
    is_open: bool = False
    """No token is needed."""


def json_of(name: str) -> dict[str, Schema]:
    return {JSON: reference(name)}
