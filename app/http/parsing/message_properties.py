"""The properties of a message, each declared once: its name and type in JSON, its limits, what may be wrong with it
and how it stands in the query beside a raw body. What a property means is for `app.http.parsing.message`."""

import re
from typing import Annotated

import msgspec
from msgspec import UNSET, Raw, UnsetType

from acklog.wire import limits
from app.http.parsing import query
from app.http.parsing.delivery_time import WRONG_TIME, delay_fault, delivery_time_fault, time_ms_of, ttl_fault
from app.http.parsing.json_schema import TIME, Schema, or_null, reference
from app.http.parsing.properties import Property, beside_raw, declared_in, text, whole_number
from app.http.parsing.query import Parameter

_CONTENT_TYPE = re.compile(rf"[\x20-\x7e]{{1,{limits.CONTENT_TYPE_BYTES_MAX}}}")


# --- what may be wrong with a property -----------------------------------------------------------------------------


def _key_fault(key: str) -> str | None:
    return f"has more than {limits.KEY_BYTES_MAX} bytes" if len(key.encode()) > limits.KEY_BYTES_MAX else None


def _content_type_fault(content_type: str) -> str | None:
    if _CONTENT_TYPE.fullmatch(content_type):
        return None
    return f"must be 1 to {limits.CONTENT_TYPE_BYTES_MAX} printable ASCII characters"


def _headers_fault(headers: dict[str, str]) -> str | None:
    if len(headers) > limits.HEADERS_MAX:
        return too_many_items(limits.HEADERS_MAX)
    for name, value in headers.items():
        if not 1 <= len(name.encode()) <= limits.HEADER_NAME_BYTES_MAX:
            return f"a name must have 1 to {limits.HEADER_NAME_BYTES_MAX} bytes"
        if len(value.encode()) > limits.HEADER_VALUE_BYTES_MAX:
            return f"the value of {name!r} has more than {limits.HEADER_VALUE_BYTES_MAX} bytes"
    return None


def _tags_fault(tags: list[str]) -> str | None:
    return too_many_items(limits.TAGS_MAX) if len(tags) > limits.TAGS_MAX else None


def _tag_fault(tag: str) -> str | None:
    return None if 1 <= len(tag.encode()) <= limits.TAG_BYTES_MAX else f"must have 1 to {limits.TAG_BYTES_MAX} bytes"


def dedup_key_fault(key: str, bytes_max: int = limits.DEDUP_KEY_BYTES_MAX) -> str | None:
    """Control characters are kept for keys that the gateway composes."""
    if 1 <= len(key.encode()) <= bytes_max and key.isprintable():
        return None
    return f"must be 1 to {bytes_max} bytes of printable characters"


def too_many_items(items_max: int) -> str:
    return f"has more than {items_max} entries"


def _delivery_time(text: str) -> int:
    time_ms = time_ms_of(text)
    if time_ms is None:
        raise ValueError(WRONG_TIME)
    return time_ms


# --- the properties ------------------------------------------------------------------------------------------------

HEADERS: Schema = {
    "type": "object",
    "additionalProperties": {"type": "string", "maxLength": limits.HEADER_VALUE_BYTES_MAX},
    "maxProperties": limits.HEADERS_MAX,
}
"""Has a name of its own in openapi.yaml."""

_TAG: Schema = {"type": "string", "minLength": 1, "maxLength": limits.TAG_BYTES_MAX}

