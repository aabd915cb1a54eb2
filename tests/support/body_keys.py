"""Keys for bodies that clients encrypt, and messages as a server would answer with them."""

from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import msgspec

from acklog import OutgoingMessage, StoredMessage
from acklog.client.wire_message import wire_message
from acklog.errors import UnknownKey


class CountingKeys:
    """A provider that wraps by turning bits over, and counts what it is asked."""

    def __init__(self) -> None:
        self.wrapped = 0
        self.unwrapped: list[bytes] = []
        self.failure: Exception | None = None

    def wrap(self, data_key: bytes, /) -> tuple[str, bytes]:
        self.wrapped += 1
        if self.failure is not None:
            raise self.failure
        return "k", _turned(data_key)

    def unwrap(self, key_id: str, wrapped: bytes, /) -> bytes:
        self.unwrapped.append(wrapped)
        if self.failure is not None:
            raise self.failure
        if key_id != "k":
            raise UnknownKey(f"there is no key {key_id!r}")
        return _turned(wrapped)


def _turned(key: bytes) -> bytes:
    return bytes(byte ^ 0x5A for byte in key)


def write_keyring(path: Path, **keys: bytes) -> str:
    """By id, the one for new messages first."""
    lines = [f"{key_id} {b64encode(key).decode()}\n" for key_id, key in keys.items()]
    path.write_text("".join(lines))
    return str(path)


def stored(message: OutgoingMessage, topic: str, **changes: Any) -> StoredMessage:
    """The message as it comes out of a server that it was sent to."""
    sent = msgspec.to_builtins(wire_message(message), str_keys=True)
    kept = {name: sent[name] for name in ("key", "body", "bodyBase64", "contentType") if name in sent}
    if "bodyBase64" in kept:
        kept.setdefault("contentType", "application/octet-stream")
    document = {"messageId": "m", "queue": topic, "partition": 0, "offset": 0, "timestamp": 1, "appendTime": 1}
    return msgspec.json.decode(msgspec.json.encode({**document, **kept, **changes}), type=StoredMessage)


def bytes_of(message: StoredMessage) -> bytes:
    return b64decode(message.base64_body or "")
