"""Bodies that are text in SQS, and JSON or bytes in the log."""

import pytest

from acklog.wire.record import Record
from app.sqs.messages.message_body import TEXT, body_text, stored_body


@pytest.mark.parametrize(
    "text", ['{"a": [1, "ä"]}', "[]", "17", '"x"', "null", " { } ", "\n[1]\n", "1e99999", "[" * 64 + "]" * 64]
)
def test_what_is_json_is_stored_as_json(text: str) -> None:
    assert stored_body(text) == (text.encode(), None)


@pytest.mark.parametrize(
    "text", ["hello", " ", "{", "[1,]", "nul", "-", "01", "<a/>", "1 2", "[" * 65 + "]" * 65, "{'a': 1}", "[" * 5000]
)
def test_what_is_not_is_text(text: str) -> None:
    assert stored_body(text) == (text.encode(), TEXT)


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (Record(b'{"a": 1}'), '{"a": 1}'),
        (Record('"\uffff\ufffe"'.encode()), '"\\uffff\\ufffe"'),
        (Record(b"\xff"), "/w=="),
        (Record("ä".encode(), content_type=TEXT), "ä"),
        (Record(b"<a/>", content_type="Text/XML"), "<a/>"),
        (Record("ä".encode(), content_type='text/plain; format=flowed; charset="UTF-8"'), "ä"),
        (Record("ä".encode("latin-1"), content_type="text/plain; charset=latin-1"), "5A=="),
        (Record("ä".encode("latin-1"), content_type="text/plain"), "5A=="),
        (Record(b"a\x00", content_type="text/plain"), "YQA="),
        (Record(b"abc", content_type="application/octet-stream"), "YWJj"),
        (Record(b"", "k", content_type="application/octet-stream"), ""),
    ],
)
def test_bodies_of_others(record: Record, text: str) -> None:
    assert body_text(record) == text
