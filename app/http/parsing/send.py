"""What `POST /messages` takes: a JSON envelope, NDJSON, or raw bytes; all three end as a `Produce`."""

import msgspec
from msgspec import UNSET

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.calls.names import queue_of
from app.calls.send import Message, Produce
from app.http.exchange.turns import Steps, at_once
from app.http.parsing import query
from app.http.parsing.batch_messages import (
    check_all,
    decode_all,
    plain_of,
)
from app.http.parsing.envelope import (
    ENVELOPE_PROPERTIES,
    Envelope,
    acks_of_both,
    envelope_decoder,
    loose_decoder,
    plain_decoder,
    queue_of_both,
    refuse_message_fields,
)
from app.http.parsing.json_text import check_utf8, decode, malformed, too_deep
from app.http.parsing.large_send import LARGE_BYTES, LIKELY_BYTES_PER_STEP, large_envelope_steps, lines_steps
from app.http.parsing.message import OCTETS, message_of, raw_message
from app.http.parsing.message_properties import BESIDE_RAW, PROPERTIES, dedup_key_fault
from app.http.parsing.properties import parameters_of
from app.http.parsing.query import Arguments
from cluster.errors import ServerError
from storage.rpc.messages import ACKS_ALL

IDEMPOTENCY_KEY_BYTES_MAX = limits.DEDUP_KEY_BYTES_MAX - 8  # room for separators, a mapping, and the number of a run
JSON_TYPES = frozenset({"application/json", "text/json"})
NDJSON_TYPES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-lines"})
JSON_WHITESPACE = b" \t\r\n"
FORM_TYPE = "application/x-www-form-urlencoded"

SEND_QUERY = query.QueryTable((*parameters_of(ENVELOPE_PROPERTIES), *parameters_of(PROPERTIES)))
PLAIN_BATCH_BYTES_MIN = 4096  # below it a batch is small, or a single message, and trying costs more than it saves


def parse_send(body: bytes, *, content_type: str, query_string: bytes) -> Produce:
    """The messages of one request. Raises ServerError where the request as a whole is at fault."""
    return at_once(send_steps(body, content_type=content_type, query_string=query_string))


def send_steps(body: bytes, *, content_type: str, query_string: bytes) -> Steps[Produce]:
    """As `parse_send`, for `app.http.exchange.turns`: a body of up to LARGE_BYTES is one step, but for faults in it."""
    arguments = SEND_QUERY.parse(query_string)
    media_type = content_type.partition(";")[0].strip().lower()
    names_queue = "queue" in arguments or "topic" in arguments
    if media_type in JSON_TYPES or (not names_queue and media_type in {FORM_TYPE, ""}):
        _refuse_raw_parameters(arguments)
        if len(body) > LARGE_BYTES:
            body = body.strip(JSON_WHITESPACE)
        if len(body) > LARGE_BYTES:
            plain = _plain_if_quick(body, arguments)
            return plain or (yield from large_envelope_steps(body, arguments))
        return (yield from _envelope_steps(body, arguments))
    queue = queue_of(arguments.text("queue"), arguments.text("topic"))
    acks = arguments.integer("acks")
    acks_wanted = ACKS_ALL if acks is None else acks
    if media_type in NDJSON_TYPES:
        _refuse_raw_parameters(arguments)
        return Produce(queue, (yield from lines_steps(body)), acks_wanted, True)
    return Produce(queue, [raw_message(body, content_type or OCTETS, arguments)], acks_wanted, False)


def check_idempotency_key(key: str) -> None:
    """Raises ServerError INVALID_FIELD."""
    fault = dedup_key_fault(key, IDEMPOTENCY_KEY_BYTES_MAX)
    if fault is not None:
        raise ServerError(ProblemCode.INVALID_FIELD, fault, field="Idempotency-Key")


def _refuse_raw_parameters(arguments: Arguments) -> None:
    for _, name, _ in BESIDE_RAW:
        if name in arguments:
            detail = "goes with a raw body; in JSON it is a field of the message"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field=name)


def _envelope_steps(body: bytes, arguments: Arguments) -> Steps[Produce]:
    check_utf8(body)
    if len(body) >= PLAIN_BATCH_BYTES_MIN:
        plain = _plain_batch(body, arguments)
        if plain is not None:
            return plain
    envelope: Envelope
    messages: list[Message]
    try:
        envelope = envelope_decoder.decode(body)
        messages = yield from check_all(envelope.messages)
    except msgspec.ValidationError:
        loose = decode(loose_decoder, body)
        messages = yield from decode_all(loose.messages)
        envelope = loose
    except msgspec.DecodeError as error:
        raise malformed(error) from None
    except RecursionError:
        raise too_deep("body") from None
    is_batch = envelope.messages is not UNSET
    if is_batch:
        refuse_message_fields(envelope)
    else:
        messages = [message_of(envelope)]
    queue = queue_of_both(envelope, arguments)
    return Produce(queue, messages, acks_of_both(envelope, arguments), is_batch)


def _plain_if_quick(body: bytes, arguments: Arguments) -> Produce | None:
    """So many bytes are decoded in one go soon enough, if nothing is wrong with them: looking for where to cut them
    would cost a third of it."""
    if len(body) > LIKELY_BYTES_PER_STEP or not body.isascii():
        return None
    return _plain_batch(body, arguments)


def _plain_batch(body: bytes, arguments: Arguments) -> Produce | None:
    """The batch if its messages are all plain and right; None leaves it, and every fault of it, to the long way."""
    try:
        envelope = plain_decoder.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not 0 < len(envelope.messages) <= limits.REQUEST_MESSAGES_MAX:
        return None
    plain = plain_of(envelope.messages)
    if plain is None:
        return None
    messages, keys = plain
    return Produce(queue_of_both(envelope, arguments), messages, acks_of_both(envelope, arguments), True, keys)
