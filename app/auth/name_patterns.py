"""Shell patterns with the bits of what is said about the names that they match, by the rules of
`acklog.wire.name_patterns`."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from typing import NamedTuple

from acklog.wire.name_patterns import EVERY_NAME, covers, every_name_in, parts_of
from acklog.wire.names import SEPARATOR


class BitsOfPattern(NamedTuple):
    text: str
    bits: int


class _Expression(NamedTuple):
    """For all patterns that have these bits."""

    bits: int
    pattern: re.Pattern[str]


class _InNamespaces(NamedTuple):
    """Expressions for names in the namespaces that a pattern is for."""

    namespaces: re.Pattern[str]
    expressions: tuple[_Expression, ...]


class _Compiled(NamedTuple):
    """`every` has the bits of patterns for every name."""

    every: int
    in_none: tuple[_Expression, ...]
    in_some: tuple[_InNamespaces, ...]


class NamePatterns:
    """Compiled with the first question, as of thousands of tokens most ask nothing: into one expression for all
    patterns of the same bits, since a listing asks about every name that there is."""

    __slots__ = ("_compiled", "_patterns")

    def __init__(self, patterns: Sequence[BitsOfPattern]) -> None:
        self._patterns = tuple(patterns)
        self._compiled: _Compiled | None = None

    def bits_of(self, name: str) -> int:
        compiled = self._compiled or self._compile()
        found = compiled.every
        namespace, separator, local = name.partition(SEPARATOR)
        if not separator:
            return found | _matching(compiled.in_none, name)
        if SEPARATOR not in local:
            for namespaces, expressions in compiled.in_some:
                if namespaces.match(namespace):
                    found |= _matching(expressions, local)
        return found

    def bits_in(self, namespace: str) -> int:
        """Of all patterns that may match a name in the namespace."""
        compiled = self._compiled or self._compile()
        found = compiled.every
        for namespaces, expressions in compiled.in_some:
            if namespaces.match(namespace):
                found |= _union(each.bits for each in expressions)
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

    def _compile(self) -> _Compiled:
        texts: dict[str | None, dict[int, dict[str, None]]] = {}
        for text, bits in self._patterns:
            *namespaces, local = parts_of(text)
            if text != EVERY_NAME and len(namespaces) <= 1:
                kind = namespaces[0] if namespaces else None
                texts.setdefault(kind, {}).setdefault(bits, {})[local] = None
        in_none = _expressions(texts.pop(None, {}))
        in_some = [_InNamespaces(re.compile(translate(kind or "")), _expressions(each)) for kind, each in texts.items()]
        self._compiled = _Compiled(self.bits_for_every_name(), in_none, tuple(in_some))
        return self._compiled


def _expressions(by_bits: dict[int, dict[str, None]]) -> tuple[_Expression, ...]:
    return tuple(_Expression(bits, re.compile("|".join(map(translate, names)))) for bits, names in by_bits.items())


def _matching(expressions: tuple[_Expression, ...], name: str) -> int:
    found = 0
    for bits, pattern in expressions:
        if pattern.match(name):
            found |= bits
    return found


def _union(bits: Iterable[int]) -> int:
    found = 0
    for each in bits:
        found |= each
    return found
