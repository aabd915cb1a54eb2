"""The schemas of openapi.yaml. Bodies and answers of administration come from the structs that are decoded and
encoded; messages, whose bodies are never decoded, are described by hand, with the same limits that the parser has."""

from typing import Any

import msgspec

from acklog.wire import limits
from acklog.wire.identifiers import MESSAGE_ID_PATTERN, RECEIPT_PATTERN
from acklog.wire.names import NAME_PATTERN
from acklog.wire.problems import ProblemCode
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
from app.calls.groups import GroupFields, GroupListing, GroupView, OffsetsView, SeekFields, SeekView
from app.calls.inspect import GroupState
from app.calls.problem_item import ProblemItem
from app.calls.topics import PartitionDescription, TopicDescription, TopicFields, TopicListing, TopicView
from app.calls.unclean_election import UncleanElectedView, UncleanPlanView
from app.http.parsing.envelope import REPLICAS_MAX

Schema = dict[str, Any]

REQUESTS = (
    TopicFields,
    GroupFields,
    SeekFields,
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
    SeekView,
    GroupState,
    ClusterView,
    ClusterNodeView,
    OrderView,
    PlanView,
    UncleanPlanView,
    UncleanElectedView,
    ProblemItem,
)
_ACKS = (
    "on how many replicas the messages are durable before the answer comes. all (the default): on every one that is in "
    "sync, and at least on `minInsyncReplicas`; NOT_ENOUGH_REPLICAS while fewer keep up. A number, up to the topic's "
    "`replicationFactor`: on so many, the leader included, whether the others keep up or not. 0: 202 at once. With "
    "less than all, what was accepted may be lost with the machines that hold it; readers see every message only once "
    "it is as durable as all would have it"
)
_OFFSET: Schema = {"type": "integer", "minimum": 0}
_NAME: Schema = {"type": "string", "pattern": NAME_PATTERN}
_TIME: Schema = {"type": "integer", "minimum": 0, "maximum": limits.TIMESTAMP_MS_MAX}


def reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def all_schemas() -> dict[str, Schema]:
    """Every named schema."""
    _, generated = msgspec.json.schema_components([*REQUESTS, *ANSWERS], ref_template="#/components/schemas/{name}")
    schemas: dict[str, Schema] = {name: _closed(schema) for name, schema in generated.items()}
    schemas["SeekFields"]["properties"]["topic"] = _NAME
    schemas["SeekFields"]["properties"]["to"] = _seek_target()
    settings = schemas["GroupSettingsFields"]["properties"]
    settings["deadLetterTopic"] = _or_null(_NAME)
    schemas["PlannedMoveFields"]["properties"]["topic"] = _NAME
    schemas["GroupFields"]["properties"]["mode"] = _or_null({"enum": ["shared"]})
    return dict(sorted({**schemas, **_message_schemas(), **_settlement_schemas(), **_problem_schemas()}.items()))


def _closed(schema: Schema) -> Schema:
    """No field beside the named ones, unless the schema says otherwise. Class names are no titles for clients."""
    closed = {name: value for name, value in schema.items() if name != "title"}
    if closed.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(properties: dict[str, Schema], required: list[str], description: str = "") -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    if description:
        schema["description"] = description
    return schema


def _seek_target() -> Schema:
    return {
        "oneOf": [
            {"enum": ["earliest", "latest"]},
            _object({"offset": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}}, ["offset"]),
            _object({"time": _TIME}, ["time"]),
        ]
    }


