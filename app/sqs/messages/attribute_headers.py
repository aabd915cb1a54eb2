"""Attributes of a message as headers of a record, and back.

An attribute is a header of its name, so that readers by HTTP see it, and filters may ask for it: text as it is, bytes
in base64. Types that are not plain String are in one more header. What headers cannot hold, as the name means something
else there, or something is too long, is in another one, as JSON.
"""

import base64
import binascii
from collections.abc import Mapping

import msgspec

from acklog.wire.limits import HEADER_NAME_BYTES_MAX, HEADER_VALUE_BYTES_MAX
from acklog.wire.tracing import TRACEPARENT, TRACESTATE
from app.sqs.messages.attribute_checks import check_name, check_value
from app.sqs.messages.message_attribute import MessageAttribute
from app.sqs.sqs_error import SqsError

PREFIX = "sqs."
DEDUPLICATION_ID = f"{PREFIX}deduplication-id"
TRACE = f"{PREFIX}trace"
TYPES = f"{PREFIX}types"
"""JSON: name to type, of those that are headers of their own."""
REST = f"{PREFIX}attributes"
"""JSON: name to type and value, of those that are not."""
TYPE_BYTES_MAX = 64
"""Of an attribute that is a header of its own: so the types of all together are no longer than a header may be."""

_NEVER = frozenset({TRACEPARENT, TRACESTATE})
_PLAIN = "String"
_encode = msgspec.json.Encoder(order="deterministic").encode
_decode_types = msgspec.json.Decoder(dict[str, str]).decode
_decode_rest = msgspec.json.Decoder(dict[str, tuple[str, str]]).decode


def headers_of(attributes: Mapping[str, MessageAttribute]) -> dict[str, str]:
    """Of attributes that are right."""
    headers: dict[str, str] = {}
    types: dict[str, str] = {}
    rest: dict[str, tuple[str, str]] = {}
    for name, attribute in attributes.items():
        text = _text_of(attribute)
        if _fits(name, attribute.data_type, text):
            headers[name] = text
            if attribute.data_type != _PLAIN:
                types[name] = attribute.data_type
        else:
            rest[name] = (attribute.data_type, text)
    if types:
        headers[TYPES] = _encode(types).decode()
    if rest:
        headers[REST] = _encode(rest).decode()
    return headers


def attributes_of(headers: Mapping[str, str] | None) -> dict[str, MessageAttribute]:
    """Of a message from whomever. What SQS cannot say is left out, and what is not what it says it is, is a String."""
    if not headers:
        return {}
    types = _types_in(headers.get(TYPES, ""))
    named = [(name, types.get(name, _PLAIN), text) for name, text in headers.items() if not _is_taken(name)]
    named += [(name, data_type, text) for name, (data_type, text) in _rest_in(headers.get(REST, "")).items()]
    found: dict[str, MessageAttribute] = {}
    for name, data_type, text in named:
        attribute = _sayable(name, _attribute(data_type, text)) or _sayable(name, _attribute(_PLAIN, text))
        if attribute is not None:
            found[name] = attribute
    return found


def _fits(name: str, data_type: str, text: str) -> bool:
    return (
        not _is_taken(name)
        and len(name) <= HEADER_NAME_BYTES_MAX
        and len(data_type) <= TYPE_BYTES_MAX
        and len(text.encode()) <= HEADER_VALUE_BYTES_MAX
    )


def _is_taken(name: str) -> bool:
    """Such a header is no attribute."""
    return name in _NEVER or name.startswith((PREFIX, "acklog-"))


def _text_of(attribute: MessageAttribute) -> str:
    if attribute.binary_value is not None:
        return base64.b64encode(attribute.binary_value).decode()
    return attribute.string_value or ""


def _attribute(data_type: str, text: str) -> MessageAttribute | None:
    attribute = MessageAttribute(data_type=data_type, string_value=text)
    if not attribute.is_binary:
        return attribute
    try:
        return MessageAttribute(data_type=data_type, binary_value=base64.b64decode(text.encode("ascii"), validate=True))
    except (binascii.Error, UnicodeEncodeError):
        return None


def _sayable(name: str, attribute: MessageAttribute | None) -> MessageAttribute | None:
    if attribute is None:
        return None
    try:
        check_name(name)
        check_value(name, attribute)
    except SqsError:
        return None
    return attribute


def _types_in(text: str) -> dict[str, str]:
    try:
        return _decode_types(text) if text else {}
    except (msgspec.DecodeError, RecursionError):
        return {}


def _rest_in(text: str) -> dict[str, tuple[str, str]]:
    try:
        return _decode_rest(text) if text else {}
    except (msgspec.DecodeError, RecursionError):
        return {}
