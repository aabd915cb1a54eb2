"""The protocol's limits, on a transport that only remembers."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from acklog.wire.problems import ProblemCode
from app.configuration.server_settings import Settings
from app.http.protocol.limited_protocol import REMEMBERED_HEAD_BYTES_MAX, LimitedHttpProtocol, make_http_protocol
from app.http.protocol.web_guard import guard_of
from tests.support.http_protocol_client import MemoryTransport
from tests.support.manual_clock import settle

SETTINGS = Settings(
    header_timeout_ms=20,
    keep_alive_ms=1000,
    write_timeout_ms=20,
    header_bytes_max=1024,
    url_bytes_max=256,
    pipelined_requests_max=2,
    connections_max=2,
)
NO_HOSTS = (b"localhost:1@evil", b"a@b", b"a/b", b"a:b", b"a:1:2", b"[::1", b"::1", b"[]", b"[::1]x", b"a b")
SINGLE = (b"authorization", b"content-type", b"content-encoding", b"idempotency-key", b"origin", b"sec-fetch-site")
GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


def codes_in(transport: MemoryTransport) -> list[int]:
    """The statuses of the answers that were written, in order."""
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d+) ", transport.written)]


class Gate:
    """An application that answers when it is told to, without reading the body."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.may_answer.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def connect(gate: Gate) -> Callable[[], tuple[LimitedHttpProtocol, MemoryTransport]]:
    config = uvicorn.Config(gate, http=make_http_protocol(SETTINGS), lifespan="off", log_config=None)
    config.load()
    state = ServerState()

    def one() -> tuple[LimitedHttpProtocol, MemoryTransport]:
        protocol = config.http_protocol_class(config=config, server_state=state, app_state={})
        assert isinstance(protocol, LimitedHttpProtocol)
        transport = MemoryTransport()
        protocol.connection_made(transport)
        return protocol, transport

    return one


async def test_a_plain_request_is_served_and_the_connection_kept(connect: Any) -> None:
    protocol, transport = connect()
    protocol.data_received(GET)
    await settle()
    assert transport.written.startswith(b"HTTP/1.1 200")
    assert not transport.is_closing()
    protocol.data_received(GET)
    await settle()
    assert transport.written.count(b"HTTP/1.1 200") == 2
    protocol.connection_lost(None)


async def test_a_connection_that_sends_nothing_is_idle_and_not_slow(connect: Any) -> None:
    _, transport = connect()
    await asyncio.wait_for(transport.closed.wait(), 5)
    assert transport.written == b""


@pytest.mark.parametrize(
    "sent",
    [b"\r\n", b"GET / HT", b"GET / HTTP/1.1\r\nhost: a\r\n", GET + b"\r\n", GET + b"GET / HTTP/1.1\r\nho"],
)
async def test_headers_that_do_not_arrive_end_the_connection(connect: Any, sent: bytes) -> None:
    protocol, transport = connect()
    if sent:
        protocol.data_received(sent)
    if sent == GET + b"\r\n":
        await settle()
        protocol.data_received(b"\r\n")
    await asyncio.wait_for(transport.closed.wait(), 5)
    assert b"HTTP/1.1 408" in transport.written


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"GET /" + b"x" * 300 + b" HTTP/1.1\r\n\r\n", ProblemCode.URI_TOO_LONG),
        (b"GET / HTTP/1.1\r\na: " + b"x" * 1100 + b"\r\n\r\n", ProblemCode.HEADERS_TOO_LARGE),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 600 + b"\r\n", ProblemCode.HEADERS_TOO_LARGE),
        (b"\x16\x03\x01 no HTTP\r\n\r\n", ProblemCode.MALFORMED_HTTP),
        (b"GET / HTTP/1.1\r\n\r\n", ProblemCode.MALFORMED_HTTP),
        (b"GET / HTTP/1.1\r\nhost: a\r\nHost: a\r\n\r\n", ProblemCode.MALFORMED_HTTP),
        (b"GET / HTTP/1.0\r\nhost: a\r\nhost: b\r\n\r\n", ProblemCode.MALFORMED_HTTP),
        (b"GET /\r\n\r\n", ProblemCode.MALFORMED_HTTP),
        (b"GET / HTTP/0.9\r\nhost: a\r\n\r\n", ProblemCode.MALFORMED_HTTP),
        (b"GET / HTTP/2.0\r\nhost: a\r\n\r\n", ProblemCode.MALFORMED_HTTP),
        *((b"GET / HTTP/1.1\r\nhost: %b\r\n\r\n" % host, ProblemCode.MALFORMED_HTTP) for host in NO_HOSTS),
        *(
            (
                b"GET / HTTP/1.1\r\nhost: a\r\n%b: a\r\nX: b\r\n%b: a\r\n\r\n" % (name, name.title()),
                ProblemCode.MALFORMED_HTTP,
            )
            for name in SINGLE
        ),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ProblemCode.MALFORMED_HTTP),
        (
            b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
            ProblemCode.UNSUPPORTED_MEDIA_TYPE,
        ),
    ],
)
async def test_what_cannot_be_taken_is_refused_once(connect: Any, sent: bytes, code: ProblemCode) -> None:
    protocol, transport = connect()
    for at in range(0, len(sent), 100):
        protocol.data_received(sent[at : at + 100])
    await settle()
    assert transport.written.startswith(b"HTTP/1.1 %d " % code.status)
    assert transport.written.count(b"\r\n\r\n") == 1
    document = json.loads(transport.written.partition(b"\r\n\r\n")[2])
    assert document["code"] == code.name
    assert transport.is_closing()


