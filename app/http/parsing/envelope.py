"""The JSON around messages: which fields it may have, and what they say."""

import msgspec
from msgspec import UNSET, Raw, UnsetType

from acklog.wire.problems import ProblemCode
from app.calls.names import queue_of
from app.http.parsing.message import MessageFields
from app.http.parsing.query import NO_ARGUMENTS, Arguments
from cluster.errors import ServerError
from storage.rpc.messages import ACKS_ALL

REPLICAS_MAX = 100


class Envelope(MessageFields, forbid_unknown_fields=True, rename="camel", gc=False):
    queue: str | UnsetType = UNSET
    topic: str | UnsetType = UNSET
    acks: int | str | None = None
    messages: list[MessageFields] | UnsetType = UNSET


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
    if isinstance(value, int) and 0 <= value <= REPLICAS_MAX:
        return value
    raise ValueError(f"must be 'all' or a number of replicas, 0 to {REPLICAS_MAX}")


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
    for name in MessageFields.__struct_fields__:
        value = getattr(envelope, name)
        if value is not None and value is not UNSET:
            encoded = dict(zip(MessageFields.__struct_fields__, MessageFields.__struct_encode_fields__, strict=True))
            detail = "does not go with messages: it belongs into each of them"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field=encoded[name])
