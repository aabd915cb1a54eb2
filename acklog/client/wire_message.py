"""A message as the API takes it."""

from base64 import b64encode
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from acklog.client.delivery_time import wire_time
from acklog.errors import InvalidArgument
from acklog.messages import OutgoingMessage


class WireMessage(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """A message as the API takes it."""

    body: Any = UNSET
    key: str | None = None
    body_base64: str | UnsetType = UNSET
    partition: int | None = None
    headers: dict[str, str] | None = None
    tags: list[str] | None = None
    timestamp: int | None = None
    content_type: str | None = None
    dedup_id: str | None = None
    delay_seconds: float | None = None
    deliver_at: int | str | None = None
    ttl_seconds: float | None = None


def wire_message(message: OutgoingMessage) -> WireMessage:
    """Bytes travel as base64, everything else as JSON. Raises InvalidArgument."""
    body = message.body
    is_binary = isinstance(body, bytes | bytearray | memoryview)
    if not is_binary and message.content_type is not None:
        raise InvalidArgument("content_type goes with a body of bytes; any other body is JSON", field="content_type")
    return WireMessage(
        UNSET if is_binary else body,
        message.key,
        b64encode(body).decode("ascii") if is_binary else UNSET,
        message.partition,
        message.headers,
        message.tags,
        message.timestamp_ms,
        message.content_type,
        message.dedup_id,
        message.delay_seconds,
        wire_time(message.deliver_at),
        message.ttl_seconds,
    )
