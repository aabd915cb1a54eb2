"""Results and errors of the query protocol, as XML."""

import base64
import re
from collections.abc import Generator, Mapping, Sequence
from xml.sax.saxutils import escape

import msgspec
from msgspec import inspect

from app.http.exchange.turns import Steps
from app.sqs.protocol.wire_types import MAP_VALUE, struct_type_of, wire_type_of
from app.sqs.sqs_error import SqsError

NAMESPACE = "http://queue.amazonaws.com/doc/2012-11-05/"
STEP_CHARACTERS = 256 * 1024
_HEAD = '<?xml version="1.0"?>'
# What XML 1.0 cannot say, not even by a number. SQS takes no such messages; others who send to the topic may.
_UNSPEAKABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REPLACEMENT = "\ufffd"
_ENTITIES = {"\r": "&#xD;"}
"""A parser would make a line feed of it."""

Writing = Generator[None, None, None]


def result_steps(operation: str, result: msgspec.Struct | None, request_id: str) -> Steps[bytes]:
    """The whole document. A step for each quarter of a megabyte."""
    parts = [_HEAD, f'<{operation}Response xmlns="{NAMESPACE}">']
    if result is not None:
        parts.append(f"<{operation}Result>")
        yield from _members(parts, result)
        parts.append(f"</{operation}Result>")
    parts.append(f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{operation}Response>")
    return "".join(parts).encode()


def error_document(error: SqsError, request_id: str) -> bytes:
    fault = error.code.value
    kind = "Sender" if fault.is_senders else "Receiver"
    return (
        f'{_HEAD}<ErrorResponse xmlns="{NAMESPACE}"><Error><Type>{kind}</Type><Code>{fault.code}</Code>'
        f"<Message>{xml_text(error.message)}</Message><Detail/></Error>"
        f"<RequestId>{request_id}</RequestId></ErrorResponse>"
    ).encode()


def xml_text(text: str) -> str:
    return escape(_UNSPEAKABLE.sub(_REPLACEMENT, text), _ENTITIES)


def _members(parts: list[str], struct: msgspec.Struct) -> Writing:
    for field in struct_type_of(type(struct)).fields:
        value = getattr(struct, field.name)
        if value is not None:
            yield from _element(parts, field.encode_name, field.type, value)


def _element(parts: list[str], name: str, type_: inspect.Type, value: object) -> Writing:
    wire = wire_type_of(type_)
    if isinstance(wire.type, inspect.ListType):
        assert isinstance(value, Sequence)
        for each in value:
            yield from _element(parts, wire.query, wire.type.item_type, each)
    elif isinstance(wire.type, inspect.DictType):
        assert isinstance(value, Mapping)
        for key, each in value.items():
            parts.append(f"<{wire.query}><{wire.key}>{xml_text(key)}</{wire.key}>")
            yield from _element(parts, MAP_VALUE, wire.type.value_type, each)
            parts.append(f"</{wire.query}>")
    elif isinstance(value, msgspec.Struct):
        parts.append(f"<{name}>")
        yield from _members(parts, value)
        parts.append(f"</{name}>")
    else:
        text = _scalar(value)
        parts.append(f"<{name}>{text}</{name}>")
        if len(text) >= STEP_CHARACTERS:
            yield


def _scalar(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, bool):
        return "true" if value else "false"
    return xml_text(value) if isinstance(value, str) else str(value)
