"""The schemas of openapi.yaml. Bodies and answers of administration come from the structs that are decoded and
encoded; messages, whose bodies are never decoded, are described by hand, with the same limits that the parser has."""

import msgspec

from acklog.wire import limits
from acklog.wire.identifiers import MESSAGE_ID_PATTERN, RECEIPT_PATTERN, SCHEDULE_ID_PATTERN
from acklog.wire.problems import ProblemCode
from app.calls.audit import AuditListing
from app.calls.blocked import BlockedDecided, BlockedFields, BlockedListing
from app.calls.cluster import (
    ClusterNodeView,
    ClusterView,
    DecommissionFields,
    MoveFields,
    OrderView,
    PlanFields,
    PlanView,
    UncleanElectionFields,
    UncleanPlanFields,
)
from app.calls.commits import CommitFields, CommitView
from app.calls.compactions import CompactFields, CompactionView
from app.calls.copies import (
    FinishFields,
    PartitionStateView,
    RestoreFields,
    RestoreGroupsFields,
    RestoreProgress,
    RestoreView,
)
from app.calls.deletions import DeleteBeforeFields, DeletionView, PurgeFields
from app.calls.demand import DemandView
from app.calls.encryption import EncryptionView
from app.calls.groups import GroupFields, GroupListing, GroupView, OffsetsView, SeekFields, SeekView
from app.calls.inspect import FailureReasonView, GroupState
from app.calls.members import HeartbeatFields, JoinFields, MemberAssignment, MembersView
from app.calls.namespaces import NamespaceFields, NamespaceListing, NamespaceView
from app.calls.pauses import PauseFields
from app.calls.position_copy import CopyFields, CopyView
from app.calls.problem_item import ProblemItem
from app.calls.producers import OpenFields, ProducerView
from app.calls.recurring import RecurringFields, RecurringListing, RecurringView
from app.calls.redrives import RedriveFields, RedriveListing, RedriveView
from app.calls.scheduled import ScheduleFields
from app.calls.tokens import DecisionView, OwnTokenView, RotateFields, TokenFields, TokenListing, TokenMade, TokenView
from app.calls.topics import PartitionDescription, TopicDescription, TopicFields, TopicListing, TopicView
from app.calls.unclean_election import UncleanElectedView, UncleanPlanView
from app.http.description.scheduled_schemas import SCHEDULED_SCHEMAS
from app.http.parsing.envelope import ENVELOPE_PROPERTIES
from app.http.parsing.json_schema import NAME, TIME, Schema, or_null, reference
from app.http.parsing.message_properties import HEADERS, PROPERTIES
from app.http.parsing.properties import schemas_of

REQUESTS = (
    TopicFields,
    GroupFields,
    PauseFields,
    SeekFields,
    RedriveFields,
    TokenFields,
    RotateFields,
    NamespaceFields,
    BlockedFields,
    ScheduleFields,
    CommitFields,
    CopyFields,
    RestoreFields,
    RestoreGroupsFields,
    FinishFields,
    PurgeFields,
    CompactFields,
    DeleteBeforeFields,
    OpenFields,
    RecurringFields,
    JoinFields,
    HeartbeatFields,
    DecommissionFields,
    MoveFields,
    PlanFields,
    UncleanPlanFields,
    UncleanElectionFields,
)
ANSWERS = (
    TopicView,
    TopicListing,
    TopicDescription,
    PartitionDescription,
    GroupView,
    GroupListing,
    OffsetsView,
    DemandView,
    SeekView,
    RedriveView,
    RedriveListing,
    TokenView,
    TokenMade,
    AuditListing,
    TokenListing,
    OwnTokenView,
    DecisionView,
    NamespaceView,
    NamespaceListing,
    BlockedListing,
    BlockedDecided,
    CommitView,
    CopyView,
    PartitionStateView,
    RestoreView,
    RestoreProgress,
    DeletionView,
    CompactionView,
    EncryptionView,
    ProducerView,
    RecurringView,
    RecurringListing,
    MemberAssignment,
    MembersView,
    FailureReasonView,
    GroupState,
    ClusterView,
    ClusterNodeView,
    OrderView,
    PlanView,
    UncleanPlanView,
    UncleanElectedView,
    ProblemItem,
)
_OFFSET: Schema = {"type": "integer", "minimum": 0}


