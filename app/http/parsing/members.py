"""What `/groups/{group}/members` takes."""

import msgspec

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.calls.members import HeartbeatFields, JoinFields, LeaveCommand
from app.http.parsing import query
from app.http.parsing.json_text import check_utf8, decode
from cluster.errors import ServerError

LEAVE_QUERY = query.QueryTable(
    (
        query.text("instanceId", limits.CONSUMER_NAME_LENGTH_MAX, "the process that leaves", length_min=0),
        query.switch("comesBack", "a static member's next process has its partitions, within the session timeout"),
    )
)

_join_decoder = msgspec.json.Decoder(JoinFields)
_heartbeat_decoder = msgspec.json.Decoder(HeartbeatFields)


def parse_join(body: bytes) -> JoinFields:
    """Raises ServerError."""
    check_utf8(body)
    fields = decode(_join_decoder, body)
    if not fields.topics and not fields.patterns:
        raise ServerError(ProblemCode.MISSING_FIELD, "name topics, or patterns of their names", field="topics")
    return fields


def parse_heartbeat(body: bytes) -> HeartbeatFields:
    """Raises ServerError."""
    check_utf8(body)
    return decode(_heartbeat_decoder, body)


def parse_leave(query_string: bytes) -> LeaveCommand:
    """Raises ServerError."""
    arguments = LEAVE_QUERY.parse(query_string)
    return LeaveCommand(arguments.text("instanceId") or "", arguments.switch("comesBack"))
