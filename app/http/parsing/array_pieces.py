"""A long JSON array, cut between its elements without being parsed: each piece can then be decoded for itself.

Brackets are counted window by window, with the strings between them blanked out. Where the text is not valid JSON the
cuts may be anywhere: pieces that are valid one by one, with commas between them, are a valid array, so whoever decodes
all of them finds what is wrong.
"""

import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from itertools import accumulate

from app.http.parsing.json_text import DEPTH_CHANGE, malformed

WINDOW_BYTES = 64 * 1024
SINGLE_BYTES_MIN = 3 * WINDOW_BYTES
"""A longer piece is one element."""
_LOOK_BACK_BYTES = 512
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_TOKEN = re.compile(rb"[\[\]{},]")
_COMMA = b","
_MARKS = tuple(b"}," + space + b'{"' + name + b'":' for space in (b"", b" ") for name in (b"body", b"key"))


@dataclass(frozen=True, slots=True)
class Piece:
    """`text[start:end]` has one or more elements."""

    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        return self.end - self.start


class ArrayPieces:
    """The array's elements are in `text` from `start` on, behind its opening bracket. `end` is where its closing
    bracket stands, once the pieces have been gone through.

    Iterating goes on where it was, and gives None after each window that ends no piece, so that others get their turn.
    Raises ServerError INVALID_JSON where the array does not end.
    """

    def __init__(self, text: bytes, start: int, *, window_bytes: int = WINDOW_BYTES) -> None:
        self._window_bytes = window_bytes
        self.start = start
        self._text = text
        self._at = start
        self._piece_start = start
        self._depth = 0  # within the array
        self._in_string = False
        self.end = -1

    def __iter__(self) -> Iterator[Piece | None]:
        while self.end < 0:
            if self._at >= len(self._text):
                raise malformed(ValueError("Input data was truncated"))
            yield from self._window()

    def likely(self) -> Piece | None:
        """The next piece of ordinary messages, found without counting brackets, if there seems to be one. It is right
        if it is valid JSON in brackets; `confirm` it then, and otherwise iterate."""
        if self._at != self._piece_start or self.end >= 0:
            return None
        for mark in _MARKS:
            comma = self._text.rfind(mark, self._at, self._at + self._window_bytes)
            if comma >= 0:
                return Piece(self._at, comma + 1)
        return None

    def confirm(self, piece: Piece) -> None:
        self._piece_start = self._at = piece.end + 1

    def is_whole(self, piece: Piece) -> bool:
        """Whether the piece is all there is between the array's brackets."""
        return piece.start == self.start and piece.end == self.end

    def _window(self) -> Generator[Piece | None, None, None]:
        begin = self._at
        structure = self._next_structure()
        brackets = structure.translate(None, _NOT_BRACKETS)
        depths = list(accumulate(map(DEPTH_CHANGE.__getitem__, brackets), initial=self._depth))
        lowest, depth_before, self._depth = min(depths), self._depth, depths[-1]
        if lowest < 0:
            self.end = begin + _first(structure, _is_end, depth_before)
            structure = structure[: self.end - begin]
        last = _last_comma(structure, 0 if lowest < 0 else self._depth) if lowest <= 0 else -1
        yield from self._cuts(begin, structure, last, depth_before)
        if self.end >= 0:
            yield Piece(self._piece_start, self.end)

    def _cuts(self, begin: int, structure: bytes, last: int, depth_before: int) -> Generator[Piece | None, None, None]:
        if last < 0:
            yield None
            return
        if begin - self._piece_start > self._window_bytes:
            # What began windows ago is one long element: it gets a piece of its own.
            first = _first(structure, _is_comma, depth_before)
            yield self._cut(begin + first)
            if first == last:
                return
        yield self._cut(begin + last)

    def _cut(self, comma: int) -> Piece:
        piece = Piece(self._piece_start, comma)
        self._piece_start = comma + 1
        return piece

    def _next_structure(self) -> bytes:
        """The next window with its strings blanked out, every other byte at its place."""
        window = self._text[self._at : self._at + self._window_bytes]
        backslashes = len(window) - len(window.rstrip(b"\\"))
        if backslashes % 2 and len(window) > 1:  # not within an escape
            window = window[:-1]
        self._at += len(window)
        if b"\\" in window:
            window = window.replace(rb"\\", b"__").replace(rb"\"", b"__")
        parts = window.split(b'"')
        inside = slice(0 if self._in_string else 1, None, 2)
        parts[inside] = [b"_" * len(part) for part in parts[inside]]
        if len(parts) % 2 == 0:
            self._in_string = not self._in_string
        return b'"'.join(parts)


def _is_end(token: bytes, depth: int) -> bool:
    return depth < 0


def _is_comma(token: bytes, depth: int) -> bool:
    return depth == 0 and token == _COMMA


def _first(structure: bytes, is_it: Callable[[bytes, int], bool], depth: int) -> int:
    """Where the first such token stands, which is there; `depth` is that of the beginning."""
    for match in _TOKEN.finditer(structure):
        token = match[0]
        depth += DEPTH_CHANGE[token[0]]
        if is_it(token, depth):
            return match.start()
    raise AssertionError("the token was seen in the window")


def _last_comma(structure: bytes, depth: int) -> int:
    """Where the last comma at depth 0 stands, or -1; `depth` is that of the end."""
    end = len(structure)
    while end > 0:
        begin = max(0, end - _LOOK_BACK_BYTES)
        for match in reversed(list(_TOKEN.finditer(structure, begin, end))):
            token = match[0]
            if token != _COMMA:
                depth -= DEPTH_CHANGE[token[0]]
            elif depth == 0:
                return match.start()
        end = begin
    return -1