def all_schemas() -> dict[str, Schema]:
    """Every named schema."""
    _, generated = msgspec.json.schema_components([*REQUESTS, *ANSWERS], ref_template="#/components/schemas/{name}")
    schemas: dict[str, Schema] = {name: _closed(schema) for name, schema in generated.items()}
    schemas["SeekFields"]["properties"]["topic"] = NAME
    schemas["SeekFields"]["properties"]["to"] = _seek_target()
    schemas["PositionFields"]["properties"]["topic"] = NAME
    schemas["CopyFields"]["properties"]["from"] = NAME
    # One object for both forms, as of a send; and what each form takes and answers is there by its own name.
    schemas["OffsetsChange"] = _either(schemas["SeekFields"], schemas["CommitFields"])
    schemas["OffsetsChanged"] = _either(schemas["SeekView"], schemas["CommitView"])
    times = schemas_of(PROPERTIES)
    for name in ("delaySeconds", "deliverAt"):
        schemas["ScheduleFields"]["properties"][name] = times[name]
    schemas["RecurringFields"]["properties"]["message"] = _recurring_message()
    for name, description in (("startAt", "nothing is sent before"), ("endAt", "nothing is sent then or later")):
        schemas["RecurringFields"]["properties"][name] = {**times["deliverAt"], "description": description}
    for name in ("topic", "to"):
        schemas["RedriveFields"]["properties"][name] = or_null(NAME)
    ids = {"type": "array", "items": {"type": "string", "pattern": MESSAGE_ID_PATTERN}}
    schemas["RedriveFields"]["properties"]["messageIds"] = or_null(
        {**ids, "minItems": 1, "maxItems": limits.REDRIVE_IDS_MAX}
    )
    settings = schemas["GroupSettingsFields"]["properties"]
    settings["deadLetterTopic"] = or_null(NAME)
    schemas["PlannedMoveFields"]["properties"]["topic"] = NAME
    schemas["GroupFields"]["properties"]["mode"] = or_null({"enum": ["exclusive", "keyOrdered", "shared"]})
    return dict(
        sorted(
            {
                **schemas,
                **_message_schemas(),
                **SCHEDULED_SCHEMAS,
                **_settlement_schemas(),
                **_problem_schemas(),
            }.items()
        )
    )


def _closed(schema: Schema) -> Schema:
    """No field beside the named ones, unless the schema says otherwise. Class names are no titles for clients."""
    closed = {name: value for name, value in schema.items() if name != "title"}
    if closed.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


def _object(properties: dict[str, Schema], required: list[str], description: str = "") -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    if description:
        schema["description"] = description
    return schema


def _recurring_message() -> Schema:
    """A message as it is sent, but for what says where it goes, or when."""
    known = schemas_of(PROPERTIES)
    size = f"{limits.RECURRING_BODY_BYTES_MAX} bytes at most"
    return _object(
        {
            **{name: known[name] for name in ("key", "headers", "tags", "contentType", "ttlSeconds")},
            "body": {"description": f"any JSON value, {size}; kept byte for byte, numbers of any size included"},
            "bodyBase64": {**known["bodyBase64"], "description": f"in the place of body: bytes, {size}"},
        },
        [],
        "what is sent, each time",
    )


def _either(first: Schema, second: Schema) -> Schema:
    """An object of one kind or the other, told by its members."""
    required = [name for name in first["required"] if name in second["required"]]
    return _object({**second["properties"], **first["properties"]}, required, "The one or the other form.")


