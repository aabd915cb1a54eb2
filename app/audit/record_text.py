"""Records as they are stored, and back."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from app.audit.audit_record import AuditRecord

IsToken = Callable[[str], bool]
"""Whether a text is a token of the tokens file, of which nothing but digests is known."""

CUT = "(a token)"
TOKEN_LENGTH_MIN = 16
"""Of a token of the file; so no word of the record itself is taken for one."""

_STORED = re.compile(rb"(ak_[0-9a-z]{13})_[0-9a-z]+", re.IGNORECASE)
"""A stored token as a client shows it, whole or not. One may stand where a name should be, by mistake."""
_SIGNED = re.compile(rb"eyJ[\w-]{8,}\.eyJ[\w-]+(?:\.[\w-]*)?", re.ASCII)
"""A JWT, likewise: two JSON objects in base64url, and a signature."""
_BETWEEN = re.compile(r"[\s/\"]+")

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AuditRecord)


def encode_record(record: AuditRecord, is_token: IsToken) -> bytes:
    """Without tokens, wherever a client put them."""
    document = msgspec.to_builtins(record)
    tokens = {part for text in _texts(document) for part in _parts(text) if is_token(part)}
    text = _encoder.encode(_without(document, sorted(tokens, key=len, reverse=True)) if tokens else document)
    return _SIGNED.sub(CUT.encode(), _STORED.sub(rb"\1_...", text))


def decode_record(text: bytes) -> AuditRecord | None:
    """None for what a newer version wrote and this one does not understand."""
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, ValueError):
        return None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _parts(text: str) -> set[str]:
    """Of a name in a namespace, of a header, of JSON text that was cut: each of them, and the whole."""
    return {part for part in (text, *_BETWEEN.split(text)) if len(part) >= TOKEN_LENGTH_MIN}


def _without(value: Any, tokens: list[str]) -> Any:
    if isinstance(value, str):
        for token in tokens:
            value = value.replace(token, CUT)
        return value
    if isinstance(value, dict):
        return {_without(name, tokens): _without(each, tokens) for name, each in value.items()}
    return [_without(each, tokens) for each in value] if isinstance(value, list) else value
