"""An encrypted body, with all that is needed to decrypt it beside the user's key. It is one body of bytes: it goes
wherever bodies go, and no header of it can be lost.

    size field
    1    version of this layout, 1: AES-256-GCM
    1    length of the topic's name
         the topic that it was sent to, UTF-8
    1    length of the key id
         id of the user's key that has wrapped the data key, UTF-8
    2    length of the wrapped data key, big-endian
         the wrapped data key
    12   nonce, random
         ciphertext, and a tag of 16 bytes

What is encrypted is the content: the length of its content type in a byte (0: it is JSON), the content type, the body.

All in front of the nonce is bound to it, and so is the message's key: a byte 0 for none, or a byte 1 and the key. It
stands behind them, so that two of these are never the same bytes of two messages.
"""

import struct
from dataclasses import dataclass

from acklog.body_encryption.aes_gcm import NONCE_BYTES, TAG_BYTES

ENCRYPTED_TYPE = "application/vnd.acklog.encrypted"
"""The content type by which such a body is known."""
VERSION = 1
KEY_ID_BYTES_MAX = 128
WRAPPED_BYTES_MAX = 2_048
_NO_KEY, _KEY = b"\0", b"\1"


@dataclass(frozen=True, slots=True)
class BodyEnvelope:
    """`head` is all in front of the nonce."""

    head: bytes
    topic: str
    key_id: str
    wrapped: bytes
    nonce: bytes
    ciphertext: bytes


def head_of(topic: str, key_id: str, wrapped: bytes) -> bytes:
    """Raises ValueError for what is too long to be said."""
    name, identity = topic.encode(), key_id.encode()
    for what, length, length_max in (
        ("the name of the topic", len(name), 255),
        ("the id of the key", len(identity), KEY_ID_BYTES_MAX),
        ("the wrapped data key", len(wrapped), WRAPPED_BYTES_MAX),
    ):
        if not 1 <= length <= length_max:
            raise ValueError(f"{what} has {length} bytes, it must have 1 to {length_max}")
    lengths = struct.pack(">H", len(wrapped))
    return bytes((VERSION, len(name))) + name + bytes((len(identity),)) + identity + lengths + wrapped


def parse(body: bytes) -> BodyEnvelope:
    """Raises ValueError."""
    if body[:1] != bytes((VERSION,)):
        raise ValueError("it is in a layout that this version does not know")
    topic, at = _short_text(body, 1)
    key_id, at = _short_text(body, at)
    wrapped_at = at + 2
    length = int.from_bytes(body[at:wrapped_at], "big")
    nonce_at = wrapped_at + length
    content_at = nonce_at + NONCE_BYTES
    if not 1 <= length <= WRAPPED_BYTES_MAX or len(key_id.encode()) > KEY_ID_BYTES_MAX:
        raise ValueError("its lengths cannot be right")
    if len(body) < content_at + TAG_BYTES + 1:
        raise ValueError("it is cut")
    return BodyEnvelope(
        body[:nonce_at], topic, key_id, body[wrapped_at:nonce_at], body[nonce_at:content_at], body[content_at:]
    )


def bound(head: bytes, message_key: str | None) -> bytes:
    """What is authenticated beside the content. Raises ValueError for a key that is no text."""
    return head + (_NO_KEY if message_key is None else _KEY + message_key.encode())


def pack_content(body: bytes, content_type: str | None) -> bytes:
    name = b"" if content_type is None else content_type.encode()
    return bytes((len(name),)) + name + body


def unpack_content(content: bytes) -> tuple[bytes, str | None]:
    """The body, and its content type; None: it is JSON. Raises ValueError."""
    if len(content) < 1 + content[0]:
        raise ValueError("its content is cut")
    at = 1 + content[0]
    return content[at:], content[1:at].decode() if at > 1 else None


def _short_text(body: bytes, at: int) -> tuple[str, int]:
    begin = at + 1
    length = body[at] if at < len(body) else 0
    end = begin + length
    if length == 0 or end > len(body):
        raise ValueError("it is cut")
    return body[begin:end].decode(), end
