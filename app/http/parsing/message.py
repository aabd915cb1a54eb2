"""One message: its properties as they come in, checked and turned into what is to be stored."""

import base64
import binascii
from typing import Any

from msgspec import UNSET

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.calls.send import Outgoing, Sendable
from app.http.parsing.delivery_time import schedule_of, ttl_ms_of
from app.http.parsing.json_text import is_too_deep, too_deep
from app.http.parsing.message_properties import BESIDE_RAW, PROPERTIES, MessageFields
from app.http.parsing.query import Arguments
from cluster.errors import ServerError

OCTETS = "application/octet-stream"
_BODY_BYTES_MAX = limits.MESSAGE_BODY_BYTES_MAX
KEY_SURELY_FITS = limits.KEY_BYTES_MAX // 4  # a character has at most 4 bytes in UTF-8
SURELY_SHALLOW_BYTES = 2 * limits.JSON_DEPTH_MAX  # each level takes two brackets


_DECLARED = {each.name: each.property for each in PROPERTIES}


def message_of(fields: MessageFields, prefix: str = "") -> Sendable:
    """The message, checked. `prefix` is where in the request it stands ("messages[3]."). Raises ServerError."""
    raw = fields.body
    # Written out, here and in `_check`: to go through the declarations would cost as much as all the rest. A test
    # demands that none is forgotten.
    if (
        raw is UNSET
        or fields.body_base64 is not None
        or fields.headers is not None
        or fields.tags is not None
        or fields.timestamp is not None
        or fields.content_type is not None
        or fields.partition is not None
        or fields.dedup_id is not None
        or fields.delay_seconds is not None
        or fields.deliver_at is not None
        or fields.ttl_seconds is not None
    ):
        return _with_every_property(fields, prefix)
    body = bytes(raw)
    if len(body) > _BODY_BYTES_MAX:
        raise _too_large(prefix)
    if len(body) > SURELY_SHALLOW_BYTES and is_too_deep(body):
        raise too_deep(prefix + "body")
    key = fields.key
    if key is not None and len(key) > KEY_SURELY_FITS:
        _check(fields, prefix)
    return body, key


def raw_message(body: bytes, content_type: str, arguments: Arguments) -> Outgoing:
    """A message whose body is a request's, with its properties in the query. Raises ServerError."""
    if len(body) > _BODY_BYTES_MAX:
        raise _too_large("")
    fields = MessageFields(content_type=content_type)
    for attribute, name, each in BESIDE_RAW:
        if name in arguments:
            setattr(fields, attribute, arguments.texts(name) if each.items_max else arguments.value(name))
    _check(fields, "")
    return _outgoing(fields, body, content_type, "")


def _with_every_property(fields: MessageFields, prefix: str) -> Outgoing:
    content_type: str | None = None
    if fields.body_base64 is not None:
        if fields.body is not UNSET:
            raise _invalid(prefix + "bodyBase64", "give either body or bodyBase64")
        body = _from_base64(fields.body_base64, prefix)
        content_type = OCTETS if fields.content_type is None else fields.content_type
    elif fields.body is UNSET:
        raise ServerError(ProblemCode.MISSING_FIELD, "body or bodyBase64 is required", field=prefix + "body")
    elif fields.content_type is not None:
        raise _invalid(prefix + "contentType", "goes with bodyBase64; a body is JSON")
    else:
        body = bytes(fields.body)
    if len(body) > _BODY_BYTES_MAX:
        raise _too_large(prefix)
    if content_type is None and is_too_deep(body):
        raise too_deep(prefix + "body")
    _check(fields, prefix)
    return _outgoing(fields, body, content_type, prefix)


def _outgoing(fields: MessageFields, body: bytes, content_type: str | None, prefix: str) -> Outgoing:
    record = Record(body, fields.key, fields.headers or None, fields.tags or None, fields.timestamp, content_type)
    if fields.delay_seconds is not None or fields.deliver_at is not None:
        record.schedule = schedule_of(fields.delay_seconds, fields.deliver_at, prefix)
    if fields.ttl_seconds is not None:
        record.ttl_ms = ttl_ms_of(fields.ttl_seconds)
    return Outgoing(record, fields.partition, fields.dedup_id, is_at_once=fields.delay_seconds == 0)


def _check(fields: MessageFields, prefix: str) -> None:
    if fields.key is not None and len(fields.key) > KEY_SURELY_FITS:
        _judge("key", fields.key, prefix)
    if fields.partition is not None:
        _judge("partition", fields.partition, prefix)
    if fields.timestamp is not None:
        _judge("timestamp", fields.timestamp, prefix)
    if fields.content_type is not None:
        _judge("contentType", fields.content_type, prefix)
    if fields.dedup_id is not None:
        _judge("dedupId", fields.dedup_id, prefix)
    if fields.delay_seconds is not None:
        _judge("delaySeconds", fields.delay_seconds, prefix)
    if fields.deliver_at is not None:
        _judge("deliverAt", fields.deliver_at, prefix)
    if fields.ttl_seconds is not None:
        _judge("ttlSeconds", fields.ttl_seconds, prefix)
    if fields.headers:
        _judge("headers", fields.headers, prefix)
    if fields.tags:
        _judge("tags", fields.tags, prefix)


def _judge(name: str, value: Any, prefix: str) -> None:
    """By what is declared to be wrong."""
    declared = _DECLARED[name]
    assert declared.fault is not None
    fault = declared.fault(value)
    if fault is not None:
        raise _invalid(prefix + name, fault)
    if declared.item_fault is not None:
        for number, item in enumerate(value):
            fault = declared.item_fault(item)
            if fault is not None:
                raise _invalid(f"{prefix}{name}[{number}]", fault)


def _from_base64(text: str, prefix: str) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise _invalid(prefix + "bodyBase64", "is not base64 (RFC 4648, section 4)") from None


def _invalid(field: str, detail: str) -> ServerError:
    return ServerError(ProblemCode.INVALID_FIELD, detail, field=field)


def _too_large(prefix: str) -> ServerError:
    detail = f"the body has more than {_BODY_BYTES_MAX} bytes"
    return ServerError(ProblemCode.MESSAGE_TOO_LARGE, detail, field=prefix + "body")
