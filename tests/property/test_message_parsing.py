"""Whatever a client sends: bodies are kept byte for byte, and nonsense ends in a problem, never in anything else."""

import json
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acklog.wire.limits import JSON_DEPTH_MAX
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.calls.message_view import encode_line, view_of
from app.calls.send import Outgoing, Produce, record_of
from app.http.exchange.turns import Steps, at_once
from app.http.parsing.accept import chosen_type
from app.http.parsing.array_pieces import ArrayPieces
from app.http.parsing.groups import parse_copy, parse_group, parse_pause, parse_positions
from app.http.parsing.json_text import is_too_deep
from app.http.parsing.large_send import large_envelope_steps
from app.http.parsing.query import NO_ARGUMENTS
from app.http.parsing.receive import parse_receive
from app.http.parsing.records import parse_records
from app.http.parsing.send import parse_send, send_steps
from app.http.parsing.settle import parse_ack, parse_extend, parse_nack
from app.http.parsing.topics import parse_topic
from cluster.errors import ServerError

_WHITESPACE = st.text(alphabet=" \t\r\n", max_size=3)
_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    """Valid JSON in any dress: escapes or not, indented or not."""
    value = draw(_VALUES)
    return json.dumps(
        value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 0, 3, "\t"])), sort_keys=True
    )


def stored(text: bytes, content_type: str = "application/json", query: bytes = b"") -> list[Record]:
    command = parse_send(text, content_type=content_type, query_string=query)
    records = []
    for message in command.messages:
        assert not isinstance(message, ServerError), message
        records.append(record_of(message))
    return records


@given(json_texts(), _WHITESPACE, _WHITESPACE)
@example('"\\u0000"', "", "")
@example("-0.0e+5", " ", "\n")
def test_a_body_is_kept_byte_for_byte(body: str, before: str, after: str) -> None:
    envelope = f'{{"queue": "q", "body":{before}{body}{after}, "key": "k"}}'.encode()
    assert [record.body for record in stored(envelope)] == [body.encode()]


@given(st.lists(json_texts(), min_size=1, max_size=5), _WHITESPACE)
def test_the_bodies_of_a_batch_are_kept_byte_for_byte(bodies: list[str], space: str) -> None:
    messages = f",{space}".join(f'{{"body":{space}{body}}}' for body in bodies)
    envelope = f'{{"messages":[{messages}], "queue": "q"}}'.encode()
    assert [record.body for record in stored(envelope)] == [body.encode() for body in bodies]


@given(st.lists(json_texts().filter(lambda text: "\n" not in text), min_size=1, max_size=5))
def test_the_bodies_of_lines_are_kept_byte_for_byte(bodies: list[str]) -> None:
    lines = "\n".join(f'{{"body":{body}}}' for body in bodies).encode()
    assert [record.body for record in stored(lines, "application/x-ndjson", b"queue=q")] == [
        body.encode() for body in bodies
    ]


@given(st.binary(max_size=100), st.sampled_from(["text/plain", "application/octet-stream", "image/png;a=b"]))
def test_raw_bytes_are_kept(body: bytes, content_type: str) -> None:
    [record] = stored(body, content_type, b"queue=q")
    assert (record.body, record.content_type) == (body, content_type)


@given(json_texts())
def test_a_line_of_output_is_one_line_and_the_same_value(body: str) -> None:
    line = encode_line(
        view_of(
            Record(body.encode()), message_id="m", queue="q", partition=0, offset=0, append_time_ms=1, topic_ttl_ms=None
        )
    )
    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    assert b"\r" not in line
    assert json.loads(line)["body"] == json.loads(body)