_BODY = Property(
    schema={
        "description": f"any JSON value, at most {limits.MESSAGE_BODY_BYTES_MAX} bytes; kept byte for byte, "
        "numbers of any size included"
    },
)
_BODY_BASE64 = Property(
    schema={"type": "string", "contentEncoding": "base64", "description": "in the place of body: bytes"},
)
_CONTENT_TYPE_OF_BODY = Property(
    schema={
        "type": "string",
        "minLength": 1,
        "maxLength": limits.CONTENT_TYPE_BYTES_MAX,
        "pattern": "^[\\x20-\\x7e]+$",
        "description": "goes with bodyBase64",
    },
    fault=_content_type_fault,
)
_KEY = text(
    limits.KEY_BYTES_MAX,
    "the message's key, which decides its partition",
    _key_fault,
    limit=("a key", f"{limits.KEY_BYTES_MAX:,} bytes"),
)
_PARTITION = whole_number(0, limits.PARTITIONS_MAX - 1, "the partition", f"must be 0 to {limits.PARTITIONS_MAX - 1}")
_HEADERS = Property(
    schema=reference("Headers"),
    fault=_headers_fault,
    items_max=limits.HEADERS_MAX,
    strings_max=2 * limits.HEADERS_MAX,
    limit=(
        "headers of a message",
        f"{limits.HEADERS_MAX}, of {limits.HEADER_NAME_BYTES_MAX} + {limits.HEADER_VALUE_BYTES_MAX:,} bytes",
    ),
)
_TAGS = Property(
    schema=or_null({"type": "array", "items": _TAG, "maxItems": limits.TAGS_MAX}),
    parameter=lambda name: Parameter(name, str, _TAG, f"{beside_raw('a tag')}; may repeat", limits.TAGS_MAX),
    fault=_tags_fault,
    item_fault=_tag_fault,
    items_max=limits.TAGS_MAX,
    strings_max=limits.TAGS_MAX,
    limit=("tags of a message", f"{limits.TAGS_MAX}, of {limits.TAG_BYTES_MAX} bytes"),
)
_TIMESTAMP = whole_number(
    TIME["minimum"],
    TIME["maximum"],
    "the producer's time, ms since 1970",
    f"must be milliseconds since 1970, 0 to {limits.TIMESTAMP_MS_MAX}",
)
_DELAY_SECONDS = Property(
    schema=or_null(
        {
            "type": "number",
            "minimum": 0,
            "maximum": limits.DELAY_SECONDS_MAX,
            "description": "how much later than it is stored the message is to be seen, fractions included",
        }
    ),
    parameter=lambda name: query.number(
        name, 0, limits.DELAY_SECONDS_MAX, beside_raw("how much later than it is stored the message is to be seen")
    ),
    fault=delay_fault,
    limit=("a delay", "a year"),
)
_DELIVER_AT = Property(
    schema={
        "oneOf": [
            {"type": "string", "format": "date-time"},
            {"type": "integer", "minimum": 0, "maximum": limits.TIMESTAMP_MS_MAX},
            {"type": "null"},
        ],
        "description": "when it is to be seen: RFC 3339 with an offset, or ms since 1970; a year ahead at most",
    },
    parameter=lambda name: Parameter(
        name, _delivery_time, {"type": "string"}, beside_raw("when the message is to be seen"), example="1800000000000"
    ),
    fault=delivery_time_fault,
)
_TTL_SECONDS = Property(
    schema=or_null(
        {
            "type": "number",
            "minimum": limits.TTL_SECONDS_MIN,
            "maximum": limits.TTL_SECONDS_MAX,
            "description": "how long the message may be delivered from when it can be seen on, fractions included "
            "(default: as its topic's ttlMs says)",
        }
    ),
    parameter=lambda name: query.number(
        name, limits.TTL_SECONDS_MIN, limits.TTL_SECONDS_MAX, beside_raw("how long the message may be delivered")
    ),
    fault=ttl_fault,
    limit=("a time to live", "10 years"),
)
_DEDUP_ID = text(limits.DEDUP_KEY_BYTES_MAX, "the message's idempotency key", dedup_key_fault, bytes_min=1)


class MessageFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """The properties of a message. `null` means the same as leaving one out, except for `body`."""

    body: Annotated[Raw | UnsetType, _BODY] = UNSET
    body_base64: Annotated[str | None, _BODY_BASE64] = None
    content_type: Annotated[str | None, _CONTENT_TYPE_OF_BODY] = None
    key: Annotated[str | None, _KEY] = None
    partition: Annotated[int | None, _PARTITION] = None
    headers: Annotated[dict[str, str] | None, _HEADERS] = None
    tags: Annotated[list[str] | None, _TAGS] = None
    timestamp: Annotated[int | None, _TIMESTAMP] = None
    dedup_id: Annotated[str | None, _DEDUP_ID] = None
    delay_seconds: Annotated[float | None, _DELAY_SECONDS] = None
    deliver_at: Annotated[int | str | None, _DELIVER_AT] = None
    ttl_seconds: Annotated[float | None, _TTL_SECONDS] = None


PROPERTIES = declared_in(MessageFields)
BESIDE_RAW = [each for each in PROPERTIES if each.property.parameter is not None]
"""Those that may stand in the query, beside a raw body."""