def _message_fields() -> dict[str, Schema]:
    return {
        "body": {
            "description": f"any JSON value, at most {limits.MESSAGE_BODY_BYTES_MAX} bytes; kept byte for byte, "
            "numbers of any size included"
        },
        "bodyBase64": {"type": "string", "contentEncoding": "base64", "description": "in the place of body: bytes"},
        "contentType": {
            "type": "string",
            "minLength": 1,
            "maxLength": limits.CONTENT_TYPE_BYTES_MAX,
            "pattern": "^[\\x20-\\x7e]+$",
            "description": "goes with bodyBase64",
        },
        "key": _or_null({"type": "string", "maxLength": limits.KEY_BYTES_MAX}),
        "partition": _or_null({"type": "integer", "minimum": 0, "maximum": limits.PARTITIONS_MAX - 1}),
        "headers": reference("Headers"),
        "tags": _or_null(
            {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": limits.TAG_BYTES_MAX},
                "maxItems": limits.TAGS_MAX,
            }
        ),
        "timestamp": _or_null({**_TIME, "description": "the producer's time, ms since 1970"}),
        "dedupId": _or_null({"type": "string", "minLength": 1, "maxLength": limits.DEDUP_KEY_BYTES_MAX}),
    }


def _message_schemas() -> dict[str, Schema]:
    acks = {
        "oneOf": [{"enum": ["all"]}, {"type": "integer", "minimum": 0, "maximum": REPLICAS_MAX}, {"type": "null"}],
        "description": _ACKS,
    }
    messages: Schema = {
        "type": "array",
        "items": reference("Message"),
        "minItems": 1,
        "maxItems": limits.REQUEST_MESSAGES_MAX,
    }
    # One object for all forms of a send: of unions, generators of clients make types that cannot be used, or none.
    named: dict[str, Schema] = {
        "queue": {**_NAME, "description": "where the messages go; required"},
        "topic": {**_NAME, "description": "another word for queue"},
        "acks": acks,
    }
    several = {"messages": {**messages, "description": "a batch, in the place of body"}}
    return {
        "Headers": {
            "type": "object",
            "additionalProperties": {"type": "string", "maxLength": limits.HEADER_VALUE_BYTES_MAX},
            "maxProperties": limits.HEADERS_MAX,
        },
        "Message": _object(_message_fields(), [], "Has a body or a bodyBase64."),
        "SendRequest": _object(
            {**named, **_message_fields(), **several}, [], "One message (body or bodyBase64), or several (messages)."
        ),
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
                "groupCreated": {"type": "boolean", "description": "there, and true, where it was so"},
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
            "messageId": _or_null({"type": "string", "pattern": MESSAGE_ID_PATTERN}),
            "partition": {"type": "integer", "minimum": 0},
            "offset": _or_null(_OFFSET),
            "topicCreated": {"type": "boolean", "description": "there, and true, where it was so"},
        },
        ["messageId", "partition", "offset"],
        "Both ids are null with `acks` 0 where the node did not wait for them.",
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
    delay = _or_null({"type": "number", "minimum": 0, "maximum": limits.NACK_DELAY_SECONDS_MAX})
    visibility: Schema = {"type": "number", "minimum": 0, "maximum": limits.VISIBILITY_SECONDS_MAX}
    done = _object({"status": {"enum": ["acknowledged", "returned", "extended"]}}, ["status"])

    def several(item: Schema) -> Schema:
        return {"type": "array", "items": item, "minItems": 1, "maxItems": limits.RECEIPTS_MAX}

    receipts = {"receipt": receipt, "receipts": several(receipt)}
    return {
        "AckRequest": _object(
            {**receipts, "messageId": message_id, "messageIds": several(message_id), "group": _NAME},
            [],
            "One of receipt, receipts, messageId and messageIds; a group goes with ids.",
        ),
        "NackRequest": _object({**receipts, "delaySeconds": delay}, [], "Either receipt or receipts."),
        "ExtendRequest": _object(
            {**receipts, "visibilitySeconds": visibility}, ["visibilitySeconds"], "Either receipt or receipts."
        ),
        "Settled": done,
        "SettledBatch": _object(
            _results({"anyOf": [reference("Settled"), reference("ProblemItem")]}), ["results", "failed"]
        ),
        "Status": _object({"status": {"enum": ["alive", "ready"]}}, ["status"]),
    }


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
                "near": {"type": "array", "items": {"type": "string"}},
                "differing": {"type": "array", "items": {"type": "string"}},
                **_results(reference("ProblemItem")),
            },
            "required": ["type", "title", "status", "detail", "code", "retriable"],
            "additionalProperties": False,
        }
    }
