"""The JSON around messages: which fields it may have, and what they say."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Raw, UnsetType

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.calls.names import queue_of
from app.http.parsing import query
from app.http.parsing.json_schema import NAME, reference
from app.http.parsing.message_properties import PROPERTIES, MessageFields
from app.http.parsing.properties import Property, declared_in
from app.http.parsing.query import NO_ARGUMENTS, Arguments, Parameter
from cluster.errors import ServerError
from storage.rpc.messages import ACKS_ALL

_ACKS = Property(
    schema={
        "oneOf": [
            {"enum": ["all"]},
            {"type": "integer", "minimum": 0, "maximum": limits.REPLICAS_MAX},
            {"type": "null"},
        ],
        "description": (
            "on how many replicas the messages are durable before the answer comes. all (the default): on every one "
            "that is in sync, and at least on `minInsyncReplicas`; NOT_ENOUGH_REPLICAS while fewer keep up. A number, "
            "up to the topic's `replicationFactor`: on so many, the leader included, whether the others keep up or "
            "not. 0: 202 at once. With less than all, what was accepted may be lost with the machines that hold it; "
            "readers see every message only once it is as durable as all would have it"
        ),
    },
    parameter=lambda name: Parameter(
        name,
        lambda value: acks_of(int(value) if value.isascii() and value.isdigit() and len(value) < 5 else value),
        {"type": "string", "pattern": "^(all|0|[1-9][0-9]?|100)$", "default": "all"},
        "on how many replicas a message is durable before the answer: all, a number, or 0",
    ),
)
_QUEUE = Property(
    schema={**NAME, "description": "where the messages go; required"},
    parameter=lambda name: query.name(name, "the topic, where the body does not name it (NDJSON and raw bodies)"),
)
_TOPIC = Property(
    schema={**NAME, "description": "another word for queue"},
    parameter=lambda name: query.name(name, "another word for queue"),
)
_MESSAGES = Property(
    schema={
        "type": "array",
        "items": reference("Message"),
        "minItems": 1,
        "maxItems": limits.REQUEST_MESSAGES_MAX,
        "description": "a batch, in the place of body",
    },
)


class Envelope(MessageFields, forbid_unknown_fields=True, rename="camel", gc=False):
    queue: Annotated[str | UnsetType, _QUEUE] = UNSET
    topic: Annotated[str | UnsetType, _TOPIC] = UNSET
    acks: Annotated[int | str | None, _ACKS] = None
    messages: Annotated[list[MessageFields] | UnsetType, _MESSAGES] = UNSET


ENVELOPE_PROPERTIES = declared_in(Envelope)[len(PROPERTIES) :]
"""What stands around messages."""


class PlainFields(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    body: Raw
    key: str | None = None


class PlainEnvelope(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A batch whose messages have a key and a JSON body at most: nearly all are like that, and a struct of two fields
    is made in half the time of one of eleven."""

    messages: list[PlainFields]
    queue: str | UnsetType = UNSET
    topic: str | UnsetType = UNSET
    acks: int | str | None = None


class LooseEnvelope(Envelope, forbid_unknown_fields=True, rename="camel", gc=False):
    """As `Envelope`, with each message left to be decoded on its own."""

    messages: list[Raw] | UnsetType = UNSET  # type: ignore[assignment]


class Outline(Envelope, forbid_unknown_fields=True, rename="camel", gc=False):
    """As `Envelope`, with nothing made of what may have many parts. (`Raw | None` would take nothing but null.)"""

    messages: Raw | UnsetType = UNSET  # type: ignore[assignment]
    headers: Raw | UnsetType = UNSET  # type: ignore[assignment]
    tags: Raw | UnsetType = UNSET  # type: ignore[assignment]


class MessageOutline(MessageFields, forbid_unknown_fields=True, rename="camel", gc=False):
    """As `MessageFields`, likewise."""

    headers: Raw | UnsetType = UNSET  # type: ignore[assignment]
    tags: Raw | UnsetType = UNSET  # type: ignore[assignment]


plain_decoder = msgspec.json.Decoder(PlainEnvelope)
outline_decoder = msgspec.json.Decoder(Outline)
envelope_decoder = msgspec.json.Decoder(Envelope)
loose_decoder = msgspec.json.Decoder(LooseEnvelope)
message_decoder = msgspec.json.Decoder(MessageFields)
message_outline_decoder = msgspec.json.Decoder(MessageOutline)


def acks_of(value: int | str | None) -> int:
    """ACKS_ALL or a number of replicas. Raises ValueError."""
    if value is None or value == "all":
        return ACKS_ALL
    if isinstance(value, int) and 0 <= value <= limits.REPLICAS_MAX:
        return value
    raise ValueError(f"must be 'all' or a number of replicas, 0 to {limits.REPLICAS_MAX}")


def queue_of_both(envelope: Envelope | PlainEnvelope, arguments: Arguments) -> str:
    queue = None if envelope.queue is UNSET else envelope.queue
    topic = None if envelope.topic is UNSET else envelope.topic
    if arguments is NO_ARGUMENTS or ("queue" not in arguments and "topic" not in arguments):
        return queue_of(queue, topic)
    in_query = queue_of(arguments.text("queue"), arguments.text("topic"))
    if (queue is not None or topic is not None) and queue_of(queue, topic) != in_query:
        raise ServerError(ProblemCode.INVALID_FIELD, "the query names another queue than the body", field="queue")
    return in_query


def acks_of_both(envelope: Envelope | PlainEnvelope, arguments: Arguments) -> int:
    in_query = arguments.integer("acks")
    if envelope.acks is None:
        return ACKS_ALL if in_query is None else in_query
    if in_query is not None:
        raise ServerError(ProblemCode.INVALID_FIELD, "stands in the query and in the body", field="acks")
    try:
        return acks_of(envelope.acks)
    except ValueError as error:
        raise ServerError(ProblemCode.INVALID_FIELD, str(error), field="acks") from None


def refuse_message_fields(envelope: Envelope) -> None:
    """A batch has no message fields of its own: a key beside `messages` would be dropped in silence."""
    for attribute, name, _ in PROPERTIES:
        value = getattr(envelope, attribute)
        if value is not None and value is not UNSET:
            detail = "does not go with messages: it belongs into each of them"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field=name)
