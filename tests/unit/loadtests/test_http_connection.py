"""The raw HTTP client understands an answer however its bytes are split, and refuses what it does not understand."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtests.http_connection import LOST, Answer, HttpConnection, make_request


class RecordingTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.is_aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def abort(self) -> None:
        self.is_aborted = True


def open_connection() -> tuple[HttpConnection, RecordingTransport, list[Answer]]:
    connection, transport = HttpConnection(), RecordingTransport()
    connection.connection_made(transport)
    answers: list[Answer] = []
    return connection, transport, answers


def answer_bytes(status: int, body: bytes) -> bytes:
    return b"HTTP/1.1 %d Text\r\nContent-Length: %d\r\nX-Name: value\r\n\r\n" % (status, len(body)) + body


@given(body=st.binary(max_size=300), cuts=st.lists(st.integers(1, 400), max_size=8))
def test_any_split_of_an_answer_gives_the_same_answer(body: bytes, cuts: list[int]) -> None:
    connection, transport, answers = open_connection()
    for status in (201, 503):
        connection.send(b"request", answers.append)
        data = answer_bytes(status, body)
        at = 0
        for cut in [*sorted({each for each in cuts if each < len(data)}), len(data)]:
            connection.data_received(data[at:cut])
            at = cut
    assert [(answer.status, answer.body) for answer in answers] == [(201, body), (503, body)]
    assert answers[0].header("x-name") == "value"
    assert transport.written == [b"request", b"request"]


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab",
        b"x" * 70_000,
    ],
)
def test_an_answer_that_is_not_understood_ends_the_connection(data: bytes) -> None:
    connection, transport, answers = open_connection()
    connection.send(b"request", answers.append)
    connection.data_received(data)
    assert transport.is_aborted
    assert answers == []
    connection.connection_lost(None)
    assert answers == [LOST]


def test_a_request_on_a_lost_connection_is_answered_at_once() -> None:
    connection, _, answers = open_connection()
    connection.connection_lost(None)
    connection.send(b"request", answers.append)
    assert answers == [LOST]


def test_a_missing_header_is_an_error() -> None:
    with pytest.raises(KeyError):
        Answer(200, b"", b"HTTP/1.1 200 OK\r\na: b\r\n").header("c")


def test_a_request_says_how_long_it_is() -> None:
    assert make_request("POST", "/x", b"{}").endswith(b"content-length: 2\r\n\r\n{}")
    assert (
        make_request("GET", "/x", accept="text/plain")
        == b"GET /x HTTP/1.1\r\nhost: localhost\r\naccept: text/plain\r\n\r\n"
    )


def test_two_requests_at_a_time_are_a_mistake() -> None:
    connection, _, answers = open_connection()
    connection.send(b"first", answers.append)
    with pytest.raises(AssertionError):
        connection.send(b"second", answers.append)
    assert answers == []
