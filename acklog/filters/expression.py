"""What a filter says, as a tree of comparisons (`comparisons.py`) under and, or, not. Each node knows its text, how it
judges a message, and what a batch's tag bits prove.

There are two values and no third: a comparison with what a message does not have is false, so its `not` is true.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class Filterable(Protocol):
    """What a filter looks at of a message: nothing of its body."""

    @property
    def key(self) -> str | None: ...
    @property
    def headers(self) -> Mapping[str, str] | None: ...
    @property
    def tags(self) -> Sequence[str] | None: ...


Predicate = Callable[[Filterable], bool]


class Expression(Protocol):
    """`may_be_true` and `may_be_false` are about the messages of a batch with these tag bits (`acklog.wire.record`):
    False is proof that it is so for none of them."""

    @property
    def text(self) -> str: ...
    def predicate(self) -> Predicate: ...
    def may_be_true(self, tag_bits: int) -> bool: ...
    def may_be_false(self, tag_bits: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class Not:
    """The term is false. It is no Not."""

    term: Expression

    @property
    def text(self) -> str:
        is_compound = isinstance(self.term, All | Either)
        return f"not ({self.term.text})" if is_compound else f"not {self.term.text}"

    def predicate(self) -> Predicate:
        judge = self.term.predicate()
        return lambda message: not judge(message)

    def may_be_true(self, tag_bits: int) -> bool:
        return self.term.may_be_false(tag_bits)

    def may_be_false(self, tag_bits: int) -> bool:
        return self.term.may_be_true(tag_bits)


@dataclass(frozen=True, slots=True)
class All:
    """Every term is true. There are at least two, none of them an All."""

    terms: tuple[Expression, ...]

    @property
    def text(self) -> str:
        return " and ".join(f"({each.text})" if isinstance(each, Either) else each.text for each in self.terms)

    def predicate(self) -> Predicate:
        judges = tuple(each.predicate() for each in self.terms)
        return lambda message: all(judge(message) for judge in judges)

    def may_be_true(self, tag_bits: int) -> bool:
        return all(each.may_be_true(tag_bits) for each in self.terms)

    def may_be_false(self, tag_bits: int) -> bool:
        return any(each.may_be_false(tag_bits) for each in self.terms)


@dataclass(frozen=True, slots=True)
class Either:
    """One of the terms is true. There are at least two, none of them an Either."""

    terms: tuple[Expression, ...]

    @property
    def text(self) -> str:
        return " or ".join(each.text for each in self.terms)

    def predicate(self) -> Predicate:
        judges = tuple(each.predicate() for each in self.terms)
        return lambda message: any(judge(message) for judge in judges)

    def may_be_true(self, tag_bits: int) -> bool:
        return any(each.may_be_true(tag_bits) for each in self.terms)

    def may_be_false(self, tag_bits: int) -> bool:
        return all(each.may_be_false(tag_bits) for each in self.terms)


def negated(term: Expression) -> Expression:
    """Not it; of a Not what is in it."""
    return term.term if isinstance(term, Not) else Not(term)


def all_of(terms: Iterable[Expression]) -> Expression:
    """All of these, of which there is one."""
    flat: list[Expression] = []
    for each in terms:
        flat.extend(each.terms if isinstance(each, All) else (each,))
    return flat[0] if len(flat) == 1 else All(tuple(flat))


def either_of(terms: Iterable[Expression]) -> Expression:
    """One of these, of which there is one."""
    flat: list[Expression] = []
    for each in terms:
        flat.extend(each.terms if isinstance(each, Either) else (each,))
    return flat[0] if len(flat) == 1 else Either(tuple(flat))
