"""How deep JSON is nested, told without parsing it."""

import json

import msgspec

from app.http.parsing.json_text import is_too_deep, without_strings
from tests.fuzz.fuzz_target import FuzzTarget

_NAIVE_DEPTH_MAX = 200
"""The naive way calls itself for each level."""
_SEEDS = (
    b'\x03{"a":[[1,2],{"b":"}{\\"[["}]}',
    b"\x00[]",
    b"\x40" + b"[" * 65 + b"]" * 65,
    b"\x40" + b'{"a":' * 64 + b"1" + b"}" * 64,
    b'\x02["\\\\","[[[["]',
    b"\x02[" + b",".join([b"[]"] * 50) + b"]",
)


class NotJsonError(ValueError):
    """The depth is told of valid JSON only."""


def _read(data: bytes) -> None:
    limit, text = data[0] if data else 0, data[1:]
    try:
        msgspec.json.Decoder(msgspec.Raw).decode(text)
        text.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotJsonError from None
    is_deep = is_too_deep(text, limit=limit)
    assert without_strings(text).count(b'"') == 0
    if limit > _NAIVE_DEPTH_MAX:
        return
    try:
        assert is_deep == (_depth(json.loads(text)) > limit)
    except (RecursionError, ValueError):  # it cannot tell, as with numbers of thousands of digits
        return


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


TARGET = FuzzTarget(_read, (NotJsonError,), lambda: _SEEDS)
