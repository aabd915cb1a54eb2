"""One line of the input as a message: what goes over the wire, and the digest by which it is known again."""

from dataclasses import dataclass
from hashlib import blake2b

import msgspec

DIGEST_BYTES = 8


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    body: msgspec.Raw
    key: str | None = None
    tags: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """`index` is its place in the input; `line` is sent exactly as it stands there."""

    index: int
    line: bytes
    key: str | None
    digest: int


_decode_line = msgspec.json.Decoder(_Line).decode


def parse_line(index: int, line: bytes) -> Message:
    """Raises msgspec.DecodeError for a line that is not a message."""
    fields = _decode_line(line)
    return Message(index, line, fields.key, digest_of(fields.key, fields.tags, bytes(fields.body)))


def digest_of(key: str | None, tags: list[str] | None, body: bytes) -> int:
    """63 bits over everything that must come out as it went in: the body's bytes as they stand in the JSON."""
    head = f"{key!r}|{tags or []!r}|".encode()
    return int.from_bytes(blake2b(head + body, digest_size=DIGEST_BYTES).digest(), "big") >> 1