def _seek_target() -> Schema:
    return {
        "oneOf": [
            {"enum": ["earliest", "latest"]},
            _object({"offset": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}}, ["offset"]),
            _object({"time": TIME}, ["time"]),
            _object({"relative": {"type": "integer", "minimum": 1 - 10**18, "maximum": 10**18 - 1}}, ["relative"]),
            _object({"messageId": {"type": "string", "pattern": MESSAGE_ID_PATTERN}}, ["messageId"]),
        ]
    }


def _message_schemas() -> dict[str, Schema]:
    of_message, around = schemas_of(PROPERTIES), schemas_of(ENVELOPE_PROPERTIES)
    messages = around.pop("messages")
    # One object for all forms of a send: of unions, generators of clients make types that cannot be used, or none.
    of_send = {**around, **of_message, "messages": messages}
    return {
        "Headers": HEADERS,
        "Message": _object(of_message, [], "Has a body or a bodyBase64."),
        "SendRequest": _object(of_send, [], "One message (body or bodyBase64), or several (messages)."),
        "Stored": _stored(),
        "StoredBatch": _object(
            {
                **_results({"anyOf": [reference("Stored"), reference("ProblemItem")]}),
                "topicCreated": {"type": "boolean", "description": "there, and true, where it was so"},
            },
            ["results", "failed"],
        ),
        "StoredMessage": _view({}, []),
        "Delivery": _view({"receipt": {"type": "string"}, "attempt": {"type": "integer", "minimum": 1}}, ["attempt"]),
        "InspectedMessage": _view({"groups": {"type": "array", "items": reference("GroupState")}}, ["groups"]),
        "Deliveries": _object(
            {
                "messages": {"type": "array", "items": reference("Delivery")},
                "reason": {"type": "string", "description": "why there are no messages"},
                "limit": {"type": "string", "description": "with IN_FLIGHT_LIMIT: the group's setting that it is"},
                "groupCreated": {"type": "boolean", "description": "there, and true, where it was so"},
                "memberEpoch": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "in an exclusive group: of the assignment by which the member got this",
                },
            },
            ["messages"],
        ),
        "Records": _object(
            {
                "records": {"type": "array", "items": reference("StoredMessage")},
                "offset": _OFFSET,
                "nextOffset": _OFFSET,
                "logStart": _OFFSET,
                "highWatermark": _OFFSET,
                "epoch": {"type": "integer", "minimum": 0, "description": "Goes with nextOffset into the next read."},
            },
            ["records", "offset", "nextOffset", "logStart", "highWatermark"],
        ),
    }


def _stored() -> Schema:
    return _object(
        {
            "messageId": or_null({"type": "string", "pattern": MESSAGE_ID_PATTERN}),
            "scheduleId": {
                "type": ["string", "null"],
                "pattern": SCHEDULE_ID_PATTERN,
                "description": "of a message that is to be seen later: it has no messageId and no offset before",
            },
            "deliverAt": {
                "type": ["integer", "null"],
                "description": "when it is to be seen, ms since 1970; null for one that was sent before",
            },
            "partition": {"type": "integer", "minimum": 0},
            "offset": or_null(_OFFSET),
            "topicCreated": {"type": "boolean", "description": "there, and true, where it was so"},
        },
        ["messageId", "partition", "offset"],
        "The ids are null with `acks` 0 where the node did not wait for them.",
    )


def _results(item: Schema) -> dict[str, Schema]:
    return {
        "results": {"type": "array", "items": item, "description": "in the request's order"},
        "failed": {"type": "integer", "minimum": 0},
    }


