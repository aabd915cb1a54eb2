"""Shell patterns with the bits of what is said about the names that they match."""

import re
from collections.abc import Sequence
from fnmatch import translate
from typing import NamedTuple


class BitsOfPattern(NamedTuple):
    text: str
    bits: int


class NamePatterns:
    """Compiled with the first question, as of thousands of tokens most ask nothing: into one expression for all
    patterns of the same bits, since a listing asks about every name that there is."""

    __slots__ = ("_compiled", "_patterns")

    def __init__(self, patterns: Sequence[BitsOfPattern]) -> None:
        self._patterns = tuple(patterns)
        self._compiled: list[tuple[int, re.Pattern[str]]] | None = None

    def bits_of(self, name: str) -> int:
        if self._compiled is None:
            self._compiled = self._compile()
        found = 0
        for bits, expression in self._compiled:
            if expression.match(name):
                found |= bits
        return found

    @property
    def all_bits(self) -> int:
        return _union(self._patterns)

    def bits_for_every_name(self) -> int:
        return _union([each for each in self._patterns if each.text == "*"])

    def with_bit(self, bit: int) -> tuple[str, ...]:
        """The patterns that have it, each once."""
        return tuple(dict.fromkeys(each.text for each in self._patterns if each.bits & bit))

    def _compile(self) -> list[tuple[int, re.Pattern[str]]]:
        texts: dict[int, dict[str, None]] = {}
        for each in self._patterns:
            texts.setdefault(each.bits, {})[each.text] = None
        return [(bits, re.compile("|".join(map(translate, found)))) for bits, found in texts.items()]


def _union(patterns: Sequence[BitsOfPattern]) -> int:
    found = 0
    for each in patterns:
        found |= each.bits
    return found
