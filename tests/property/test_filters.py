"""Filters against a model that knows no expression trees, whatever is written and whatever the messages are."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acklog.filters import FilterError, parse_filter
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
from acklog.filters.expression import All, Either, Expression, Not, all_of, either_of, negated
from acklog.filters.message_filter import MessageFilter
from acklog.filters.pattern import Pattern
from acklog.wire.record import Record, tag_filter_of

_CHARACTERS = "ab%\"'\\ ü"
texts = st.text(_CHARACTERS, max_size=4)
names = st.sampled_from(["x", "region", "in", "a.b", "odd name", 'quo"te'])
values = st.lists(texts, min_size=1, max_size=3).map(values_of)
# Parts in the middle are never empty, as %% is read as %.
patterns = st.builds(
    lambda first, middle, last: Pattern((first, *middle, last)),
    texts,
    st.lists(st.text(_CHARACTERS, min_size=1, max_size=2), max_size=2),
    texts,
) | st.builds(lambda only: Pattern((only,)), texts)
terms: st.SearchStrategy[Expression] = st.one_of(
    st.builds(TagIn, values),
    st.builds(TagLike, patterns),
    st.builds(KeyIn, values),
    st.builds(KeyIsNot, texts),
    st.builds(KeyLike, patterns),
    st.builds(HeaderIn, names, values),
    st.builds(HeaderIsNot, names, texts),
    st.builds(HeaderLike, names, patterns),
    st.builds(HeaderExists, names),
    st.just(TagExists()),
    st.just(KeyExists()),
)
expressions = st.recursive(
    terms,
    lambda inner: st.one_of(
        st.builds(negated, inner),
        st.builds(all_of, st.lists(inner, min_size=1, max_size=3)),
        st.builds(either_of, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=8,
)
records = st.builds(
    Record,
    st.just(b""),
    key=st.none() | texts,
    headers=st.none() | st.dictionaries(names, texts, max_size=3),
    tags=st.none() | st.lists(texts, max_size=3),
)


def _like(pattern: Pattern, value: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.parts)), value, re.DOTALL) is not None


def matches_naively(expression: Any, record: Record) -> bool:
    tags, headers = record.tags or [], record.headers or {}
    match expression:
        case Not(term):
            return not matches_naively(term, record)
        case All(inner):
            return all(matches_naively(each, record) for each in inner)
        case Either(inner):
            return any(matches_naively(each, record) for each in inner)
        case TagIn(wanted):
            return any(tag in wanted for tag in tags)
        case TagLike(pattern):
            return any(_like(pattern, tag) for tag in tags)
        case TagExists():
            return len(tags) > 0
        case KeyIn(wanted):
            return record.key is not None and record.key in wanted
        case KeyIsNot(value):
            return record.key is not None and record.key != value
        case KeyLike(pattern):
            return record.key is not None and _like(pattern, record.key)
        case KeyExists():
            return record.key is not None
        case HeaderIn(name, wanted):
            return name in headers and headers[name] in wanted
        case HeaderIsNot(name, value):
            return name in headers and headers[name] != value
        case HeaderLike(name, pattern):
            return name in headers and _like(pattern, headers[name])
        case HeaderExists(name):
            return name in headers
    raise AssertionError(expression)


@given(expressions)
def test_the_canonical_text_is_read_as_what_it_says(expression: Expression) -> None:
    read = parse_filter(expression.text)
    assert read.expression == expression
    assert read.text == expression.text


@given(expressions, records)
def test_it_matches_what_a_naive_model_says(expression: Expression, record: Record) -> None:
    assert MessageFilter(expression).matches(record) is matches_naively(expression, record)


@given(expressions, st.lists(records, max_size=4))
def test_tag_bits_never_hide_a_message_that_matches(expression: Expression, batch: list[Record]) -> None:
    bits = tag_filter_of(batch)
    if any(matches_naively(expression, record) for record in batch):
        assert expression.may_be_true(bits)
    if not all(matches_naively(expression, record) for record in batch):
        assert expression.may_be_false(bits)


@given(
    st.lists(
        st.sampled_from(
            [
                "tag",
                "key",
                "header.x",
                "in",
                "like",
                "not",
                "and",
                "or",
                "exists",
                "(",
                ")",
                ",",
                "=",
                "!=",
                '"a"',
                "'%'",
                '"',
                "\\",
                " ",
                "\0",
                "ü",
            ]
        ),
        max_size=40,
    ).map("".join)
    | st.text(max_size=60)
)
def test_any_text_is_read_or_refused_where_it_goes_wrong(text: str) -> None:
    error = _error_of(text)
    assert error is None or 0 <= error.position <= len(text)


def _error_of(text: str) -> FilterError | None:
    try:
        parse_filter(text)
    except FilterError as error:
        return error
    return None


@given(st.text("ab%", max_size=200), st.text("ab", max_size=400))
def test_no_pattern_takes_long(pattern: str, value: str) -> None:
    """A regular expression would take ages for many % over many a."""
    found = parse_filter(f'key like "{pattern}"')
    found.matches(Record(b"", key=value))
    hostile = parse_filter(f'key like "{"%a" * 2000}%b"')
    assert not hostile.matches(Record(b"", key="a" * 1024))


def test_a_batch_without_the_tag_is_told_by_its_header() -> None:
    bits = tag_filter_of([Record(b"", tags=["checkout"])])
    assert parse_filter('tag = "checkout"').may_match(bits)
    assert not parse_filter('tag = "refund" and header.x = "y"').may_match(bits)
    assert parse_filter('not tag = "checkout"').may_match(bits)  # a bit that is set proves nothing
    assert not parse_filter("exists(tag)").may_match(0)
