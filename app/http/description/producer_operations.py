"""What openapi.yaml says of named producers."""

from acklog.wire.problems import ProblemCode
from app.http.description.operation import (
    FROM_COORDINATION,
    FROM_NODES,
    WITH_BODY,
    WITH_TOKEN,
    Operation,
    json_of,
)

_P = ProblemCode

PRODUCER_OPERATIONS: dict[str, Operation] = {
    "openProducer": Operation(
        "Open a name to send to the topic under; whoever had it until now sends nothing under it any more",
        {200: ("What sends carry in Producer-Id and Producer-Epoch", json_of("ProducerView"))},
        (
            *WITH_TOKEN,
            *WITH_BODY,
            *FROM_NODES,
            *FROM_COORDINATION,
            _P.INVALID_NAME,
            _P.TOPIC_NOT_FOUND,
            _P.TOO_MANY_TOPICS,
            _P.TOO_MANY_PRODUCERS,
            _P.NAMESPACE_FULL,
            _P.NODES_TOO_OLD,
        ),
        body=json_of("OpenFields"),
        is_body_required=False,
    ),
}
