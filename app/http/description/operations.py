"""What openapi.yaml says of each call. Parameters come from the tables that the parser uses; a test demands that every
route is here, and nothing else."""

from acklog.wire.problems import ProblemCode
from app.http.description.audit_operations import AUDIT_OPERATIONS
from app.http.description.blocked_operations import BLOCKED_OPERATIONS
from app.http.description.compaction_operations import COMPACTION_OPERATIONS
from app.http.description.copy_operations import COPY_OPERATIONS
from app.http.description.deletion_operations import DELETION_OPERATIONS
from app.http.description.encryption_operations import ENCRYPTION_OPERATIONS
from app.http.description.group_operations import GROUP_OPERATIONS, SEEK_OPERATIONS
from app.http.description.media_types import JSON, NDJSON, OCTETS
from app.http.description.member_operations import MEMBER_OPERATIONS
from app.http.description.namespace_operations import NAMESPACE_OPERATIONS
from app.http.description.operation import (
    FROM_COORDINATION,
    FROM_NODES,
    OF_GROUP,
    OF_MAKING,
    OF_UNCLEAN_ELECTION,
    WITH_BODY,
    WITH_TOKEN,
    Operation,
    json_of,
)
from app.http.description.producer_operations import PRODUCER_OPERATIONS
from app.http.description.recurring_operations import RECURRING_OPERATIONS
from app.http.description.redrive_operations import REDRIVE_OPERATIONS
from app.http.description.scheduled_operations import SCHEDULED_OPERATIONS
from app.http.description.stream_operations import STREAM_OPERATIONS
from app.http.description.token_operations import TOKEN_OPERATIONS
from app.http.parsing.cluster import CLUSTER_QUERY
from app.http.parsing.json_schema import Schema, reference
from app.http.parsing.producers import PRODUCER_HEADERS
from app.http.parsing.receive import RECEIVE_QUERY
from app.http.parsing.records import RECORDS_QUERY
from app.http.parsing.send import SEND_QUERY
from app.http.parsing.topics import TOPICS_QUERY, UPDATE_QUERY

_P = ProblemCode

BINARY: Schema = {"type": "string", "format": "binary"}
_SETTLING = (
    *WITH_TOKEN,
    *WITH_BODY,
    *FROM_NODES,
    _P.OUTCOME_UNKNOWN,
    _P.TOO_MANY_MESSAGES,
    _P.TOPIC_NOT_FOUND,
    _P.PARTITION_NOT_FOUND,
    *OF_GROUP,
    _P.INVALID_RECEIPT,
    _P.RECEIPT_STALE,
    _P.NOT_DELIVERED,
    _P.MESSAGE_NOT_FOUND,
    _P.MESSAGE_EXPIRED,
    _P.WRONG_GROUP_MODE,
)

_ONE_OR_MANY: dict[str, Schema] = {JSON: {"anyOf": [reference("Stored"), reference("StoredBatch")]}}
_SETTLED: dict[int, tuple[str, dict[str, Schema]]] = {
    200: ("Done", {JSON: {"anyOf": [reference("Settled"), reference("SettledBatch")]}}),
    207: ("Some items failed", json_of("SettledBatch")),
}

