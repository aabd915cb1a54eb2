"""Shell patterns with the bits of what is said about the names that they match, by the rules of
`acklog.wire.name_patterns`."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from typing import NamedTuple

from acklog.wire.name_patterns import EVERY_NAME, covers, every_name_in, parts_of
from acklog.wire.names import NO_NAMESPACE, SEPARATOR


class BitsOfPattern(NamedTuple):
    text: str
    bits: int


class _Compiled(NamedTuple):
    """Patterns of names in the namespaces that `namespaces` matches, of those in none where it is None: for each, bits
    and one expression for all patterns that have these."""

    namespaces: re.Pattern[str] | None
    expressions: tuple[tuple[int, re.Pattern[str]], ...]


class NamePatterns:
    """Compiled with the first question, as of thousands of tokens most ask nothing: into one expression for all
    patterns of the same bits, since a listing asks about every name that there is."""

    __slots__ = ("_compiled", "_patterns")

    def __init__(self, patterns: Sequence[BitsOfPattern]) -> None:
        self._patterns = tuple(patterns)
        self._compiled: list[_Compiled] | None = None

    def bits_of(self, name: str) -> int:
        found = self.bits_for_every_name()
        namespace, separator, local = name.partition(SEPARATOR)
        if not separator:
            namespace, local = NO_NAMESPACE, name
        elif SEPARATOR in local:
            return found
        for each in self._compile():
            if _is_for(each, namespace, is_in_one=bool(separator)):
                for bits, expression in each.expressions:
                    if expression.match(local):
                        found |= bits
        return found

    def bits_in(self, namespace: str) -> int:
        """Of all patterns that may match a name in the namespace."""
        found = self.bits_for_every_name()
        for each in self._compile():
            if _is_for(each, namespace, is_in_one=True):
                found |= _union(bits for bits, _ in each.expressions)
        return found

    def bits_of_all_in(self, namespace: str) -> int:
        """Of patterns that are certainly for every name in the namespace."""
        every = every_name_in(namespace)
        return _union(each.bits for each in self._patterns if covers(each.text, every))

    @property
    def all_bits(self) -> int:
        return _union(each.bits for each in self._patterns)

    def bits_for_every_name(self) -> int:
        return _union(each.bits for each in self._patterns if each.text == EVERY_NAME)

    def with_bit(self, bit: int) -> tuple[str, ...]:
        """The patterns that have it, each once."""
        return tuple(dict.fromkeys(each.text for each in self._patterns if each.bits & bit))

    def _compile(self) -> list[_Compiled]:
        if self._compiled is None:
            texts: dict[str | None, dict[int, dict[str, None]]] = {}
            for text, bits in self._patterns:
                *namespaces, local = parts_of(text)
                if text != EVERY_NAME and len(namespaces) <= 1:
                    kind = namespaces[0] if namespaces else None
                    texts.setdefault(kind, {}).setdefault(bits, {})[local] = None
            self._compiled = [
                _Compiled(
                    None if kind is None else re.compile(translate(kind)),
                    tuple((bits, re.compile("|".join(map(translate, names)))) for bits, names in by_bits.items()),
                )
                for kind, by_bits in texts.items()
            ]
        return self._compiled


def _is_for(compiled: _Compiled, namespace: str, *, is_in_one: bool) -> bool:
    if compiled.namespaces is None:
        return not is_in_one
    return is_in_one and compiled.namespaces.match(namespace) is not None


def _union(bits: Iterable[int]) -> int:
    found = 0
    for each in bits:
        found |= each
    return found
