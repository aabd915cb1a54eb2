"""The grammar: what is read as what, and where a text goes wrong."""

import pytest

from acklog.filters import FilterError, both, filter_by_tags, parse_filter
from acklog.wire import limits


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ('tag="a"', 'tag = "a"'),
        ("tag in ('b', 'a', 'b')", 'tag in ("a", "b")'),
        ('tag in ("a")', 'tag = "a"'),
        ('tag not in ("a", "b")', 'not tag in ("a", "b")'),
        ('NOT Tag = "a" AND KEY = "k"', 'not tag = "a" and key = "k"'),
        ('not not key != "k"', 'key != "k"'),
        (
            'header.region = "eu" or (header.in = "x" or key like "%")',
            'header.region = "eu" or header.in = "x" or key like "%"',
        ),
        (
            '(key = "a" or key = "b") and (tag = "c" and tag = "d")',
            '(key = "a" or key = "b") and tag = "c" and tag = "d"',
        ),
        ('not (key = "a" and key = "b")', 'not (key = "a" and key = "b")'),
        (
            "exists( header.x-y.z ) and exists(key) and exists(tag)",
            "exists(header.x-y.z) and exists(key) and exists(tag)",
        ),
        ('header.\'odd "name\' = "v"', 'header."odd \\"name" = "v"'),
        (r'key = "quote \" and \\"', r'key = "quote \" and \\"'),
        (r'tag like "100\%%%"', r'tag like "100\%%"'),
        ('key = "über"', 'key = "über"'),
    ],
)
def test_one_text_for_what_says_the_same(text: str, canonical: str) -> None:
    assert parse_filter(text).text == canonical
    assert parse_filter(canonical).text == canonical
    assert parse_filter(text) == parse_filter(canonical)


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 0, "tag, key or header.name"),
        ("  ", 2, "tag, key or header.name"),
        ('tag = "a" and', 13, "tag, key or header.name"),
        ('tag = "a" key = "b"', 10, "and, or"),
        ('tag = "a', 8, "closes the text from position 6"),
        ("tag = a", 6, "a text in quotes"),
        ('tag != "a"', 4, "none is it"),
        ('key > "a"', 4, "a field"),
        ('key ! "a"', 4, "a field"),
        ('body = "a"', 0, "tag, key or header.name"),
        ('header. = "a"', 7, "the name of a header"),
        ("header.x", 8, "=, !=, in, not in or like"),
        ("tag in ()", 8, "a text in quotes"),
        ('tag in ("a" "b")', 12, ", or )"),
        ('tag in ("a",)', 12, "a text in quotes"),
        ('key not like "a"', 8, "in"),
        ('(tag = "a"', 10, ")"),
        ('tag = "a")', 9, "and, or"),
        ("exists(body)", 7, "tag, key or header.name"),
        ("exists tag", 7, "("),
        (r'key = "a\n"', 9, "a quote or a backslash"),
        (r'key = "a\%"', 9, "a quote or a backslash"),
        (r'key like "a\n"', 12, "a quote, a % or a backslash"),
        ('key = "\ud800"', 7, "UTF-8"),
    ],
)
def test_an_error_says_where_and_what_could_stand_there(text: str, position: int, expected: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(text)
    assert caught.value.position == position
    assert expected in caught.value.expected
    assert f"position {position}" in str(caught.value)


def _terms(count: int) -> str:
    return " or ".join(f'key = "{number}"' for number in range(count))


def _values(count: int) -> str:
    return f"tag in ({','.join(repr(str(number)) for number in range(count))})"


def _nested(depth: int) -> str:
    return "(" * depth + 'key = "a"' + ")" * depth


def _negated_list(depth: int) -> str:
    return "(" * (depth - 1) + 'key not in ("a", "b")' + ")" * (depth - 1)


def _long(size: int) -> str:
    return f'key = "{"a" * (size - 8)}"'


@pytest.mark.parametrize(
    ("make", "limit"),
    [
        (_terms, limits.FILTER_TERMS_MAX),
        (_values, limits.FILTER_VALUES_MAX),
        (_nested, limits.FILTER_DEPTH_MAX),
        (_negated_list, limits.FILTER_DEPTH_MAX),
        (_long, limits.FILTER_BYTES_MAX),
    ],
)
def test_each_limit_holds_to_the_last(make, limit: int) -> None:  # type: ignore[no-untyped-def]
    parse_filter(make(limit))
    with pytest.raises(FilterError) as caught:
        parse_filter(make(limit + 1))
    assert "at most" in caught.value.expected


def test_what_becomes_too_long_when_it_is_kept_is_refused() -> None:
    key = "'" + '"' * (limits.FILTER_BYTES_MAX - 20) + "'"
    with pytest.raises(FilterError):
        parse_filter(f"key = {key}")


def test_tags_are_a_filter_in_fewer_words() -> None:
    assert filter_by_tags(["b", "a"]) == parse_filter('tag in ("a", "b")')
    either = parse_filter('key = "k" or tag = "c"')
    assert both(filter_by_tags(["a"]), either) == parse_filter('tag = "a" and (key = "k" or tag = "c")')
