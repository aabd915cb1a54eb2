"""The language of filters."""

from acklog.filters.filter_error import FilterError
from acklog.filters.message_filter import both, filter_by_tags, parse_filter
from acklog.wire.limits import FILTER_BYTES_MAX
from acklog.wire.record import Record, tag_filter_of
from tests.fuzz.fuzz_target import FuzzTarget

_RECORDS = (
    Record(b"1"),
    Record(b"1", "a", {"x": "1", "region": "eu"}, ["a", "b"]),
    Record(b"1", "", {"x": ""}, []),
    Record(b"1", "ab%c", {"odd name": 'quo"te'}, ["%", "\\"]),
)
_SEEDS = (
    b'tag = "a"',
    b'tag in ("a", "b") and not key like "ab%"',
    b'header.x != \'1\' or (exists(key) and header."odd name" = "quo\\"te")',
    b'not not (tag like "%a%b%" or key not in ("x", "y\\\\"))',
    b"exists(header.region) AND exists(tag)",
    b'key like "\\%%\\"%%"',
    b"tag = 'a' or",
    'key = "é\u2028"'.encode(),
)


def _read(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    try:
        found = parse_filter(text)
    except FilterError as error:
        assert 0 <= error.position <= len(text)
        raise
    assert len(found.text.encode()) <= FILTER_BYTES_MAX
    again = parse_filter(found.text)
    assert again.text == found.text, "the canonical text is not canonical"
    assert again.expression == found.expression
    for record in _RECORDS:
        matches = found.matches(record)
        assert again.matches(record) is matches
        assert found.may_match(tag_filter_of([record])) or not matches, "a batch was passed over that has a match"
        assert both(found, filter_by_tags(["a"])).matches(record) is (matches and "a" in (record.tags or []))


TARGET = FuzzTarget(_read, (FilterError,), lambda: _SEEDS)
