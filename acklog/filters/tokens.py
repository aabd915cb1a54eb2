"""The words of a filter's text, each with its position."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from acklog.filters.filter_error import FilterError

_FOUND_LENGTH_MAX = 24
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"\w+")
_SYMBOL = re.compile(r"!=|[=(),.]")
_HEADER = re.compile(r"header\.")
HEADER_NAME = re.compile(r"[\w-][\w.-]*")
"""A header's name that needs no quotes."""


class TokenKind(Enum):
    WORD = "word"
    SYMBOL = "symbol"
    TEXT = "text"
    HEADER = "header"
    END = "end"


class FilterToken(NamedTuple):
    """`value`: of a text what is between its quotes, as it is written; of a header its name."""

    kind: TokenKind
    value: str
    position: int

    @property
    def shown(self) -> str:
        """As an error names it."""
        if self.kind is TokenKind.END:
            return "the end"
        value = self.value if len(self.value) <= _FOUND_LENGTH_MAX else self.value[:_FOUND_LENGTH_MAX] + "…"
        return f"{value!r}"


def tokens_of(text: str) -> Iterator[FilterToken]:
    """Ends with an END. Raises FilterError."""
    at = 0
    while True:
        at = _end(_SPACE, text, at)
        if at == len(text):
            yield FilterToken(TokenKind.END, "", at)
            return
        header = _HEADER.match(text, at)
        if header is not None:
            token, end = _header_name(text, at, header.end())
        elif text[at] in "\"'":
            value, end = _quoted(text, at)
            token = FilterToken(TokenKind.TEXT, value, at)
        elif (found := _SYMBOL.match(text, at)) is not None:
            token, end = FilterToken(TokenKind.SYMBOL, found.group(), at), found.end()
        elif (found := _WORD.match(text, at)) is not None:
            token, end = FilterToken(TokenKind.WORD, found.group(), at), found.end()
        else:
            raise FilterError(at, "a field, a text in quotes, or and, or, not, ( )", found=repr(text[at]))
        yield token
        at = end


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _header_name(text: str, start: int, at: int) -> tuple[FilterToken, int]:
    if text[at : at + 1] in {'"', "'"}:
        value, end = _quoted(text, at)
        return FilterToken(TokenKind.HEADER, unescaped(value, at + 1), start), end
    found = HEADER_NAME.match(text, at)
    if found is None:
        raise FilterError(at, "the name of a header")
    return FilterToken(TokenKind.HEADER, found.group(), start), found.end()


def _quoted(text: str, start: int) -> tuple[str, int]:
    """What is between the quotes, and where it goes on behind them."""
    quote, at = text[start], start + 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    if at >= len(text):
        raise FilterError(len(text), f"the {quote} that closes the text from position {start}", found="the end")
    return text[start + 1 : at], at + 1


def unescaped(value: str, position: int) -> str:
    """A text as it is meant: a backslash stands before a quote or another one. Raises FilterError."""
    if "\\" not in value:
        return value
    parts: list[str] = []
    at = 0
    while at < len(value):
        if value[at] == "\\":
            at += 1
            if value[at] not in "\"'\\":
                raise FilterError(position + at, "a quote or a backslash behind a backslash", found=repr(value[at]))
        parts.append(value[at])
        at += 1
    return "".join(parts)


def quoted(value: str) -> str:
    """The text that means this."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
