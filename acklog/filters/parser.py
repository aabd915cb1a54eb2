"""From a filter's text to its expression, by recursive descent; every limit is checked on the way."""

from acklog.filters.comparisons import (
    HeaderExists,
    HeaderIn,
    HeaderIsNot,
    HeaderLike,
    KeyExists,
    KeyIn,
    KeyIsNot,
    KeyLike,
    TagExists,
    TagIn,
    TagLike,
    values_of,
)
from acklog.filters.expression import Expression, all_of, either_of, negated
from acklog.filters.filter_error import FilterError
from acklog.filters.pattern import Pattern, parse_pattern
from acklog.filters.tokens import FilterToken, TokenKind, tokens_of, unescaped
from acklog.wire import limits

_FIELDS = "tag, key or header.name"


def parse_expression(text: str) -> Expression:
    """Raises FilterError."""
    for position, character in enumerate(text):
        if "\ud800" <= character <= "\udfff":
            raise FilterError(position, "text that UTF-8 can hold", found=repr(character))
    _check_length(text)
    expression = _Parser(text).parse()
    _check_length(expression.text)  # it may have more spaces and backslashes, and is what is kept
    return expression


def _check_length(text: str) -> None:
    if len(text.encode()) > limits.FILTER_BYTES_MAX:
        raise FilterError(0, f"a filter of at most {limits.FILTER_BYTES_MAX:,} bytes")


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = tokens_of(text)
        self._token = next(self._tokens)
        self._depth = 0
        self._terms = 0

    def parse(self) -> Expression:
        expression = self._either()
        if self._token.kind is not TokenKind.END:
            raise self._unexpected("and, or, or the end")
        return expression

    def _either(self) -> Expression:
        terms = [self._all()]
        while self._take_word("or"):
            terms.append(self._all())
        return either_of(terms)

    def _all(self) -> Expression:
        terms = [self._factor()]
        while self._take_word("and"):
            terms.append(self._factor())
        return all_of(terms)

    def _factor(self) -> Expression:
        if self._is_word("not") or self._is_symbol("("):
            opening = self._deeper()
            if opening.kind is TokenKind.WORD:
                expression = negated(self._factor())
            else:
                expression = self._either()
                self._expect(")")
            self._depth -= 1
            return expression
        self._terms += 1
        if self._terms > limits.FILTER_TERMS_MAX:
            raise FilterError(self._token.position, f"at most {limits.FILTER_TERMS_MAX} comparisons")
        if self._take_word("exists"):
            return self._exists()
        return self._comparison()

    def _exists(self) -> Expression:
        self._expect("(")
        field = self._field(_FIELDS)
        self._expect(")")
        if field.kind is TokenKind.HEADER:
            return HeaderExists(field.value)
        return TagExists() if field.value.lower() == "tag" else KeyExists()

    def _comparison(self) -> Expression:
        field = self._field(f"{_FIELDS}, exists, not or (")
        is_tag = field.kind is TokenKind.WORD and field.value.lower() == "tag"
        if self._take_symbol("="):
            return _is_in(field, (self._text(),))
        if self._is_symbol("!=") and not is_tag:
            self._take()
            value = self._text()
            return HeaderIsNot(field.value, value) if field.kind is TokenKind.HEADER else KeyIsNot(value)
        if self._take_word("like"):
            return _is_like(field, self._pattern())
        if self._take_word("in"):
            return _is_in(field, self._list())
        if self._is_word("not"):
            self._deeper()  # it is another way to write `not tag in`
            if not self._take_word("in"):
                raise self._unexpected("in")
            self._depth -= 1
            return negated(_is_in(field, self._list()))
        if is_tag:  # a message may have several: whether one differs is not whether none is it
            raise self._unexpected('=, in, not in or like (none is it: not tag = "…")')
        raise self._unexpected("=, !=, in, not in or like")

    def _list(self) -> tuple[str, ...]:
        self._expect("(")
        values = [self._text()]
        while self._take_symbol(","):
            if len(values) == limits.FILTER_VALUES_MAX:
                raise FilterError(self._token.position, f"at most {limits.FILTER_VALUES_MAX} values in a list")
            values.append(self._text())
        if not self._is_symbol(")"):
            raise self._unexpected(", or )")
        self._take()
        return values_of(values)

    def _field(self, expected: str) -> FilterToken:
        is_named = self._token.kind is TokenKind.HEADER or self._is_word("tag") or self._is_word("key")
        if not is_named:
            raise self._unexpected(expected)
        return self._take()

    def _text(self) -> str:
        token = self._quoted()
        return unescaped(token.value, token.position + 1)

    def _pattern(self) -> Pattern:
        token = self._quoted()
        return parse_pattern(token.value, token.position + 1)

    def _quoted(self) -> FilterToken:
        if self._token.kind is not TokenKind.TEXT:
            raise self._unexpected("a text in quotes")
        return self._take()

    # --- tokens ------------------------------------------------------------------------------------------------------

    def _deeper(self) -> FilterToken:
        """Take what opens another level."""
        self._depth += 1
        if self._depth > limits.FILTER_DEPTH_MAX:
            expected = f"at most {limits.FILTER_DEPTH_MAX} of ( and not within each other"
            raise FilterError(self._token.position, expected)
        return self._take()

    def _take(self) -> FilterToken:
        token = self._token
        self._token = next(self._tokens)
        return token

    def _is_word(self, word: str) -> bool:
        return self._token.kind is TokenKind.WORD and self._token.value.lower() == word

    def _is_symbol(self, symbol: str) -> bool:
        return self._token.kind is TokenKind.SYMBOL and self._token.value == symbol

    def _take_word(self, word: str) -> bool:
        is_it = self._is_word(word)
        if is_it:
            self._take()
        return is_it

    def _take_symbol(self, symbol: str) -> bool:
        is_it = self._is_symbol(symbol)
        if is_it:
            self._take()
        return is_it

    def _expect(self, symbol: str) -> None:
        if not self._take_symbol(symbol):
            raise self._unexpected(symbol)

    def _unexpected(self, expected: str) -> FilterError:
        return FilterError(self._token.position, expected, found=self._token.shown)


def _is_in(field: FilterToken, values: tuple[str, ...]) -> Expression:
    if field.kind is TokenKind.HEADER:
        return HeaderIn(field.value, values)
    return TagIn(values) if field.value.lower() == "tag" else KeyIn(values)


def _is_like(field: FilterToken, pattern: Pattern) -> Expression:
    if field.kind is TokenKind.HEADER:
        return HeaderLike(field.value, pattern)
    return TagLike(pattern) if field.value.lower() == "tag" else KeyLike(pattern)
