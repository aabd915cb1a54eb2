"""Attributes as headers: which are headers of their own, and what others' headers are."""

import json

import pytest

from acklog.wire.limits import HEADER_NAME_BYTES_MAX, HEADER_VALUE_BYTES_MAX, HEADERS_MAX
from app.sqs.messages.attribute_checks import ATTRIBUTES_MAX
from app.sqs.messages.attribute_headers import TYPE_BYTES_MAX, attributes_of, headers_of
from app.sqs.messages.message_attribute import MessageAttribute


def text(value: str, data_type: str = "String") -> MessageAttribute:
    return MessageAttribute(data_type=data_type, string_value=value)


def data(value: bytes, data_type: str = "Binary") -> MessageAttribute:
    return MessageAttribute(data_type=data_type, binary_value=value)


def test_readers_by_http_see_them() -> None:
    headers = headers_of({"city": text("Ulm"), "price": text("1.50", "Number.eur"), "seal": data(b"\x00\xff")})
    types = json.loads(headers.pop("sqs.types"))
    assert headers == {"city": "Ulm", "price": "1.50", "seal": "AP8="}
    assert types == {"price": "Number.eur", "seal": "Binary"}


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("x" * (HEADER_NAME_BYTES_MAX + 1), text("1")),
        ("long", text("ä" * (HEADER_VALUE_BYTES_MAX // 2) + "x")),
        ("typed", text("1", "Number." + "x" * TYPE_BYTES_MAX)),
        ("sqs.types", text("{}")),
        ("acklog-redrive", text("1")),
        ("traceparent", text("00-1")),
    ],
)
def test_what_a_header_cannot_hold_is_kept_all_the_same(name: str, attribute: MessageAttribute) -> None:
    headers = headers_of({name: attribute, "other": text("2")})
    assert headers.keys() == {"sqs.attributes", "other"}
    assert attributes_of(headers) == {name: attribute, "other": text("2")}


def test_at_the_limits_it_is_a_header() -> None:
    many = {
        f"{number}".rjust(HEADER_NAME_BYTES_MAX, "x"): text("1" * 30, "Number.".ljust(TYPE_BYTES_MAX, "y"))
        for number in range(ATTRIBUTES_MAX)
    }
    headers = headers_of(many)
    assert headers.keys() == {*many, "sqs.types"}
    assert len(headers["sqs.types"]) <= HEADER_VALUE_BYTES_MAX
    assert len(headers) <= HEADERS_MAX
    longest = {"x": text("v" * HEADER_VALUE_BYTES_MAX)}
    assert headers_of(longest).keys() == {"x"}


def test_headers_of_others() -> None:
    headers = {"tenant": "blue", "x y": "1", "empty": "", "bell": "\x07", "traceparent": "00", "acklog-schedule": "s"}
    assert attributes_of(headers) == {"tenant": text("blue")}


@pytest.mark.parametrize(
    "lie", ['{"a":"Number"}', '{"a":"Binary"}', '{"a":"Int"}', '{"a":1}', "[", "[" * 5000, "{}", ""]
)
def test_what_is_not_what_it_says_it_is_is_a_string(lie: str) -> None:
    assert attributes_of({"a": "ä", "sqs.types": lie}) == {"a": text("ä")}
    assert attributes_of({"a": "ä", "sqs.attributes": lie}) == {"a": text("ä")}
