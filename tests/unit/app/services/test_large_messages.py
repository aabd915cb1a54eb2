"""A large message is taken apart in another way than a small one, and what stands beside its body means the same."""

import pytest

from acklog.wire.record import Record
from app.calls.send import record_of
from app.http.parsing.send import parse_send
from cluster.errors import ServerError

SMALL = "x"
LARGE = "x" * 200_000
LINES = "application/x-ndjson"
BESIDE = [
    "",
    ',"headers":{"a":"b"}',
    ',"headers":{}',
    ',"headers":null',
    ',"headers":{"a":1}',
    ',"headers":[1]',
    ',"headers":"a"',
    ',"tags":["t","u"]',
    ',"tags":[]',
    ',"tags":null',
    ',"tags":{"a":"b"}',
    ',"tags":[1]',
    ',"headers":{"a":"b"},"tags":["t"],"key":"k","timestamp":5,"dedupId":"d","partition":1',
    ',"surely":"not"',
]


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("frame", ["single", "batch", "second of a batch", "line"])
def test_what_stands_beside_a_large_body(frame: str, beside: str) -> None:
    assert read(frame, beside, LARGE) == read(frame, beside, SMALL)


def read(frame: str, beside: str, body: str) -> list[Record | tuple[str, str | None]]:
    """What became of each message, without the body; a fault as its code and field."""
    message = f'"body":"{body}"{beside}'
    text = {
        "single": f'{{"queue":"q",{message}}}',
        "batch": f'{{"queue":"q","messages":[{{{message}}}]}}',
        "second of a batch": f'{{"queue":"q","messages":[{{"body":1}},{{{message}}}]}}',
        "line": f"{{{message}}}",
    }[frame]
    is_line = frame == "line"
    kind, query = (LINES, b"queue=q") if is_line else ("application/json", b"")
    try:
        produce = parse_send(text.encode(), content_type=kind, query_string=query)
    except ServerError as fault:
        return [told(fault)]
    return [told(each) if isinstance(each, ServerError) else without_body(record_of(each)) for each in produce.messages]


def told(fault: ServerError) -> tuple[str, str | None]:
    return fault.code.name, fault.field


def without_body(record: Record) -> Record:
    assert len(record.body) in (len(LARGE) + 2, len(SMALL) + 2, 1)
    return Record(b"", record.key, record.headers, record.tags, record.timestamp_ms, record.content_type)
