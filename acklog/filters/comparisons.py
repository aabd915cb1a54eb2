"""The comparisons of filters: of tags, of the key, and of headers.

What a message does not have is equal to nothing, different from nothing and like nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from acklog.filters.expression import Filterable, Predicate
from acklog.filters.pattern import Pattern
from acklog.filters.tokens import HEADER_NAME, quoted
from acklog.wire.record import tag_bit


@dataclass(frozen=True, slots=True)
class TagIn:
    """One of the message's tags is one of these."""

    values: tuple[str, ...]

    @property
    def text(self) -> str:
        return "tag" + _one_of(self.values)

    def predicate(self) -> Predicate:
        is_disjoint = frozenset(self.values).isdisjoint
        return lambda message: message.tags is not None and not is_disjoint(message.tags)

    def may_be_true(self, tag_bits: int) -> bool:
        return any(tag_bits & tag_bit(value) for value in self.values)

    def may_be_false(self, tag_bits: int) -> bool:
        return True  # a bit that is set proves nothing


@dataclass(frozen=True, slots=True)
class TagLike:
    """One of the message's tags is like this."""

    pattern: Pattern

    @property
    def text(self) -> str:
        return f"tag like {self.pattern.text}"

    def predicate(self) -> Predicate:
        matches = self.pattern.matches
        return lambda message: message.tags is not None and any(map(matches, message.tags))

    def may_be_true(self, tag_bits: int) -> bool:
        return tag_bits != 0

    def may_be_false(self, tag_bits: int) -> bool:
        return True


class _OfNoTag:
    """Tag bits say nothing of it."""

    __slots__ = ()

    def may_be_true(self, tag_bits: int) -> bool:
        return True

    def may_be_false(self, tag_bits: int) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class KeyIn(_OfNoTag):
    """The key is one of these."""

    values: tuple[str, ...]

    @property
    def text(self) -> str:
        return "key" + _one_of(self.values)

    def predicate(self) -> Predicate:
        values: frozenset[str | None] = frozenset(self.values)
        return lambda message: message.key in values


@dataclass(frozen=True, slots=True)
class KeyIsNot(_OfNoTag):
    """There is a key, and it is not this."""

    value: str

    @property
    def text(self) -> str:
        return f"key != {quoted(self.value)}"

    def predicate(self) -> Predicate:
        nothing_or_it = (None, self.value)
        return lambda message: message.key not in nothing_or_it


@dataclass(frozen=True, slots=True)
class KeyLike(_OfNoTag):
    """The key is like this."""

    pattern: Pattern

    @property
    def text(self) -> str:
        return f"key like {self.pattern.text}"

    def predicate(self) -> Predicate:
        matches = self.pattern.matches
        return lambda message: message.key is not None and matches(message.key)


@dataclass(frozen=True, slots=True)
class HeaderIn(_OfNoTag):
    """The header is one of these."""

    name: str
    values: tuple[str, ...]

    @property
    def text(self) -> str:
        return header_text(self.name) + _one_of(self.values)

    def predicate(self) -> Predicate:
        name, values = self.name, frozenset(self.values)
        return lambda message: message.headers is not None and message.headers.get(name) in values


@dataclass(frozen=True, slots=True)
class HeaderIsNot(_OfNoTag):
    """There is such a header, and it is not this."""

    name: str
    value: str

    @property
    def text(self) -> str:
        return f"{header_text(self.name)} != {quoted(self.value)}"

    def predicate(self) -> Predicate:
        name, nothing_or_it = self.name, (None, self.value)
        return lambda message: message.headers is not None and message.headers.get(name) not in nothing_or_it


@dataclass(frozen=True, slots=True)
class HeaderLike(_OfNoTag):
    """The header is like this."""

    name: str
    pattern: Pattern

    @property
    def text(self) -> str:
        return f"{header_text(self.name)} like {self.pattern.text}"

    def predicate(self) -> Predicate:
        name, matches = self.name, self.pattern.matches

        def judge(message: Filterable) -> bool:
            value = None if message.headers is None else message.headers.get(name)
            return value is not None and matches(value)

        return judge


@dataclass(frozen=True, slots=True)
class TagExists:
    """There is a tag."""

    @property
    def text(self) -> str:
        return "exists(tag)"

    def predicate(self) -> Predicate:
        return lambda message: bool(message.tags)

    def may_be_true(self, tag_bits: int) -> bool:
        return tag_bits != 0

    def may_be_false(self, tag_bits: int) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class KeyExists(_OfNoTag):
    """There is a key."""

    @property
    def text(self) -> str:
        return "exists(key)"

    def predicate(self) -> Predicate:
        return lambda message: message.key is not None


@dataclass(frozen=True, slots=True)
class HeaderExists(_OfNoTag):
    """There is such a header."""

    name: str

    @property
    def text(self) -> str:
        return f"exists({header_text(self.name)})"

    def predicate(self) -> Predicate:
        name = self.name
        return lambda message: message.headers is not None and name in message.headers


def values_of(values: Iterable[str]) -> tuple[str, ...]:
    """What a list says: neither order nor repetition."""
    return tuple(sorted(set(values)))


def header_text(name: str) -> str:
    """How a filter names this header."""
    return f"header.{name if HEADER_NAME.fullmatch(name) else quoted(name)}"


def _one_of(values: Sequence[str]) -> str:
    if len(values) == 1:
        return f" = {quoted(values[0])}"
    return f" in ({', '.join(map(quoted, values))})"
