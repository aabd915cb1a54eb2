"""What openapi.yaml says of groups and their progress."""

from acklog.wire.problems import ProblemCode
from app.http.description.operation import (
    FROM_COORDINATION,
    FROM_NODES,
    OF_GROUP,
    OF_MAKING,
    WITH_BODY,
    WITH_TOKEN,
    Operation,
    json_of,
)
from app.http.parsing.groups import DEMAND_QUERY, OFFSETS_QUERY
from app.http.parsing.topics import LISTING_QUERY

_P = ProblemCode

_PAUSE = (
    *WITH_TOKEN,
    *WITH_BODY,
    *FROM_COORDINATION,
    _P.INVALID_NAME,
    *OF_GROUP,
    _P.TOPIC_NOT_FOUND,
    _P.PARTITION_NOT_FOUND,
)
_SEEK = Operation(
    "Set a group's progress in a topic, or (dryRun) say where it would be; or commit a reader's own positions",
    {
        200: ("The new and the previous progress", json_of("OffsetsChanged")),
        207: ("Some failed", json_of("OffsetsChanged")),
    },
    (
        *WITH_TOKEN,
        *WITH_BODY,
        *FROM_NODES,
        _P.INVALID_NAME,
        _P.TOPIC_NOT_FOUND,
        _P.PARTITION_NOT_FOUND,
        *OF_GROUP,
        _P.INVALID_MESSAGE_ID,
        _P.MESSAGE_NOT_FOUND,
        _P.MESSAGE_EXPIRED,
        _P.OFFSET_OUT_OF_RANGE,
        _P.LOG_DIVERGED,
        _P.COMMIT_CONFLICT,
        _P.CONFLICT,
        _P.MEMBER_UNKNOWN,
        _P.MEMBER_FENCED,
        _P.NODES_TOO_OLD,
        _P.WRONG_GROUP_MODE,
    ),
    body=json_of("OffsetsChange"),
)

SEEK_OPERATIONS: dict[str, Operation] = {"seekGroup": _SEEK, "seekGroupByPost": _SEEK}

GROUP_OPERATIONS: dict[str, Operation] = {
    "listGroups": Operation(
        "Groups by name", {200: ("A page of groups", json_of("GroupListing"))}, WITH_TOKEN, query=LISTING_QUERY
    ),
    "putGroup": Operation(
        "Create a group; one that is there with these settings is fine, and is never changed",
        {200: ("It is there as asked", json_of("GroupView")), 201: ("It was created", json_of("GroupView"))},
        (
            *WITH_TOKEN,
            *WITH_BODY,
            *FROM_COORDINATION,
            *OF_MAKING,
            _P.NAMESPACE_MISMATCH,
            _P.INVALID_NAME,
            _P.GROUP_EXISTS,
            _P.WRONG_GROUP_MODE,
        ),
        body=json_of("GroupFields"),
        is_body_required=False,
    ),
    "updateGroup": Operation(
        "Change what is named of a group",
        {200: ("It is as asked", json_of("GroupView"))},
        (*WITH_TOKEN, *WITH_BODY, *FROM_COORDINATION, _P.INVALID_NAME, *OF_GROUP, _P.WRONG_GROUP_MODE),
        body=json_of("GroupFields"),
        is_body_required=False,
    ),
    "describeGroup": Operation(
        "A group",
        {200: ("The group", json_of("GroupView"))},
        (*WITH_TOKEN, _P.UNAVAILABLE, _P.INVALID_NAME, _P.GROUP_NOT_FOUND),
    ),
    "deleteGroup": Operation(
        "Delete a group and its progress",
        {204: ("It is gone", {})},
        (*WITH_TOKEN, *FROM_COORDINATION, _P.INVALID_NAME, _P.GROUP_NOT_FOUND),
    ),
    "pauseGroup": Operation(
        "Deliver nothing to a group, or nothing of a topic, or of some of its partitions, until it is resumed; what is "
        "leased may still be settled",
        {200: ("It is paused", json_of("GroupView"))},
        (*_PAUSE, _P.NODES_TOO_OLD),
        body=json_of("PauseFields"),
        is_body_required=False,
    ),
    "resumeGroup": Operation(
        "Let all that is paused within what is named go on",
        {200: ("It goes on", json_of("GroupView"))},
        _PAUSE,
        body=json_of("PauseFields"),
        is_body_required=False,
    ),
    "groupOffsets": Operation(
        "A group's progress and lag per partition",
        {200: ("The progress", json_of("OffsetsView"))},
        (*WITH_TOKEN, *FROM_NODES, _P.INVALID_NAME, *OF_GROUP, _P.TOPIC_NOT_FOUND),
        query=OFFSETS_QUERY,
    ),
    "groupDemand": Operation(
        "How much a group has to do, and how many consumers that takes: for autoscalers, which may ask again and again",
        {200: ("The figures, and the suggestion", json_of("DemandView"))},
        (*WITH_TOKEN, *FROM_NODES, _P.INVALID_NAME, *OF_GROUP, _P.TOPIC_NOT_FOUND),
        query=DEMAND_QUERY,
    ),
    "copyPosition": Operation(
        "Let a group go on where another one is, or (dryRun) say where that would be",
        {200: ("The new and the previous progress", json_of("CopyView")), 207: ("Some failed", json_of("CopyView"))},
        (*WITH_TOKEN, *WITH_BODY, *FROM_NODES, _P.INVALID_NAME, *OF_GROUP, _P.TOPIC_NOT_FOUND),
        body=json_of("CopyFields"),
    ),
}
