"""One message: its fields as they come in (`MessageFields`), checked and turned into what is to be stored."""

import base64
import binascii
import re

import msgspec
from msgspec import UNSET, Raw, UnsetType

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.calls.send import Outgoing, Sendable
from app.http.parsing.json_text import is_too_deep, too_deep
from cluster.errors import ServerError

OCTETS = "application/octet-stream"
_CONTENT_TYPE = re.compile(rf"[\x20-\x7e]{{1,{limits.CONTENT_TYPE_BYTES_MAX}}}")
_BODY_BYTES_MAX = limits.MESSAGE_BODY_BYTES_MAX
KEY_SURELY_FITS = limits.KEY_BYTES_MAX // 4  # a character has at most 4 bytes in UTF-8
SURELY_SHALLOW_BYTES = 2 * limits.JSON_DEPTH_MAX  # each level takes two brackets
_NULL = b"null"


class MessageFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """The fields of a message in JSON. `null` means the same as leaving a field out, except for `body`."""

    body: Raw | UnsetType = UNSET
    key: str | None = None
    body_base64: str | None = None
    partition: int | None = None
    headers: dict[str, str] | None = None
    tags: list[str] | None = None
    timestamp: int | None = None
    content_type: str | None = None
    dedup_id: str | None = None
    delay_seconds: Raw | UnsetType = UNSET
    deliver_at: Raw | UnsetType = UNSET


def message_of(fields: MessageFields, prefix: str = "") -> Sendable:
    """The message, checked. `prefix` is where in the request it stands ("messages[3]."). Raises ServerError."""
    raw = fields.body
    if (
        raw is UNSET
        or fields.body_base64 is not None
        or fields.headers is not None
        or fields.tags is not None
        or fields.timestamp is not None
        or fields.content_type is not None
        or fields.partition is not None
        or fields.dedup_id is not None
        or fields.delay_seconds is not UNSET
        or fields.deliver_at is not UNSET
    ):
        return _with_every_field(fields, prefix)
    body = bytes(raw)
    if len(body) > _BODY_BYTES_MAX:
        raise _too_large(prefix)
    if len(body) > SURELY_SHALLOW_BYTES and is_too_deep(body):
        raise too_deep(prefix + "body")
    key = fields.key
    if key is not None and len(key) > KEY_SURELY_FITS:
        _check_key(key, prefix)
    return body, key


def outgoing_bytes(
    body: bytes,
    content_type: str,
    *,
    key: str | None,
    partition: int | None,
    tags: list[str] | None,
    timestamp: int | None,
    dedup_id: str | None,
) -> Outgoing:
    """A message whose body is a raw request body. Raises ServerError."""
    if len(body) > _BODY_BYTES_MAX:
        raise _too_large("")
    fields = MessageFields(key=key, tags=tags, timestamp=timestamp, content_type=content_type, dedup_id=dedup_id)
    _check_rest(fields, "")
    record = Record(body, key, None, tags or None, timestamp, content_type)
    return Outgoing(record, partition, dedup_id)


def _with_every_field(fields: MessageFields, prefix: str) -> Outgoing:
    for name, value in (("delaySeconds", fields.delay_seconds), ("deliverAt", fields.deliver_at)):
        if value is not UNSET and bytes(value) != _NULL:
            raise ServerError(ProblemCode.UNSUPPORTED, f"{name} is not supported yet", field=prefix + name)
    content_type: str | None = None
    if fields.body_base64 is not None:
        if fields.body is not UNSET:
            detail = "give either body or bodyBase64"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field=prefix + "bodyBase64")
        body = _from_base64(fields.body_base64, prefix)
        content_type = OCTETS if fields.content_type is None else fields.content_type
    elif fields.body is UNSET:
        raise ServerError(ProblemCode.MISSING_FIELD, "body or bodyBase64 is required", field=prefix + "body")
    elif fields.content_type is not None:
        detail = "goes with bodyBase64; a body is JSON"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field=prefix + "contentType")
    else:
        body = bytes(fields.body)
    if len(body) > _BODY_BYTES_MAX:
        raise _too_large(prefix)
    if content_type is None and is_too_deep(body):
        raise too_deep(prefix + "body")
    _check_rest(fields, prefix)
    headers = fields.headers or None
    record = Record(body, fields.key, headers, fields.tags or None, fields.timestamp, content_type)
    return Outgoing(record, fields.partition, fields.dedup_id)


def _check_rest(fields: MessageFields, prefix: str) -> None:
    if fields.key is not None:
        _check_key(fields.key, prefix)
    if fields.partition is not None and not 0 <= fields.partition < limits.PARTITIONS_MAX:
        raise _invalid(prefix + "partition", f"must be 0 to {limits.PARTITIONS_MAX - 1}")
    if fields.timestamp is not None and not 0 <= fields.timestamp <= limits.TIMESTAMP_MS_MAX:
        raise _invalid(prefix + "timestamp", f"must be milliseconds since 1970, 0 to {limits.TIMESTAMP_MS_MAX}")
    if fields.content_type is not None and not _CONTENT_TYPE.fullmatch(fields.content_type):
        detail = f"must be 1 to {limits.CONTENT_TYPE_BYTES_MAX} printable ASCII characters"
        raise _invalid(prefix + "contentType", detail)
    if fields.dedup_id is not None:
        check_dedup_key(fields.dedup_id, prefix + "dedupId", bytes_max=limits.DEDUP_KEY_BYTES_MAX)
    if fields.headers:
        _check_headers(fields.headers, prefix)
    if fields.tags:
        _check_tags(fields.tags, prefix)


def check_dedup_key(key: str, field: str, *, bytes_max: int) -> None:
    """Raises ServerError INVALID_FIELD. Control characters are kept for keys that the gateway composes."""
    if not 1 <= len(key.encode()) <= bytes_max or not key.isprintable():
        raise _invalid(field, f"must be 1 to {bytes_max} bytes of printable characters")


def _check_key(key: str, prefix: str) -> None:
    if len(key.encode()) > limits.KEY_BYTES_MAX:
        raise _invalid(prefix + "key", f"has more than {limits.KEY_BYTES_MAX} bytes")


def _check_headers(headers: dict[str, str], prefix: str) -> None:
    if len(headers) > limits.HEADERS_MAX:
        raise _invalid(prefix + "headers", f"has more than {limits.HEADERS_MAX} entries")
    for name, value in headers.items():
        if not 1 <= len(name.encode()) <= limits.HEADER_NAME_BYTES_MAX:
            raise _invalid(prefix + "headers", f"a name must have 1 to {limits.HEADER_NAME_BYTES_MAX} bytes")
        if len(value.encode()) > limits.HEADER_VALUE_BYTES_MAX:
            detail = f"the value of {name!r} has more than {limits.HEADER_VALUE_BYTES_MAX} bytes"
            raise _invalid(prefix + "headers", detail)


def _check_tags(tags: list[str], prefix: str) -> None:
    if len(tags) > limits.TAGS_MAX:
        raise _invalid(prefix + "tags", f"has more than {limits.TAGS_MAX} entries")
    for number, tag in enumerate(tags):
        if not 1 <= len(tag.encode()) <= limits.TAG_BYTES_MAX:
            raise _invalid(f"{prefix}tags[{number}]", f"must have 1 to {limits.TAG_BYTES_MAX} bytes")


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
