"""What openapi.yaml says of streams."""

from acklog.wire.problems import ProblemCode
from app.http.description.example_forms import Examples
from app.http.description.operation import FROM_NODES, WITH_TOKEN, Operation
from app.http.exchange.event_stream import EVENT_STREAM
from app.http.parsing.events import EVENTS_QUERY
from app.http.parsing.json_schema import Schema
from app.http.parsing.tail import TAIL_QUERY

_P = ProblemCode
_EVENTS: dict[str, Schema] = {EVENT_STREAM: {"type": "string"}}
_OF_STREAMS = (*WITH_TOKEN, _P.NOT_ACCEPTABLE, _P.INVALID_NAME, _P.TOO_MANY_WATCHERS, _P.SHUTTING_DOWN)

STREAM_OPERATIONS: dict[str, Operation] = {
    "watchEvents": Operation(
        "Watch how the cluster is, and what changes",
        {200: ("Server-sent events until the client hangs up", _EVENTS)},
        _OF_STREAMS,
        query=EVENTS_QUERY,
        headers=("Last-Event-ID",),
    ),
    "tailTopic": Operation(
        "Messages of a topic as they come: no group, no lease",
        {200: ("Server-sent events until the client hangs up", _EVENTS)},
        (
            *_OF_STREAMS,
            *FROM_NODES,
            _P.TOPIC_NOT_FOUND,
            _P.PARTITION_NOT_FOUND,
            _P.MESSAGE_EXPIRED,
            _P.QUOTA_EXCEEDED,
            _P.INVALID_FILTER,
        ),
        query=TAIL_QUERY,
        headers=("Last-Event-ID",),
    ),
}

_SNAPSHOT = (
    "event: snapshot\nid: 8eeba7412f9c168c-4\n"
    'data: {"time":1767222000000,"first":true,"reason":"start","intervalMs":1000,"complete":true,"last":true,'
    '"nodes":[{"node":1,"address":"embedded","rack":"","live":true,"draining":false,"leaving":false,"replicas":8,'
    '"leaders":8}]}\n\n'
)
_MESSAGE = (
    "event: message\nid: kq1ianNtZ3FnbjBqZ3ZlkZMAAQE\n"
    'data: {"messageId":"m-2nehaadj6b1yg-0-1-0","queue":"orders","partition":0,"offset":0,"body":{"order":4711},'
    '"timestamp":1767222000000,"appendTime":1767222000000}\n\n'
)

STREAM_EXAMPLES: dict[str, Examples] = {
    "watchEvents": Examples({}, {}, {200: {EVENT_STREAM: {"all nodes": _SNAPSHOT}}}),
    "tailTopic": Examples({"topic": "orders"}, {}, {200: {EVENT_STREAM: {"a message": _MESSAGE}}}),
}