OPERATIONS: dict[str, Operation] = {
    "sendMessages": Operation(
        "Send one message or a batch",
        {
            201: ("All are stored, durably as `acks` asks", _ONE_OR_MANY),
            202: ("Accepted (`acks` 0)", _ONE_OR_MANY),
            207: ("Some are stored; `results` says which", json_of("StoredBatch")),
        },
        (
            *WITH_TOKEN,
            *WITH_BODY,
            *FROM_NODES,
            *FROM_COORDINATION,
            *OF_MAKING,
            _P.INVALID_NAME,
            _P.TOPIC_NOT_FOUND,
            _P.PARTITION_NOT_FOUND,
            _P.PARTITION_DECOMMISSIONED,
            _P.MESSAGE_TOO_LARGE,
            _P.TOO_MANY_MESSAGES,
            _P.IDEMPOTENCY_KEY_REUSED,
            _P.PRODUCER_UNKNOWN,
            _P.PRODUCER_FENCED,
            _P.QUOTA_EXCEEDED,
            _P.DEDUP_WINDOW_FULL,
            _P.DEDUP_WINDOW_DAMAGED,
            _P.NOT_ENOUGH_REPLICAS,
        ),
        query=SEND_QUERY,
        body={JSON: reference("SendRequest"), NDJSON: BINARY, OCTETS: BINARY},
        headers=("Idempotency-Key", *PRODUCER_HEADERS),
    ),
    "receiveMessages": Operation(
        "Lease messages for a consumer, waiting for the first if asked to",
        {200: ("The messages, or why there are none", {**json_of("Deliveries"), NDJSON: BINARY})},
        (
            *WITH_TOKEN,
            *FROM_NODES,
            *FROM_COORDINATION,
            *OF_MAKING,
            _P.MISSING_FIELD,
            _P.UNSUPPORTED,
            _P.INVALID_NAME,
            _P.NOT_ACCEPTABLE,
            _P.TOPIC_NOT_FOUND,
            *OF_GROUP,
            _P.WRONG_GROUP_MODE,
            _P.POSITION_MISSING,
            _P.MEMBER_UNKNOWN,
            _P.MEMBER_FENCED,
            _P.MEMBER_EXISTS,
            _P.QUOTA_EXCEEDED,
            _P.TOO_MANY_WAITING,
            _P.INVALID_FILTER,
            _P.URI_TOO_LONG,
        ),
        query=RECEIVE_QUERY,
    ),
    "lookAtMessage": Operation(
        "One message and its state per group; nothing is leased",
        {200: ("The message", json_of("InspectedMessage"))},
        (
            *WITH_TOKEN,
            *FROM_NODES,
            _P.INVALID_MESSAGE_ID,
            _P.TOPIC_NOT_FOUND,
            _P.PARTITION_NOT_FOUND,
            _P.MESSAGE_NOT_FOUND,
            _P.QUOTA_EXCEEDED,
            _P.MESSAGE_EXPIRED,
        ),
    ),
    **SCHEDULED_OPERATIONS,
    "acknowledge": Operation(
        "The messages are done for the group",
        _SETTLED,
        (*_SETTLING, _P.INVALID_MESSAGE_ID, _P.INVALID_NAME),
        body=json_of("AckRequest"),
    ),
    "giveBack": Operation(
        "Give messages back, to be delivered again now or later", _SETTLED, _SETTLING, body=json_of("NackRequest")
    ),
    "extend": Operation("Keep leases for longer", _SETTLED, _SETTLING, body=json_of("ExtendRequest")),
    "readRecords": Operation(
        "The log as it is: no group, no lease",
        {
            200: (
                "The records. Answers other than JSON tell the offsets in X-Acklog-… headers",
                {
                    **json_of("Records"),
                    NDJSON: BINARY,
                    "application/vnd.apache.arrow.stream": BINARY,
                    "application/vnd.acklog.batches": BINARY,
                },
            )
        },
        (
            *WITH_TOKEN,
            *FROM_NODES,
            _P.INVALID_NAME,
            _P.NOT_ACCEPTABLE,
            _P.TOPIC_NOT_FOUND,
            _P.PARTITION_NOT_FOUND,
            _P.MESSAGE_EXPIRED,
            _P.OFFSET_OUT_OF_RANGE,
            _P.LOG_DIVERGED,
            _P.QUOTA_EXCEEDED,
            _P.TOO_MANY_WAITING,
            _P.INVALID_FILTER,
            _P.URI_TOO_LONG,
        ),
        query=RECORDS_QUERY,
    ),
    "listTopics": Operation(
        "Topics by name", {200: ("A page of topics", json_of("TopicListing"))}, WITH_TOKEN, query=TOPICS_QUERY
    ),
    "putTopic": Operation(
        "Create a topic; one that is there with these settings is fine, and is never changed",
        {200: ("It is there as asked", json_of("TopicView")), 201: ("It was created", json_of("TopicView"))},
        (*WITH_TOKEN, *WITH_BODY, *FROM_COORDINATION, *OF_MAKING, _P.INVALID_NAME, _P.TOPIC_EXISTS, _P.NO_MASTER_KEY),
        body=json_of("TopicFields"),
        is_body_required=False,
    ),
    "updateTopic": Operation(
        "Change what is named of a topic",
        {200: ("It is as asked", json_of("TopicView"))},
        (
            *WITH_TOKEN,
            *WITH_BODY,
            *FROM_COORDINATION,
            _P.INVALID_NAME,
            _P.TOPIC_NOT_FOUND,
            _P.NAMESPACE_FULL,
            _P.TOO_MANY_CHANGES,
            _P.WRONG_GROUP_MODE,
            _P.DATA_LOSS_NOT_ALLOWED,
            _P.NO_MASTER_KEY,
        ),
        query=UPDATE_QUERY,
        body=json_of("TopicFields"),
        is_body_required=False,
    ),
    "describeTopic": Operation(
        "A topic and its partitions",
        {200: ("The topic", json_of("TopicDescription"))},
        (*WITH_TOKEN, _P.UNAVAILABLE, _P.INVALID_NAME, _P.TOPIC_NOT_FOUND),
    ),
    "deleteTopic": Operation(
        "Delete a topic and its messages",
        {204: ("It is gone", {})},
        (*WITH_TOKEN, *FROM_COORDINATION, _P.INVALID_NAME, _P.TOPIC_NOT_FOUND),
    ),
    "describePartition": Operation(
        "A partition: who holds it, who leads it, and how far its groups are",
        {200: ("The partition", json_of("PartitionDescription"))},
        (*WITH_TOKEN, _P.UNAVAILABLE, _P.INVALID_NAME, _P.TOPIC_NOT_FOUND, _P.PARTITION_NOT_FOUND),
    ),
    "decommissionPartitions": Operation(
        "Let partitions take no new messages, for good: what they hold is read until retention frees it",
        {200: ("They are decommissioned", json_of("TopicView"))},
        (
            *WITH_TOKEN,
            *WITH_BODY,
            *FROM_COORDINATION,
            _P.INVALID_NAME,
            _P.TOPIC_NOT_FOUND,
            _P.TOO_MANY_CHANGES,
            _P.WRONG_GROUP_MODE,
        ),
        body=json_of("DecommissionFields"),
    ),
    **DELETION_OPERATIONS,
    **COMPACTION_OPERATIONS,
    **ENCRYPTION_OPERATIONS,
    **PRODUCER_OPERATIONS,
    **RECURRING_OPERATIONS,
    **GROUP_OPERATIONS,
    **REDRIVE_OPERATIONS,
    **BLOCKED_OPERATIONS,
    **SEEK_OPERATIONS,
    **MEMBER_OPERATIONS,
    "lookAtCluster": Operation(
        "The nodes, the controller, moves under way, partitions in trouble",
        {200: ("The cluster as the gateway knows it", json_of("ClusterView"))},
        WITH_TOKEN,
        query=CLUSTER_QUERY,
    ),
    "planMoves": Operation(
        "A dry run: which replicas would be moved, and why",
        {200: ("The moves; nothing was changed", json_of("PlanView"))},
        (*WITH_TOKEN, *WITH_BODY, _P.UNAVAILABLE, _P.INVALID_NAME, _P.TOPIC_NOT_FOUND),
        body=json_of("PlanFields"),
        is_body_required=False,
    ),
    "drainNode": Operation(
        "Move everything off a node, and nothing onto it",
        {202: ("It is asked for; the node as it is now", json_of("ClusterNodeView"))},
        (*WITH_TOKEN, _P.UNSUPPORTED, *FROM_COORDINATION),
    ),
    "stopDrainingNode": Operation(
        "The node may get replicas again", {204: ("It may", {})}, (*WITH_TOKEN, _P.UNSUPPORTED, *FROM_COORDINATION)
    ),
    "reassignPartition": Operation(
        "Move a partition's replicas to these nodes",
        {202: ("It is asked for; the controller carries it out", json_of("OrderView"))},
        (*WITH_TOKEN, *WITH_BODY, *FROM_COORDINATION, _P.INVALID_NAME, _P.TOPIC_NOT_FOUND),
        body=json_of("MoveFields"),
    ),
    "cancelMove": Operation(
        "Take back the move of a partition that is under way, or asked for",
        {204: ("It is asked for", {})},
        (*WITH_TOKEN, _P.UNSUPPORTED, *FROM_COORDINATION, _P.INVALID_NAME, _P.TOPIC_NOT_FOUND),
    ),
    "planUncleanElection": Operation(
        "What would be lost if a replica were elected that was not in sync; nothing is changed",
        {200: ("How far the replicas go, who would be elected, and what would be lost", json_of("UncleanPlanView"))},
        (*WITH_TOKEN, *WITH_BODY, *OF_UNCLEAN_ELECTION),
        body=json_of("UncleanPlanFields"),
    ),
    "electUnclean": Operation(
        "Elect a replica that was not in sync, and lose what it does not have",
        {200: ("It is elected; the mark of it stays in the partition", json_of("UncleanElectedView"))},
        (*WITH_TOKEN, *WITH_BODY, *OF_UNCLEAN_ELECTION),
        body=json_of("UncleanElectionFields"),
    ),
    "pauseMoves": Operation(
        "Let replicas and preferred leaders rest; elections, drains and orders go on",
        {204: ("They rest", {})},
        (*WITH_TOKEN, _P.UNSUPPORTED, *FROM_COORDINATION),
    ),
    "resumeMoves": Operation(
        "Let the controller move replicas by itself again",
        {204: ("It does", {})},
        (*WITH_TOKEN, _P.UNSUPPORTED, *FROM_COORDINATION),
    ),
    **AUDIT_OPERATIONS,
    **STREAM_OPERATIONS,
    **COPY_OPERATIONS,
    **TOKEN_OPERATIONS,
    **NAMESPACE_OPERATIONS,
    "isAlive": Operation("Is the process alive?", {200: ("It is", json_of("Status"))}, (), is_open=True),
    "isReady": Operation(
        "Can it serve?", {200: ("It can", json_of("Status"))}, (_P.SHUTTING_DOWN, _P.UNAVAILABLE), is_open=True
    ),
    "metrics": Operation(
        "Metrics for Prometheus", {200: ("The text format", {"text/plain": {"type": "string"}})}, WITH_TOKEN
    ),
}