def depth_of(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max((depth_of(each) for each in value.values()), default=0)
    if isinstance(value, list):
        return 1 + max((depth_of(each) for each in value), default=0)
    return 0


@given(json_texts(), st.integers(0, 6))
def test_the_depth_is_exact(text: str, limit: int) -> None:
    assert is_too_deep(text.encode(), limit=limit) == (depth_of(json.loads(text)) > limit)


@given(st.lists(json_texts(), min_size=1, max_size=8), _WHITESPACE, st.integers(2, 40))
def test_an_array_is_cut_between_its_elements(elements: list[str], space: str, window_bytes: int) -> None:
    text = ("[" + f"{space},".join(elements) + "] , {").encode()
    pieces = ArrayPieces(text, 1, window_bytes=window_bytes)
    found = [json.loads(b"[%b]" % text[piece.start : piece.end]) for piece in pieces if piece is not None]
    assert [element for piece in found for element in piece] == [json.loads(element) for element in elements]
    assert text[pieces.end :] == b"] , {"


@given(
    st.lists(json_texts() | st.just("{}") | st.just('{"key": 5}'), max_size=5),
    st.sampled_from(["", ',"key":"k"', ',"acks":1']),
)
def test_large_and_small_requests_are_read_alike(bodies: list[str], rest: str) -> None:
    messages = [
        f'{{"body":{body},"key":"k"}}' if number % 2 else f'{{"body": {body}}}' for number, body in enumerate(bodies)
    ]
    body = ('{"queue":"q", "messages": [' + ", ".join(messages) + "]" + rest + "}").encode()
    assert outcome(large_envelope_steps(body, NO_ARGUMENTS)) == outcome(envelope_steps(body))


@given(st.binary(max_size=60))
def test_text_that_is_not_json_is_refused_in_pieces_as_in_one(garbage: bytes) -> None:
    for body in (b'{"queue":"q","messages":[' + garbage, b'{"queue":"q","messages":[1,' + garbage + b"]}"):
        assert outcome(large_envelope_steps(body, NO_ARGUMENTS)) == outcome(envelope_steps(body))


def envelope_steps(body: bytes) -> Steps[Produce]:
    return send_steps(body, content_type="application/json", query_string=b"")


def outcome(steps: Steps[Produce]) -> object:
    """What a request came to; of a refused one only that: large ones may have another fault found first."""
    try:
        command = at_once(steps)
    except ServerError as error:
        return "refused" if error.code.status == 400 else error
    messages = [
        (each.code, each.field)
        if isinstance(each, ServerError)
        else (record_of(each), isinstance(each, Outgoing) and each.partition)
        for each in command.messages
    ]
    return command.queue, command.acks, command.is_batch, messages


@pytest.mark.parametrize("text", ['"' + "[" * 100 + '"', '"\\"[' + "{" * 100 + '"', "[" + ",".join(["[]"] * 100) + "]"])
def test_brackets_in_strings_and_in_a_row_are_not_depth(text: str) -> None:
    assert not is_too_deep(text.encode(), limit=JSON_DEPTH_MAX)


_FIELDS = [
    "queue",
    "topic",
    "body",
    "bodyBase64",
    "messages",
    "key",
    "acks",
    "partition",
    "headers",
    "tags",
    "x",
    "timestamp",
    "contentType",
    "dedupId",
    "delaySeconds",
    "receipt",
    "receipts",
    "messageId",
    "to",
    "mode",
    "visibilitySeconds",
    "config",
    "settings",
    "partitions",
    "offset",
    "dryRun",
]
_PARAMETERS = ["queue", "topic", "max", "offset", "time", "tags", "waitSeconds", "partition", "key", "%zz"]
_ARGUMENTS = ["", "1", "-1", "1.5", "earliest", "%FF", "%00", "a+b", "nan", "9" * 30, "%D9%A3"]
_JSONISH = st.one_of(
    st.binary(max_size=60),
    json_texts().map(str.encode),
    st.dictionaries(st.sampled_from(_FIELDS), _VALUES, max_size=6).map(lambda value: json.dumps(value).encode()),
)
_QUERIES = st.one_of(
    st.binary(max_size=40),
    st.lists(st.tuples(st.sampled_from(_PARAMETERS), st.sampled_from(_ARGUMENTS)), max_size=4).map(
        lambda pairs: "&".join(f"{name}={value}" for name, value in pairs).encode()
    ),
)
_FORM = "application/x-www-form-urlencoded"
_TYPES = st.sampled_from(["", "application/json", "application/x-ndjson", _FORM, "text/plain", "é", ";", "\x00"])


def fault_of(parse: Callable[[], object]) -> ServerError | None:
    """The problem that parsing ended in; anything else that is raised fails the test."""
    try:
        parse()
    except ServerError as error:
        return error
    return None


def is_the_clients(fault: ServerError | None) -> bool:
    return fault is None or (400 <= fault.code.status < 500 and len(fault.detail) < 2000)


@given(_JSONISH, _TYPES, _QUERIES)
def test_nonsense_to_send_ends_in_a_problem(body: bytes, content_type: str, query: bytes) -> None:
    def parse() -> None:
        command = parse_send(body, content_type=content_type, query_string=query)
        assert command.messages
        for message in command.messages:
            assert not isinstance(message, ServerError) or is_the_clients(message)

    assert is_the_clients(fault_of(parse))


@given(_JSONISH)
@pytest.mark.parametrize(
    "parse", [parse_ack, parse_nack, parse_extend, parse_topic, parse_group, parse_positions, parse_copy, parse_pause]
)
def test_nonsense_in_bodies_ends_in_a_problem(parse: Callable[[bytes], object], body: bytes) -> None:
    assert is_the_clients(fault_of(lambda: parse(body)))


@given(_QUERIES)
def test_nonsense_in_queries_ends_in_a_problem(query: bytes) -> None:
    assert is_the_clients(fault_of(lambda: parse_receive(query)))
    assert is_the_clients(fault_of(lambda: parse_records("t", "0", query)))


@given(st.text(max_size=40))
@example("text/html;q=0, */*;q=0.1")
@example("application/*;q=1.000")
def test_nonsense_in_accept_ends_in_a_problem(accept: str) -> None:
    fault = fault_of(lambda: chosen_type(accept, ("application/json", "application/x-ndjson")))
    assert fault is None or fault.code is ProblemCode.NOT_ACCEPTABLE
