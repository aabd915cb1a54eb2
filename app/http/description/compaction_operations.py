"""What openapi.yaml says of topics of which the last message of each key stays."""

from acklog.wire.problems import ProblemCode
from app.http.description.operation import FROM_NODES, WITH_BODY, WITH_TOKEN, Operation, json_of

_P = ProblemCode

_PROBLEMS = (*WITH_TOKEN, *FROM_NODES, _P.INVALID_NAME, _P.TOPIC_NOT_FOUND, _P.TOPIC_NOT_COMPACTED, _P.UNSUPPORTED)

COMPACTION_OPERATIONS: dict[str, Operation] = {
    "compactTopic": Operation(
        "Have a topic compacted soon, or some of its partitions, on all nodes, however little there is to be done",
        {
            202: ("It was asked for; how it goes then says describeCompaction", json_of("CompactionView")),
            207: ("Some replicas could not be asked", json_of("CompactionView")),
        },
        (*_PROBLEMS, *WITH_BODY, _P.PARTITION_NOT_FOUND),
        body=json_of("CompactFields"),
        is_body_required=False,
    ),
    "describeCompaction": Operation(
        "How the compaction of a topic goes, replica by replica",
        {
            200: ("What each replica is doing, and has yet to do", json_of("CompactionView")),
            207: ("Some replicas could not be asked", json_of("CompactionView")),
        },
        _PROBLEMS,
    ),
    "latestOfKey": Operation(
        "The last message of a key, from a topic that keeps it; the path's rest is the key, percent-encoded",
        {200: ("The message", json_of("StoredMessage"))},
        (*_PROBLEMS, _P.KEY_NOT_FOUND, _P.CONFLICT, _P.QUOTA_EXCEEDED),
    ),
}
