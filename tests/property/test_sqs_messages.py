"""Any message that SQS takes comes back byte for byte, through the log and through Acklog's own API."""

import base64
import json

from hypothesis import given
from hypothesis import strategies as st

from acklog.wire.record import Record
from app.auth.principal import ANYONE
from app.calls.message_view import view_of
from app.calls.send import record_of
from app.sqs.messages.attribute_headers import attributes_of
from app.sqs.messages.message_attribute import MessageAttribute
from app.sqs.messages.message_body import body_text
from app.sqs.messages.outgoing_message import OutgoingMessage
from app.sqs.messages.outgoing_record import sendable_of
from app.sqs.messages.trace_header import trace_of
from app.sqs.queue import Queue
from tests.support.sqs_queues import queue_of

CHARACTERS = st.one_of(
    st.characters(
        min_codepoint=0x20, max_codepoint=0x10FFFF, exclude_categories=["Cs"], exclude_characters="\ufffe\uffff"
    ),
    st.sampled_from("\t\n\r"),
)
TEXTS = st.text(CHARACTERS, min_size=1, max_size=30)
JSON_TEXTS = st.recursive(st.none() | st.booleans() | st.integers() | TEXTS, st.lists, max_leaves=5).map(json.dumps)
NAMES = st.one_of(
    st.from_regex(r"[A-Za-z0-9_-]{1,20}(\.[A-Za-z0-9_-]{1,20}){0,2}", fullmatch=True),
    st.sampled_from(["traceparent", "sqs.types", "sqs.attributes", "sqs.x", "acklog-x", "x" * 256]),
).filter(lambda name: not name.lower().startswith(("aws.", "amazon.")))
LABELS = st.one_of(st.just(""), st.sampled_from([".x", ".int", "." + "y" * 200]))
LONG = st.integers(4_000, 5_000).map(lambda count: "ä" * count)


@st.composite
def attributes(draw: st.DrawFn) -> MessageAttribute:
    kind, label = draw(st.sampled_from(["String", "Number", "Binary"])), draw(LABELS)
    if kind == "Binary":
        return MessageAttribute(data_type=kind + label, binary_value=draw(st.binary(min_size=1, max_size=40)))
    value = draw(TEXTS | LONG) if kind == "String" else str(draw(st.integers(-(10**30), 10**30)))
    return MessageAttribute(data_type=kind + label, string_value=value)


MESSAGES = st.builds(
    OutgoingMessage,
    body=TEXTS | JSON_TEXTS,
    attributes=st.dictionaries(NAMES, attributes(), max_size=10),
    system_attributes=st.one_of(
        st.just({}),
        TEXTS.map(lambda text: {"AWSTraceHeader": MessageAttribute(data_type="String", string_value=text)}),
    ),
)


def stored(message: OutgoingMessage, queue: Queue) -> Record:
    return record_of(sendable_of(queue, message, ANYONE, 5))


@given(MESSAGES)
def test_it_comes_back_as_it_was(message: OutgoingMessage) -> None:
    record = stored(message, queue_of())
    assert body_text(record) == message.body
    assert attributes_of(record.headers) == message.attributes
    trace = message.system_attributes.get("AWSTraceHeader")
    assert trace_of(record.headers or {}) == (None if trace is None else trace.string_value)


@given(MESSAGES)
def test_readers_by_http_get_the_same_bytes(message: OutgoingMessage) -> None:
    view = view_of(
        stored(message, queue_of()),
        message_id="m",
        queue="orders",
        partition=0,
        offset=0,
        append_time_ms=0,
        topic_ttl_ms=None,
    )
    if view.body_base64:
        assert base64.b64decode(view.body_base64).decode() == message.body
    else:
        assert bytes(view.body).decode() == message.body


@given(
    st.dictionaries(st.text(max_size=20), st.text(max_size=20), max_size=5),
    st.binary(max_size=30),
    st.text(max_size=20),
)
def test_a_message_of_anybody_can_be_told(headers: dict[str, str], data: bytes, content_type: str) -> None:
    record = Record(data, headers=headers, content_type=content_type)
    found = attributes_of(record.headers)
    assert all(each.string_value or each.binary_value for each in found.values())
    text = body_text(record)
    assert data in (text.encode(), base64.b64decode(text) if text.isascii() and len(text) % 4 == 0 else None)
