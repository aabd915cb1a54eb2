"""From what was typed or piped to messages to send. Nothing is sent here."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from acklog.command.delivery_time import DeliveryTime
from acklog.command.failures import UsageError, near_names
from acklog.command.input_lines import LINE_BYTES_MAX, InputLine

if TYPE_CHECKING:
    from acklog.messages import OutgoingMessage

TEXT_TYPE = "text/plain; charset=utf-8"
BYTES_TYPE = "application/octet-stream"
_DEDUP_SEPARATOR = "-"
# What the server says about a message. In an envelope they are left out, so that what `acklog tail --json` prints can
# be sent again; so is the partition that comes with them.
_SERVER_FIELDS = frozenset({"messageId", "receipt", "queue", "offset", "attempt", "appendTime", "expiresAt", "groups"})
_ENVELOPE_FIELDS = (
    "body", "bodyBase64", "key", "headers", "tags", "timestamp", "partition", "dedupId", "contentType",
    "delaySeconds", "deliverAt", "ttlSeconds",
)  # fmt: skip


class _Envelope(msgspec.Struct, rename="camel"):
    """A whole message on a line, as the API takes it."""

    body: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    body_base64: str | None = None
    key: str | None = None
    headers: dict[str, str] | None = None
    tags: list[str] | None = None
    timestamp: int | None = None
    partition: int | None = None
    dedup_id: str | None = None
    content_type: str | None = None
    delay_seconds: float | None = None
    deliver_at: int | str | None = None
    ttl_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class MessageForm:
    """What goes with every message, and how its content is read: as JSON, as text, or as an envelope."""

    key: str | None = None
    key_field: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    partition: int | None = None
    dedup_id: str | None = None
    time: DeliveryTime = field(default_factory=DeliveryTime)
    is_text: bool = False
    is_envelope: bool = False

    def of_argument(self, text: str) -> "OutgoingMessage":
        """The message whose body is an argument. Raises UsageError."""
        return self._message(text.encode(), field="BODY", dedup_id=self.dedup_id)

    def of_bytes(self, content: bytes, content_type: str) -> "OutgoingMessage":
        """The message whose body is a file."""
        return self._outgoing(content, content_type=content_type, dedup_id=self.dedup_id)

    def of_line(self, line: InputLine) -> "OutgoingMessage":
        """The message of a line. Each has a dedup id of its own, made of the one that was given. Raises UsageError."""
        if line.is_too_long:
            raise UsageError(f"the line has more than {LINE_BYTES_MAX} bytes")
        dedup_id = None if self.dedup_id is None else f"{self.dedup_id}{_DEDUP_SEPARATOR}{line.number}"
        return self._message(line.content, field="", dedup_id=dedup_id)

    def _message(self, content: bytes, *, field: str, dedup_id: str | None) -> "OutgoingMessage":
        if self.is_envelope:
            return self._enveloped(content, field=field, dedup_id=dedup_id)
        if self.is_text:
            return self._outgoing(content, content_type=TEXT_TYPE, dedup_id=dedup_id)
        body = _json(content, field=field)
        key = self._key_of(body) if self.key_field else self.key
        return self._outgoing(msgspec.Raw(content.strip()), key=key, dedup_id=dedup_id)

    def _outgoing(
        self, body: object, *, dedup_id: str | None, key: str | None = None, content_type: str | None = None
    ) -> "OutgoingMessage":
        from acklog.messages import OutgoingMessage

        return OutgoingMessage(
            body,
            key=self.key if key is None else key,
            headers=dict(self.headers) or None,
            tags=list(self.tags) or None,
            partition=self.partition,
            dedup_id=dedup_id,
            content_type=content_type,
            delay_seconds=self.time.delay_seconds,
            deliver_at=self.time.deliver_at_ms,
            ttl_seconds=self.time.ttl_seconds,
        )

    def _enveloped(self, content: bytes, *, field: str, dedup_id: str | None) -> "OutgoingMessage":
        from acklog.messages import OutgoingMessage

        document = _json(content, field=field)
        if not isinstance(document, dict):
            raise UsageError(
                "an envelope is a JSON object", field=field, hint='Such as {"key": "k", "body": {"n": 1}}.'
            )
        for name in document:
            if name not in _ENVELOPE_FIELDS and name not in _SERVER_FIELDS:
                raise UsageError(f"an envelope has no field {name!r}", near=near_names(name, _ENVELOPE_FIELDS))
        try:
            envelope = msgspec.json.decode(content, type=_Envelope)
            body: Any = envelope.body
            if envelope.body_base64 is not None:
                body = b64decode(envelope.body_base64, validate=True)
        except ValueError as error:
            raise UsageError(str(error)) from error
        if body is msgspec.UNSET:
            raise UsageError("the envelope has neither body nor bodyBase64", field="body")
        is_copy = "offset" in document
        is_timed = envelope.delay_seconds is not None or envelope.deliver_at is not None
        return OutgoingMessage(
            body,
            key=self.key if envelope.key is None else envelope.key,
            headers={**self.headers, **(envelope.headers or {})} or None,
            tags=list(dict.fromkeys([*self.tags, *(envelope.tags or [])])) or None,
            timestamp_ms=envelope.timestamp,
            partition=self.partition if is_copy or envelope.partition is None else envelope.partition,
            dedup_id=envelope.dedup_id or dedup_id,
            content_type=envelope.content_type,
            delay_seconds=envelope.delay_seconds if is_timed else self.time.delay_seconds,
            deliver_at=envelope.deliver_at if is_timed else self.time.deliver_at_ms,
            ttl_seconds=self.time.ttl_seconds if envelope.ttl_seconds is None else envelope.ttl_seconds,
        )

    def _key_of(self, body: object) -> str:
        """The value of `--key-field`, a path with dots. Raises UsageError."""
        value = body
        for name in self.key_field.split("."):
            if not isinstance(value, dict) or name not in value:
                known = sorted(value) if isinstance(value, dict) else []
                raise UsageError(f"the body has no field {self.key_field!r}", near=near_names(name, known))
            value = value[name]
        if isinstance(value, str):
            return value
        if value is None or isinstance(value, dict | list):
            raise UsageError(f"the field {self.key_field!r} holds neither text nor a number")
        return msgspec.json.encode(value).decode()


def parse_headers(pairs: list[str]) -> dict[str, str]:
    """`NAME=VALUE` each. Raises UsageError."""
    headers = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise UsageError(f"{pair!r} is not a header", field="--header", hint="Write it as NAME=VALUE.")
        headers[name] = value
    return headers


def _json(content: bytes, *, field: str) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = "Text goes with --text, quotes and all: '\"text\"' is JSON."
        why = str(error).removeprefix("JSON is malformed: ")
        raise UsageError(f"{field or 'it'} is not JSON: {why}", field=field, hint=hint) from error
