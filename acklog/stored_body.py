"""The body of a message as an answer has it, wherever messages are answered."""

from typing import Any, Protocol

from msgspec import Raw, UnsetType

from acklog.errors import AcklogError

_UNREADABLE = "unreadable"


class StoredBody(Protocol):
    """JSON, or base64 of bytes of a content type."""

    key: str | None
    json_body: Raw | UnsetType
    base64_body: str | None
    content_type: str | None


def keep_unreadable(message: StoredBody, error: AcklogError) -> None:
    """Have `error` raised whenever the message's body is read."""
    message.__dict__[_UNREADABLE] = error


def refuse_unreadable(kept: dict[str, Any]) -> None:
    """`kept` is what a message has beside its fields. Raises why its body cannot be read, if so."""
    error: AcklogError | None = kept.get(_UNREADABLE)
    if error is not None:
        raise error
