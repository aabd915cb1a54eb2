"""What `POST /messages` takes: a JSON envelope, NDJSON, or raw bytes; all three end as the same `SendCommand`."""

from dataclasses import dataclass

import msgspec
from msgspec import UNSET, Raw, UnsetType

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.parsing import query
from app.parsing.json_text import check_utf8, decode, elements_of, is_too_deep, malformed, too_deep, validation_fault
from app.parsing.message import (
    KEY_SURELY_FITS,
    OCTETS,
    SURELY_SHALLOW_BYTES,
    MessageFields,
    Outgoing,
    check_dedup_key,
    outgoing_bytes,
    outgoing_of,
)
from app.parsing.names import queue_of
from app.parsing.query import NO_ARGUMENTS, Arguments
from cluster.errors import AcklogError
from storage.rpc.messages import ACKS_ALL

IDEMPOTENCY_KEY_BYTES_MAX = limits.DEDUP_KEY_BYTES_MAX - 8  # room for separators, a mapping, and the number of a run
JSON_TYPES = frozenset({"application/json", "text/json"})
NDJSON_TYPES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-lines"})
FORM_TYPE = "application/x-www-form-urlencoded"
REPLICAS_MAX = 100
COMMAS_UNSUSPICIOUS_MAX = 16 * limits.REQUEST_MESSAGES_MAX


class _Envelope(MessageFields, forbid_unknown_fields=True, rename="camel", gc=False):
    queue: str | UnsetType = UNSET
    topic: str | UnsetType = UNSET
    acks: int | str | None = None
    messages: list[MessageFields] | UnsetType = UNSET