async def test_the_largest_url_and_headers_are_served(connect: Any) -> None:
    protocol, transport = connect()
    protocol.data_received(b"GET /" + b"x" * 255 + b" HTTP/1.1\r\nhost: a\r\na: " + b"x" * 1018 + b"\r\n\r\n")
    await settle()
    assert transport.written.startswith(b"HTTP/1.1 200")
    protocol.connection_lost(None)


async def test_too_many_pipelined_requests(connect: Any, gate: Gate) -> None:
    gate.may_answer.clear()
    protocol, transport = connect()
    protocol.data_received(GET * 3)
    await settle()
    assert not transport.is_closing()
    protocol.data_received(GET)
    protocol.data_received(GET * 3)  # nothing more is taken
    await settle()
    assert (transport.written, transport.is_closing()) == (b"", False)
    gate.may_answer.set()
    await settle()
    assert codes_in(transport) == [200, 200, 200, 503]
    assert b"TOO_MANY_CONNECTIONS" in transport.written
    assert transport.is_closing()


async def test_many_more_pipelined_requests_in_one_piece(connect: Any) -> None:
    protocol, transport = connect()
    protocol.data_received(GET * 40)
    await settle()
    assert codes_in(transport) == [200, 200, 200, 503]
    assert transport.is_closing()


async def test_what_is_wrong_behind_a_good_request_is_answered_behind_it(connect: Any, gate: Gate) -> None:
    gate.may_answer.clear()
    protocol, transport = connect()
    protocol.data_received(GET + b"GET / HTTP/7.1\r\nhost: a\r\n\r\n" + GET)
    await settle()
    assert (transport.written, transport.is_closing()) == (b"", False)
    gate.may_answer.set()
    await settle()
    assert codes_in(transport) == [200, 400]
    assert transport.is_closing()


CHUNKED = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
SIZED = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n12345"
BAD_CHUNK = b"5\r\nhello\r\nno number\r\n"


@pytest.mark.parametrize("before", [b"", GET])
@pytest.mark.parametrize("is_short", [False, True])
async def test_a_body_that_is_none_is_answered(connect: Any, gate: Gate, before: bytes, is_short: bool) -> None:
    gate.may_answer.clear()
    protocol, transport = connect()
    if is_short:
        protocol.data_received(SIZED)
        await settle()
        protocol.eof_received()
        assert transport.is_closing()
    else:
        protocol.data_received(before + CHUNKED)
        await settle()
        protocol.data_received(BAD_CHUNK)
        await settle()
    gate.may_answer.set()
    await settle()
    assert codes_in(transport) == ([200] if before and not is_short else []) + [400]
    assert (b"BODY_INCOMPLETE" if is_short else b"MALFORMED_HTTP") in transport.written
    assert transport.is_closing()
    protocol.connection_lost(None)
    await settle()


async def test_what_is_wrong_with_a_body_that_was_answered_already_ends_the_connection_only(connect: Any) -> None:
    for rest in (BAD_CHUNK, b""):
        protocol, transport = connect()
        protocol.data_received(CHUNKED)
        await settle()
        if rest:
            protocol.data_received(rest)
            assert transport.is_closing()
        else:
            protocol.eof_received()
        assert codes_in(transport) == [200]
        protocol.connection_lost(None)


async def test_a_client_that_leaves_between_requests_is_told_nothing(connect: Any) -> None:
    protocol, transport = connect()
    protocol.data_received(GET)
    await settle()
    protocol.eof_received()
    assert codes_in(transport) == [200]
    protocol.connection_lost(None)


async def test_too_many_connections(connect: Any) -> None:
    held = [connect() for _ in range(2)]
    _, refused = connect()
    assert refused.written.startswith(b"HTTP/1.1 503")
    assert ProblemCode.TOO_MANY_CONNECTIONS.name.encode() in refused.written
    assert b"retry-after: 1" in refused.written
    assert refused.is_closing()
    for protocol, transport in held:
        assert not transport.is_closing()
        protocol.connection_lost(None)