def _view(more: dict[str, Schema], more_required: list[str]) -> Schema:
    fields: dict[str, Schema] = {
        "messageId": {"type": "string", "pattern": MESSAGE_ID_PATTERN},
        "queue": {"type": "string"},
        "partition": {"type": "integer", "minimum": 0},
        "offset": _OFFSET,
        "key": {"type": "string"},
        "body": {"description": "the JSON value, byte for byte as it was sent"},
        "bodyBase64": {"type": "string", "description": "in the place of body: bytes"},
        "contentType": {"type": "string"},
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "timestamp": {"type": "integer"},
        "appendTime": {"type": "integer"},
        **more,
    }
    return _object(fields, ["messageId", "queue", "partition", "offset", "timestamp", "appendTime", *more_required])


def _settlement_schemas() -> dict[str, Schema]:
    receipt: Schema = {"type": "string", "pattern": RECEIPT_PATTERN}
    message_id: Schema = {"type": "string", "pattern": MESSAGE_ID_PATTERN}
    delay = or_null({"type": "number", "minimum": 0, "maximum": limits.NACK_DELAY_SECONDS_MAX})
    visibility: Schema = {"type": "number", "minimum": 0, "maximum": limits.VISIBILITY_SECONDS_MAX}
    done = _object({"status": {"enum": ["acknowledged", "returned", "extended"]}}, ["status"])

    def several(item: Schema) -> Schema:
        return {"type": "array", "items": item, "minItems": 1, "maxItems": limits.RECEIPTS_MAX}

    receipts = {"receipt": receipt, "receipts": several(receipt)}
    why = f"why, in at most {limits.NACK_REASON_BYTES_MAX} bytes of UTF-8; it is kept with the message"
    reason = or_null({"type": "string", "description": why})
    return {
        "AckRequest": _object(
            {**receipts, "messageId": message_id, "messageIds": several(message_id), "group": NAME},
            [],
            "One of receipt, receipts, messageId and messageIds; a group goes with ids.",
        ),
        "NackRequest": _object(
            {**receipts, "delaySeconds": delay, "reason": reason}, [], "Either receipt or receipts."
        ),
        "ExtendRequest": _object(
            {**receipts, "visibilitySeconds": visibility}, ["visibilitySeconds"], "Either receipt or receipts."
        ),
        "Settled": done,
        "SettledBatch": _object(
            _results({"anyOf": [reference("Settled"), reference("ProblemItem")]}), ["results", "failed"]
        ),
        "Status": _object({"status": {"enum": ["alive", "ready"]}}, ["status"]),
    }


_NUMBERS_OF_PROBLEMS = (
    "retryAfterMs",
    "logStart",
    "highWatermark",
    "divergedAt",
    "leader",
    "leaderEpoch",
    "epoch",
    "progress",
    "neededProtocol",
    "max",
    "offset",
    "next_offset",
    "log_start",
    "log_end",
)
"""What some problems tell beside their text: where a log begins and ends, who leads, how far a group is."""


def _problem_schemas() -> dict[str, Schema]:
    return {
        "Problem": {
            "type": "object",
            "description": "RFC 9457. `code` is stable; `detail` is for people.",
            "properties": {
                "type": {"type": "string", "format": "uri"},
                "title": {"type": "string"},
                "status": {"type": "integer"},
                "detail": {"type": "string"},
                "code": {"enum": list(ProblemCode.__members__)},
                "retriable": {"type": "boolean"},
                "field": {"type": "string"},
                "jobId": {"type": "string"},
                "near": {"type": "array", "items": {"type": "string"}},
                "limit": {"type": "string"},
                "differing": {"type": "array", "items": {"type": "string"}},
                "position": {"type": "integer", "minimum": 0},
                "expected": {"type": "string"},
                "state": {"type": "string"},
                "messageId": {"type": "string"},
                "quota": {"type": "string"},
                "nodes": {"type": "array", "items": {"type": "integer"}},
                **{name: {"type": "integer"} for name in _NUMBERS_OF_PROBLEMS},
                **_results(reference("ProblemItem")),
            },
            "required": ["type", "title", "status", "detail", "code", "retriable"],
            "additionalProperties": False,
        }
    }
