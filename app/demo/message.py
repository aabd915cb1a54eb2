"""One line of the input as a message: what is sent, and the digest by which it is known again."""

from dataclasses import dataclass
from hashlib import blake2b

import msgspec

DIGEST_BYTES = 8


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    body: msgspec.Raw
    key: str | None = None
    tags: list[str] | None = None


@dataclass(frozen=True, slots=True)
class DemoMessage:
    """`index` is its place in what is sent. `body` is JSON that travels as it stands in the input, byte by byte."""

    index: int
    body: msgspec.Raw
    key: str | None
    tags: list[str]
    digest: int


_decode_line = msgspec.json.Decoder(_Line).decode


def check_line(line: bytes) -> None:
    """Raises msgspec.DecodeError for a line that is not a message."""
    _decode_line(line)


def parse_line(index: int, line: bytes, *, lap: int = 1) -> DemoMessage:
    """The message of a line. From the second lap through the input on a tag tells the lap, so that no two messages are
    alike. Raises msgspec.DecodeError for a line that is not a message."""
    fields = _decode_line(line)
    tags = list(fields.tags or [])
    if lap > 1:
        tags.append(f"lap-{lap}")
    return DemoMessage(index, fields.body, fields.key, tags, digest_of(fields.key, tags, bytes(fields.body)))


def digest_of(key: str | None, tags: list[str] | None, body: bytes) -> int:
    """63 bits over everything that must come out as it went in: the body's bytes as they stand in the JSON."""
    head = f"{key!r}|{tags or []!r}|".encode()
    return int.from_bytes(blake2b(head + body, digest_size=DIGEST_BYTES).digest(), "big") >> 1