async def test_a_body_that_was_not_waited_for_is_dropped_for_a_while_only(connect: Any) -> None:
    protocol, transport = connect()
    protocol.data_received(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nx")
    await settle()
    assert transport.written.startswith(b"HTTP/1.1 200")
    assert not transport.is_closing()
    protocol.data_received(b"x")
    await asyncio.wait_for(transport.closed.wait(), 5)
    assert transport.written.count(b"HTTP/1.1") == 1


async def test_after_a_dropped_body_the_connection_goes_on(connect: Any) -> None:
    protocol, transport = connect()
    protocol.data_received(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nx")
    await settle()
    protocol.data_received(b"x" + GET)
    await settle()
    assert transport.written.count(b"HTTP/1.1 200") == 2
    protocol.connection_lost(None)


async def test_what_is_not_http(connect: Any) -> None:
    protocol, transport = connect()
    protocol.data_received(b"\x16\x03\x01 hello\r\n\r\n")
    assert transport.written.startswith(b"HTTP/1.1 400")
    assert transport.is_closing()


class Watcher:
    """An application that waits for the client to leave."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.told: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.begun.append(scope["path"])
        while (await receive())["type"] != "http.disconnect":
            pass
        self.told.append(scope["path"])


async def test_the_running_request_hears_that_the_client_left_and_the_next_one_is_not_begun() -> None:
    watcher = Watcher()
    config = uvicorn.Config(watcher, http=make_http_protocol(SETTINGS), lifespan="off", log_config=None)
    config.load()
    make: Any = config.http_protocol_class
    protocol = make(config=config, server_state=ServerState(), app_state={})
    transport = MemoryTransport()
    protocol.connection_made(transport)
    protocol.data_received(b"GET /first HTTP/1.1\r\nhost: a\r\n\r\nGET /second HTTP/1.1\r\nhost: a\r\n\r\n")
    await settle()
    transport.close()
    protocol.connection_lost(None)
    await settle()
    assert (watcher.begun, watcher.told) == (["/first"], ["/first"])


async def test_a_client_that_does_not_read_is_cut_off(connect: Any) -> None:
    protocol, transport = connect()
    protocol.pause_writing()
    await asyncio.wait_for(transport.aborted.wait(), 5)


async def test_a_client_that_reads_in_time_is_not_cut_off(connect: Any) -> None:
    protocol, transport = connect()
    protocol.pause_writing()
    protocol.resume_writing()
    protocol.pause_writing()
    protocol.connection_lost(None)
    await asyncio.sleep(2 * SETTINGS.write_timeout_ms / 1000)
    assert not transport.aborted.is_set()


async def test_http_1_0_needs_no_host(connect: Any) -> None:
    protocol, transport = connect()
    protocol.data_received(b"GET / HTTP/1.0\r\n\r\n")
    await settle()
    assert transport.written.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "host", [b"", b"a_b.c-d:", b"a:65535", b"[::1]:8080", b"[fe80::1]", b"127.0.0.1:1", b"x~!$%20"]
)
async def test_hosts_of_every_form_are_served(connect: Any, host: bytes) -> None:
    protocol, transport = connect()
    protocol.data_received(b"GET / HTTP/1.1\r\nhost: %b\r\naccept: a\r\naccept: b\r\n\r\n" % host)
    await settle()
    assert codes_in(transport) == [200]
    protocol.connection_lost(None)


GOOD_FIRST = b"GET /docs HTTP/1.1\r\nhost: localhost\r\norigin: http://elsewhere\r\n\r\n"


@pytest.mark.parametrize(
    ("second", "code"),
    [
        (GOOD_FIRST.replace(b"/docs", b"/messages"), ProblemCode.ORIGIN_NOT_ALLOWED),
        (GOOD_FIRST.replace(b"GET", b"POST"), ProblemCode.ORIGIN_NOT_ALLOWED),
        (GOOD_FIRST.replace(b"localhost", b"elsewhere"), ProblemCode.HOST_NOT_ALLOWED),
        (GOOD_FIRST.replace(b"localhost", b"a@b"), ProblemCode.MALFORMED_HTTP),
        (GOOD_FIRST.replace(b"1.1", b"1.2"), ProblemCode.MALFORMED_HTTP),
    ],
)
async def test_a_good_head_says_nothing_for_another_one(gate: Gate, second: bytes, code: ProblemCode) -> None:
    """What a connection remembers is one head, whole: the same headers are no good for another path."""
    guard = guard_of(listens_on="127.0.0.1", allowed_hosts="", has_tokens=False)
    config = uvicorn.Config(gate, http=make_http_protocol(SETTINGS, guard), lifespan="off", log_config=None)
    config.load()
    protocol = config.http_protocol_class(config=config, server_state=ServerState(), app_state={})
    transport = MemoryTransport()
    protocol.connection_made(transport)
    for request in (GOOD_FIRST, GOOD_FIRST, second):
        protocol.data_received(request)
        await settle()
    assert codes_in(transport) == [200, 200, code.status]
    assert code.name.encode() in transport.written


async def test_a_long_head_is_not_remembered(connect: Any) -> None:
    protocol, transport = connect()
    protocol.data_received(GET)
    await settle()
    remembered = protocol._good_head
    long_value = b"x" * REMEMBERED_HEAD_BYTES_MAX
    assert remembered is not None
    protocol.settings = replace(SETTINGS, header_bytes_max=4 * REMEMBERED_HEAD_BYTES_MAX)
    protocol.data_received(b"GET / HTTP/1.1\r\nhost: a\r\na: " + long_value + b"\r\n\r\n")
    await settle()
    assert codes_in(transport) == [200, 200]
    assert protocol._good_head == remembered