class _PlainFields(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    body: Raw
    key: str | None = None


class _PlainEnvelope(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A batch whose messages have a key and a JSON body at most: nearly all are like that, and a struct of two fields
    is made in half the time of one of eleven."""

    messages: list[_PlainFields]
    queue: str | UnsetType = UNSET
    topic: str | UnsetType = UNSET
    acks: int | str | None = None


class _LooseEnvelope(_Envelope, forbid_unknown_fields=True, rename="camel", gc=False):
    """As `_Envelope`, with each message left to be decoded on its own."""

    messages: list[Raw] | UnsetType = UNSET  # type: ignore[assignment]


class _Outline(_Envelope, forbid_unknown_fields=False, rename="camel", gc=False):
    """As `_Envelope`, with nothing of the messages made."""

    messages: Raw | UnsetType = UNSET  # type: ignore[assignment]


_plain_decoder = msgspec.json.Decoder(_PlainEnvelope)
_outline_decoder = msgspec.json.Decoder(_Outline)
_envelope_decoder = msgspec.json.Decoder(_Envelope)
_loose_decoder = msgspec.json.Decoder(_LooseEnvelope)
_message_decoder = msgspec.json.Decoder(MessageFields)

Checked = Outgoing | AcklogError


@dataclass(frozen=True, slots=True)
class SendCommand:
    """`messages` holds, in the request's order, what is to be stored or why it cannot be."""

    queue: str
    messages: list[Checked]
    acks: int
    is_batch: bool


@dataclass(frozen=True, slots=True)
class PlainBatch:
    """A batch of which every message is right and has at most a key beside its JSON body."""

    queue: str
    bodies: list[bytes]
    keys: list[str | None]
    acks: int

    def records(self) -> list[Record]:
        return list(map(Record, self.bodies, self.keys))

    def clear(self) -> None:
        self.bodies.clear()
        self.keys.clear()

    def spelled_out(self) -> SendCommand:
        """The same batch, message by message, for whoever has to add to them."""
        return SendCommand(self.queue, [Outgoing(record) for record in self.records()], self.acks, True)


SEND_QUERY = query.QueryTable(
    (
        query.name("queue", "the topic, where the body does not name it (NDJSON and raw bodies)"),
        query.name("topic", "another word for queue"),
        query.Parameter(
            "acks",
            lambda value: acks_of(int(value) if value.isascii() and value.isdigit() and len(value) < 5 else value),
            {"type": "string", "pattern": "^(all|0|[1-9][0-9]?|100)$", "default": "all"},
            "on how many replicas a message is durable before the answer: all, a number, or 0",
        ),
        query.text("key", limits.KEY_BYTES_MAX, "the message's key (raw bodies)", length_min=0),
        query.integer("partition", 0, limits.PARTITIONS_MAX - 1, "the partition (raw bodies)"),
        query.Parameter(
            "tags",
            str,
            {"type": "string", "minLength": 1, "maxLength": limits.TAG_BYTES_MAX},
            "a tag (raw bodies); may repeat",
            limits.TAGS_MAX,
        ),
        query.integer("timestamp", 0, limits.TIMESTAMP_MS_MAX, "the producer's time in ms (raw bodies)"),
        query.text("dedupId", limits.DEDUP_KEY_BYTES_MAX, "the message's idempotency key (raw bodies)"),
        query.unsupported("delaySeconds"),
        query.unsupported("deliverAt"),
    )
)
PLAIN_BATCH_BYTES_MIN = 4096  # below it a batch is small, or a single message, and trying costs more than it saves
_FOR_RAW_ONLY = ("key", "partition", "tags", "timestamp", "dedupId")


def parse_send(body: bytes, *, content_type: str, query_string: bytes) -> SendCommand | PlainBatch:
    """The messages of one request. Raises AcklogError where the request as a whole is at fault."""
    arguments = SEND_QUERY.parse(query_string)
    media_type = content_type.partition(";")[0].strip().lower()
    names_queue = "queue" in arguments or "topic" in arguments
    if media_type in JSON_TYPES or (not names_queue and media_type in {FORM_TYPE, ""}):
        _refuse_raw_parameters(arguments)
        return _parse_envelope(body, arguments)
    queue = queue_of(arguments.text("queue"), arguments.text("topic"))
    acks = arguments.integer("acks")
    acks_wanted = ACKS_ALL if acks is None else acks
    if media_type in NDJSON_TYPES:
        _refuse_raw_parameters(arguments)
        return SendCommand(queue, _parse_lines(body), acks_wanted, True)
    return SendCommand(queue, [_raw_message(body, content_type, arguments)], acks_wanted, False)


def acks_of(value: int | str | None) -> int:
    """ACKS_ALL or a number of replicas. Raises ValueError."""
    if value is None or value == "all":
        return ACKS_ALL
    if isinstance(value, int) and 0 <= value <= REPLICAS_MAX:
        return value
    raise ValueError(f"must be 'all' or a number of replicas, 0 to {REPLICAS_MAX}")


def check_idempotency_key(key: str) -> None:
    """Raises AcklogError INVALID_FIELD."""
    check_dedup_key(key, "Idempotency-Key", bytes_max=IDEMPOTENCY_KEY_BYTES_MAX)


def _refuse_raw_parameters(arguments: Arguments) -> None:
    for name in _FOR_RAW_ONLY:
        if name in arguments:
            detail = "goes with a raw body; in JSON it is a field of the message"
            raise AcklogError(ProblemCode.INVALID_FIELD, detail, field=name)


def _parse_envelope(body: bytes, arguments: Arguments) -> SendCommand | PlainBatch:
    check_utf8(body)
    if len(body) > COMMAS_UNSUSPICIOUS_MAX and body.count(b",") > COMMAS_UNSUSPICIOUS_MAX:
        _check_outline(body)
    if len(body) >= PLAIN_BATCH_BYTES_MIN:
        plain = _plain_batch(body, arguments)
        if plain is not None:
            return plain
    envelope: _Envelope
    messages: list[Checked]
    try:
        envelope = _envelope_decoder.decode(body)
        messages = _check_all(envelope.messages)
    except msgspec.ValidationError:
        loose = decode(_loose_decoder, body)
        messages = _decode_each(loose.messages)
        envelope = loose
    except msgspec.DecodeError as error:
        raise malformed(error) from None
    except RecursionError:
        raise too_deep("body") from None
    is_batch = envelope.messages is not UNSET
    if is_batch:
        _refuse_message_fields(envelope)
    else:
        messages = [outgoing_of(envelope)]
    queue = _queue_of_both(envelope, arguments)
    return SendCommand(queue, messages, _acks_of_both(envelope, arguments), is_batch)


def _plain_batch(body: bytes, arguments: Arguments) -> PlainBatch | None:
    """The batch if its messages are all plain and right; None leaves it, and every fault of it, to the long way."""
    try:
        envelope = _plain_decoder.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not 0 < len(envelope.messages) <= limits.REQUEST_MESSAGES_MAX:
        return None
    bodies = [bytes(fields.body) for fields in envelope.messages]
    keys = [fields.key for fields in envelope.messages]
    envelope.messages.clear()  # what is made from here on takes their places, which the processor's cache still has
    if max(map(len, filter(None, keys)), default=0) > KEY_SURELY_FITS:
        return None
    if max(map(len, bodies)) > SURELY_SHALLOW_BYTES and any(map(_is_too_much, bodies)):
        return None
    return PlainBatch(_queue_of_both(envelope, arguments), bodies, keys, _acks_of_both(envelope, arguments))


def _is_too_much(body: bytes) -> bool:
    return len(body) > limits.MESSAGE_BODY_BYTES_MAX or is_too_deep(body)


def _check_outline(body: bytes) -> None:
    """Refuse too many messages before any is made: in memory they would take many times the request's bytes."""
    outline = decode(_outline_decoder, body)
    if outline.messages is not UNSET:
        array = bytes(outline.messages)
        if array.startswith(b"[") and elements_of(array) > limits.REQUEST_MESSAGES_MAX:
            raise _too_many()


def _queue_of_both(envelope: _Envelope | _PlainEnvelope, arguments: Arguments) -> str:
    queue = None if envelope.queue is UNSET else envelope.queue
    topic = None if envelope.topic is UNSET else envelope.topic
    if arguments is NO_ARGUMENTS or ("queue" not in arguments and "topic" not in arguments):
        return queue_of(queue, topic)
    in_query = queue_of(arguments.text("queue"), arguments.text("topic"))
    if (queue is not None or topic is not None) and queue_of(queue, topic) != in_query:
        raise AcklogError(ProblemCode.INVALID_FIELD, "the query names another queue than the body", field="queue")
    return in_query


def _acks_of_both(envelope: _Envelope | _PlainEnvelope, arguments: Arguments) -> int:
    in_query = arguments.integer("acks")
    if envelope.acks is None:
        return ACKS_ALL if in_query is None else in_query
    if in_query is not None:
        raise AcklogError(ProblemCode.INVALID_FIELD, "stands in the query and in the body", field="acks")
    try:
        return acks_of(envelope.acks)
    except ValueError as error:
        raise AcklogError(ProblemCode.INVALID_FIELD, str(error), field="acks") from None


def _check_count(messages: list[MessageFields] | list[Raw] | list[bytes]) -> None:
    if not messages:
        raise AcklogError(ProblemCode.INVALID_FIELD, "must hold at least one message", field="messages")
    if len(messages) > limits.REQUEST_MESSAGES_MAX:
        raise _too_many()


def _too_many() -> AcklogError:
    detail = f"the request has more than {limits.REQUEST_MESSAGES_MAX} messages"
    return AcklogError(ProblemCode.TOO_MANY_MESSAGES, detail, field="messages")


def _check_all(batch: list[MessageFields] | UnsetType) -> list[Checked]:
    messages: list[Checked] = []
    if batch is UNSET:
        return messages
    _check_count(batch)
    append = messages.append
    for fields in batch:
        try:
            append(outgoing_of(fields))
        except AcklogError as fault:
            append(_at(fault, len(messages)))
    return messages


def _decode_each(raws: list[Raw] | UnsetType) -> list[Checked]:
    messages: list[Checked] = []
    if raws is UNSET:
        return messages
    _check_count(raws)
    for number, raw in enumerate(raws):
        prefix = f"messages[{number}]"
        try:
            messages.append(outgoing_of(_message_decoder.decode(raw), prefix + "."))
        except AcklogError as fault:
            messages.append(fault)
        except msgspec.ValidationError as error:
            messages.append(validation_fault(error, prefix=prefix))
    return messages


def _at(fault: AcklogError, number: int) -> AcklogError:
    """The fault, with the message's place before the field's name."""
    fault.field = f"messages[{number}]" + (f".{fault.field}" if fault.field else "")
    return fault


def _refuse_message_fields(envelope: _Envelope) -> None:
    """A batch has no message fields of its own: a key beside `messages` would be dropped in silence."""
    for name in MessageFields.__struct_fields__:
        value = getattr(envelope, name)
        if value is not None and value is not UNSET:
            encoded = dict(zip(MessageFields.__struct_fields__, MessageFields.__struct_encode_fields__, strict=True))
            detail = "does not go with messages: it belongs into each of them"
            raise AcklogError(ProblemCode.INVALID_FIELD, detail, field=encoded[name])


def _parse_lines(body: bytes) -> list[Checked]:
    """One message per line; empty lines are skipped, but there may not be more of them than of messages."""
    if body.count(b"\n") > 2 * limits.REQUEST_MESSAGES_MAX:
        raise _too_many()
    lines = [line for line in body.split(b"\n") if line and not line.isspace()]
    _check_count(lines)
    is_ascii = body.isascii()
    messages: list[Checked] = []
    for number, line in enumerate(lines):
        prefix = f"messages[{number}]"
        try:
            if not is_ascii:
                check_utf8(line)
            messages.append(outgoing_of(_message_decoder.decode(line)))
        except AcklogError as fault:
            messages.append(_at(fault, number))
        except msgspec.ValidationError as error:
            messages.append(validation_fault(error, prefix=prefix))
        except msgspec.DecodeError as error:
            messages.append(malformed(error, prefix=prefix))
        except RecursionError:
            messages.append(too_deep(prefix + ".body"))
    return messages


def _raw_message(body: bytes, content_type: str, arguments: Arguments) -> Outgoing:
    return outgoing_bytes(
        body,
        content_type or OCTETS,
        key=arguments.text("key"),
        partition=arguments.integer("partition"),
        tags=arguments.texts("tags"),
        timestamp=arguments.integer("timestamp"),
        dedup_id=arguments.text("dedupId"),
    )
