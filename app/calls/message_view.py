"""A stored message as a client sees it. Bodies are embedded as the bytes that they came in as."""

import base64

import msgspec
from msgspec import UNSET, Raw, UnsetType

from acklog.wire.record import Record

_encode = msgspec.json.Encoder().encode


class MessageView(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, gc=False):
    """Fields without a value are left out. Times are in milliseconds since 1970."""

    message_id: str
    receipt: str | UnsetType = UNSET
    queue: str
    partition: int
    offset: int
    attempt: int | UnsetType = UNSET
    key: str | UnsetType = UNSET
    body: Raw | UnsetType = UNSET
    body_base64: str | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET
    timestamp: int
    append_time: int
    expires_at: int | UnsetType = UNSET


def view_of(
    record: Record,
    *,
    message_id: str,
    queue: str,
    partition: int,
    offset: int,
    append_time_ms: int,
    topic_ttl_ms: int | None,
) -> MessageView:
    """The record as a client sees it; `receipt` and `attempt` are for the caller to add."""
    timestamp = record.timestamp_ms
    view = MessageView(
        message_id=message_id,
        queue=queue,
        partition=partition,
        offset=offset,
        timestamp=append_time_ms if timestamp is None else timestamp,
        append_time=append_time_ms,
    )
    show_record(view, record, topic_ttl_ms)
    return view


def show_record(view: MessageView, record: Record, topic_ttl_ms: int | None) -> None:
    """What the producer said, and until when the message lives."""
    if record.key is not None:
        view.key = record.key
    if record.content_type is None:
        view.body = Raw(record.body)
    else:
        view.body_base64 = base64.b64encode(record.body).decode("ascii")
        view.content_type = record.content_type
    if record.headers:
        view.headers = record.headers
    if record.tags:
        view.tags = record.tags
    ttl_ms = topic_ttl_ms if record.ttl_ms is None else record.ttl_ms
    if ttl_ms is not None:
        view.expires_at = view.append_time + ttl_ms


def encode_line(view: MessageView) -> bytes:
    """One line of NDJSON. Valid JSON has line breaks between tokens only, so a space can stand for each."""
    line = _encode(view)
    if b"\n" in line or b"\r" in line:
        line = line.replace(b"\n", b" ").replace(b"\r", b" ")
    return line + b"\n"
