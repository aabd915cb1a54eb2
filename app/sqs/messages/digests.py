"""The MD5s by which clients of SQS check that a message came as it was sent."""

from collections.abc import Mapping
from hashlib import md5

from app.sqs.messages.message_attribute import MessageAttribute

_TEXT_FOLLOWS = b"\x01"
_BYTES_FOLLOW = b"\x02"


def body_md5(body: str) -> str:
    return md5(body.encode(), usedforsecurity=False).hexdigest()


def attributes_md5(attributes: Mapping[str, MessageAttribute]) -> str | None:
    """None where there are none. By name: the name, the type, which kind of value, and the value, each with its length
    in front of it."""
    if not attributes:
        return None
    digest = md5(usedforsecurity=False)
    for name in sorted(attributes):
        attribute = attributes[name]
        digest.update(_with_length(name.encode()))
        digest.update(_with_length(attribute.data_type.encode()))
        if attribute.binary_value is None:
            digest.update(_TEXT_FOLLOWS + _with_length((attribute.string_value or "").encode()))
        else:
            digest.update(_BYTES_FOLLOW + _with_length(attribute.binary_value))
    return digest.hexdigest()


def _with_length(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data
