"""The messages of a batch, each right or wrong for itself."""

import msgspec
from msgspec import UNSET, Raw, UnsetType

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.calls.send import Message
from app.http.exchange.turns import Steps
from app.http.parsing.envelope import PlainFields, message_decoder
from app.http.parsing.json_text import is_too_deep, malformed, too_deep, validation_fault
from app.http.parsing.message import KEY_SURELY_FITS, SURELY_SHALLOW_BYTES, message_of
from app.http.parsing.message_properties import MessageFields
from cluster.errors import ServerError

FAULTS_PER_STEP = 1_000
"""To say what is wrong with a message takes much longer than to take one, however short it is."""


def plain_of(fields: list[PlainFields]) -> tuple[list[Message], list[str | None]] | None:
    """A batch's messages and their keys; None where one of them may be wrong. `fields` are used up."""
    bodies = [bytes(each.body) for each in fields]
    keys = [each.key for each in fields]
    fields.clear()  # what is made from here on takes their places, which the processor's cache still has
    if max(map(len, filter(None, keys)), default=0) > KEY_SURELY_FITS:
        return None
    longest = max(map(len, bodies))
    if longest > limits.MESSAGE_BODY_BYTES_MAX or (longest > SURELY_SHALLOW_BYTES and _is_one_too_deep(bodies)):
        return None
    return list(zip(bodies, keys, strict=True)), keys


def _is_one_too_deep(bodies: list[bytes]) -> bool:
    """Nearly all have fewer brackets than that, which is found out without a call for each."""
    most = limits.JSON_DEPTH_MAX
    suspects = [body for body in bodies if body.count(b"[") + body.count(b"{") > most]
    return any(map(is_too_deep, suspects))


def check_count(messages: list[MessageFields] | list[Raw] | list[bytes]) -> None:
    if not messages:
        raise ServerError(ProblemCode.INVALID_FIELD, "must hold at least one message", field="messages")
    if len(messages) > limits.REQUEST_MESSAGES_MAX:
        raise too_many()


def too_many() -> ServerError:
    detail = f"the request has more than {limits.REQUEST_MESSAGES_MAX} messages"
    return ServerError(ProblemCode.TOO_MANY_MESSAGES, detail, field="messages")


def check_all(batch: list[MessageFields] | UnsetType) -> Steps[list[Message]]:
    if batch is UNSET:
        return []
    check_count(batch)
    return (yield from check_each(batch))


def check_each(batch: list[MessageFields], *, first: int = 0) -> Steps[list[Message]]:
    """`first` is the number of the first one in its request."""
    messages: list[Message] = []
    append = messages.append
    faults = 0
    for fields in batch:
        try:
            append(message_of(fields))
        except ServerError as fault:
            append(placed(fault, first + len(messages)))
            faults += 1
            if faults % FAULTS_PER_STEP == 0:
                yield
    return messages


def decode_all(raws: list[Raw] | UnsetType) -> Steps[list[Message]]:
    """Each message decoded for itself, so that one with a fault does not hurt the others."""
    if raws is UNSET:
        return []
    check_count(raws)
    return (yield from decode_each(raws))


def decode_each(raws: list[Raw], *, first: int = 0) -> Steps[list[Message]]:
    """`first` is the number of the first one in its request."""
    messages: list[Message] = []
    for number, raw in enumerate(raws, first):
        if len(messages) % FAULTS_PER_STEP == FAULTS_PER_STEP - 1:
            yield
        prefix = f"messages[{number}]"
        try:
            messages.append(message_of(message_decoder.decode(raw), prefix + "."))
        except ServerError as fault:
            messages.append(fault)
        except msgspec.ValidationError as error:
            messages.append(validation_fault(error, prefix=prefix))
    return messages


def placed(fault: ServerError, number: int) -> ServerError:
    """The fault, with the message's place before the field's name."""
    fault.field = f"messages[{number}]" + (f".{fault.field}" if fault.field else "")
    return fault


def line_of(line: bytes, number: int) -> Message:
    """The message of one line of NDJSON, valid UTF-8."""
    prefix = f"messages[{number}]"
    try:
        return message_of(message_decoder.decode(line))
    except ServerError as fault:
        return placed(fault, number)
    except msgspec.ValidationError as error:
        return validation_fault(error, prefix=prefix)
    except msgspec.DecodeError as error:
        return malformed(error, prefix=prefix)
    except RecursionError:
        return too_deep(prefix + ".body")
