"""JSON as it comes in: checked once, decoded into structs, its bodies kept as the bytes they are."""

import re
from collections.abc import Generator
from itertools import accumulate
from operator import sub
from typing import Any, TypeVar

import msgspec

from acklog.wire.limits import JSON_DEPTH_MAX
from acklog.wire.problems import ProblemCode
from app.http.parsing.expectation import expected_text, what_fits
from cluster.errors import ServerError

_Value = TypeVar("_Value")

SHOWN_CHARACTERS = 100  # of a client's own text in an error's detail
_CUT = "it is empty or ends too early"
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_RUN = re.compile(rb"\[+|\]+")
_LEAF_PASSES_MAX = 8
_UTF8_BYTES_PER_STEP = 1024 * 1024
DEPTH_CHANGE = [{ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}.get(byte, 0) for byte in range(256)]
"""By byte: how much deeper the text is behind it."""
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*?)`(?: - at `\$(?P<path>[^`]*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>.*?)`(?: - at `\$(?P<path>[^`]*)`)?", re.DOTALL)
_OTHER = re.compile(r"(?P<what>.*?)(?: - at `(?:key in )?\$?(?P<path>[^`]*)`)?", re.DOTALL)


def check_utf8(text: bytes) -> None:
    """Raises ServerError INVALID_JSON. (msgspec does not look at the bytes of a value that it keeps raw.)"""
    if text.isascii():
        return
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise ServerError(ProblemCode.INVALID_JSON, f"byte {error.start} is not valid UTF-8") from None


def decode(decoder: "msgspec.json.Decoder[_Value]", text: bytes | msgspec.Raw, *, prefix: str = "") -> _Value:
    """The value; raises ServerError INVALID_JSON, UNKNOWN_FIELD, MISSING_FIELD or INVALID_FIELD.

    `prefix` is where in the request the text stands: "messages[3]".
    """
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise validation_fault(error, prefix=prefix, expected=decoder.type) from None
    except msgspec.DecodeError as error:
        raise malformed(error, prefix=prefix) from None
    except RecursionError:
        raise too_deep(prefix or "body") from None


def malformed(error: Exception, *, prefix: str = "") -> ServerError:
    detail = str(error).removeprefix("JSON is malformed: ").replace("Input data was truncated", _CUT)
    return ServerError(ProblemCode.INVALID_JSON, f"not valid JSON: {detail}", field=prefix or None)


def too_deep(field: str) -> ServerError:
    return ServerError(
        ProblemCode.INVALID_FIELD, f"is nested deeper than {JSON_DEPTH_MAX} objects and arrays", field=field
    )


def validation_fault(error: msgspec.ValidationError, *, prefix: str = "", expected: Any = None) -> ServerError:
    """What msgspec found, with the field's path as a client writes it, and what would fit there where `expected`, the
    whole text's type, is given."""
    text = str(error)
    if (match := _UNKNOWN.fullmatch(text)) is not None:
        field = _path(prefix, match["path"], match["name"])
        known = what_fits(expected, match["path"] or "")
        hint = f" here; known: {', '.join(known)}" if known else ""
        return ServerError(
            ProblemCode.UNKNOWN_FIELD, f"{_shown(match['name'])} is not a known field{hint}", field=field
        )
    if (match := _MISSING.fullmatch(text)) is not None:
        field = _path(prefix, match["path"], match["name"])
        return ServerError(ProblemCode.MISSING_FIELD, f"{_shown(match['name'])} is required", field=field)
    match = _OTHER.fullmatch(text)
    assert match is not None
    what = expected_text(match["what"], what_fits(expected, match["path"] or ""))
    return ServerError(ProblemCode.INVALID_FIELD, what, field=_path(prefix, match["path"], "") or None)


def _path(prefix: str, path: str | None, name: str) -> str:
    parts = [prefix, (path or "").lstrip("."), name[:SHOWN_CHARACTERS]]
    joined = ""
    for part in parts:
        if part:
            joined += part if not joined or part.startswith("[") else "." + part
    return joined


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…")


def is_too_deep(text: bytes, *, limit: int = JSON_DEPTH_MAX) -> bool:
    """Whether valid JSON nests objects and arrays deeper than `limit`, without a pass for each level.

    Most text has fewer brackets than that. In the rest, pairs with nothing between them are taken away, which makes it
    shallower by exactly one, as often as that makes it much shorter; then the depth behind each run of opening brackets
    is added up.
    """
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    brackets = without_strings(text).translate(_AS_SQUARE, _NOT_BRACKETS)
    for _ in range(_LEAF_PASSES_MAX):
        if limit == 0:
            break
        shorter = brackets.replace(b"[]", b"")
        limit -= 1
        is_worth_another = len(shorter) < len(brackets) * 7 // 8
        brackets = shorter
        if not is_worth_another:
            break
    if not brackets:
        return False
    runs: list[bytes] = _RUN.findall(brackets)
    opened, closed = map(len, runs[2::2]), map(len, runs[1::2])
    deepest: int = max(accumulate(map(sub, opened, closed), initial=len(runs[0])))
    return deepest > limit


def without_strings(text: bytes) -> bytes:
    """What of valid JSON stands outside of its strings."""
    return b"".join(without_escapes(text).split(b'"')[::2])


def without_escapes(text: bytes) -> bytes:
    """Valid JSON in which every quotation mark that is left begins or ends a string."""
    return text.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in text else text


def utf8_steps(text: bytes) -> Generator[None, None, None]:
    """As `check_utf8`, in steps."""
    if text.isascii():
        return
    start = 0
    while start < len(text):
        end = min(start + _UTF8_BYTES_PER_STEP, len(text))
        for _ in range(3):  # not within a character, which has 4 bytes at most
            if end < len(text) and text[end] & 0xC0 == 0x80:
                end -= 1
        try:
            text[start:end].decode()
        except UnicodeDecodeError as error:
            raise ServerError(ProblemCode.INVALID_JSON, f"byte {start + error.start} is not valid UTF-8") from None
        start = end
        yield
