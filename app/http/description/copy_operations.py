"""What openapi.yaml says of backups and restores, and its examples."""

from typing import Any

from acklog.wire.problems import ProblemCode
from app.http.description.example_answers import TIME_MS
from app.http.description.example_forms import Examples, in_json
from app.http.description.media_types import OCTETS
from app.http.description.operation import (
    FROM_COORDINATION,
    FROM_NODES,
    OF_MAKING,
    WITH_BODY,
    WITH_TOKEN,
    Operation,
    json_of,
)
from app.http.parsing.copies import RESTORE_QUERY
from app.http.parsing.json_schema import Schema

_P = ProblemCode
_BATCHES: dict[str, Schema] = {OCTETS: {"type": "string", "format": "binary"}}
_OF_TOPIC = (*WITH_TOKEN, *FROM_NODES, _P.INVALID_NAME, _P.TOPIC_NOT_FOUND)
_FILLING = (
    *_OF_TOPIC,
    *WITH_BODY,
    _P.OUTCOME_UNKNOWN,
    _P.NOT_ENOUGH_REPLICAS,
    _P.PARTITION_NOT_FOUND,
    _P.TOPIC_NOT_RESTORING,
    _P.RESTORE_CONFLICT,
)

COPY_OPERATIONS: dict[str, Operation] = {
    "partitionState": Operation(
        "How far a partition and its groups are, all of one moment: where a backup cuts it",
        {200: ("The cut", json_of("PartitionStateView"))},
        (*_OF_TOPIC, _P.PARTITION_NOT_FOUND, _P.TOPIC_RESTORING, _P.NODES_TOO_OLD),
    ),
    "beginRestore": Operation(
        "Make a topic that a restore fills; nothing is sent to it or read from it before that is finished",
        {
            201: ("It was made", json_of("RestoreView")),
            200: ("It is there, and this restore goes on where it was", json_of("RestoreView")),
        },
        (
            *_OF_TOPIC,
            *WITH_BODY,
            *FROM_COORDINATION,
            *OF_MAKING,
            _P.TOPIC_EXISTS,
            _P.TOO_MANY_TOPICS,
            _P.NODES_TOO_OLD,
            _P.NO_MASTER_KEY,
        ),
        body=json_of("RestoreFields"),
    ),
    "lookAtRestore": Operation(
        "How far a topic is restored",
        {200: ("How far each partition is", json_of("RestoreView"))},
        _OF_TOPIC,
    ),
    "restoreBatches": Operation(
        "Append batches of a backup at the offsets that they had; what is there already is left out",
        {200: ("How far the partition is then", json_of("RestoreProgress"))},
        _FILLING,
        query=RESTORE_QUERY,
        body=_BATCHES,
        is_body_required=False,
    ),
    "restoreGroups": Operation(
        "Set what groups have done in a partition that is being restored",
        {200: ("How far the partition is", json_of("RestoreProgress"))},
        (*_FILLING, _P.GROUP_NOT_FOUND),
        body=json_of("RestoreGroupsFields"),
    ),
    "finishRestore": Operation(
        "Serve the topic that was restored, if each partition ends where it should",
        {200: ("It is served", json_of("TopicView"))},
        (*_FILLING, *FROM_COORDINATION),
        body=json_of("FinishFields"),
    ),
}

RESTORED = "orders-as-of-friday"
_RESTORE_ID = "20261127T000000Z-orders"
_TOPIC = {"topic": RESTORED}
_PARTITION = {**_TOPIC, "partition": 0}
_VIEW: dict[str, Any] = {
    "topic": RESTORED,
    "topicId": "3v8k2mq5rw1zt",
    "restoreId": _RESTORE_ID,
    "restoring": True,
    "partitions": [{"partition": 0, "end": 0, "scheduledEnd": 0}],
}
_PROGRESS = {"partition": 0, "end": 0, "scheduledEnd": 0}
_WHOLE: dict[str, Any] = {
    "name": RESTORED,
    "id": "3v8k2mq5rw1zt",
    "partitions": 1,
    "replicationFactor": 1,
    "createdAt": TIME_MS,
    "config": {"retention": "time", "retentionMs": 604_800_000},
    "decommissioned": [],
}
_STATE: dict[str, Any] = {
    "topic": "orders",
    "topicId": "3v8k2mq5rw1zs",
    "partition": 0,
    "logStart": 0,
    "highWatermark": 2,
    "epoch": 3,
    "groups": {},
    "state": "kwGQoA==",
}
COPY_EXAMPLES = {
    "partitionState": Examples({"topic": "orders", "partition": 0}, {}, {200: in_json(two_messages=_STATE)}),
    "beginRestore": Examples(
        _TOPIC,
        in_json(one_partition={"restoreId": _RESTORE_ID, "partitions": 1}),
        {201: in_json(it_was_made=_VIEW), 200: in_json(it_is_there=_VIEW)},
    ),
    "lookAtRestore": Examples(_TOPIC, {}, {200: in_json(nothing_yet=_VIEW)}),
    "restoreBatches": Examples(
        {**_PARTITION, "restoreId": _RESTORE_ID},
        {OCTETS: {"nothing more": ""}},
        {200: in_json(nothing_was_sent=_PROGRESS)},
    ),
    "restoreGroups": Examples(
        _PARTITION,
        in_json(no_groups={"restoreId": _RESTORE_ID, "groups": {}, "state": "kwGQoA=="}),
        {200: in_json(how_far_it_is=_PROGRESS)},
    ),
    "finishRestore": Examples(
        _TOPIC,
        in_json(one_partition={"restoreId": _RESTORE_ID, "partitions": [{"partition": 0, "logStart": 0, "end": 0}]}),
        {200: in_json(it_is_served=_WHOLE)},
    ),
}
