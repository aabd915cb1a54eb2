"""Single sends straight from the HTTP parser: what is taken, in which order answers come, what is given back."""

import asyncio
import json
import re
from collections.abc import AsyncIterator

import pytest

from acklog.wire.problems import ProblemCode
from app.auth.tokens import TokenTable, parse_token_table
from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.http.protocol.server_protocol import ServerProtocol
from app.http.protocol.single_sends import SINGLE_BYTES_MAX
from cluster.errors import ServerError
from tests.support.http_protocol_client import MemoryServer, MemoryTransport
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld

SETTINGS = Settings(body_timeout_ms=20, header_timeout_ms=20, request_bytes_in_flight_max=16 * 1024 * 1024)
BODY = b'{"queue":"orders","key":"k","body":{"n": 1}}'


def post(body: bytes = BODY, *headers: bytes, target: bytes = b"/messages", version: bytes = b"1.1") -> bytes:
    head = b"POST %b HTTP/%b\r\nhost: a\r\ncontent-length: %d\r\n" % (target, version, len(body))
    return head + b"".join(header + b"\r\n" for header in headers) + b"\r\n" + body


GET = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"


class Rig:
    def __init__(self, settings: Settings = SETTINGS, *, tokens: TokenTable | None = None) -> None:
        self.world = MemoryWorld(settings, tokens=tokens)
        self.application = create_server_app(self.world.gateway)
        self.server = MemoryServer(self.application, settings)

    def connect(self) -> tuple[ServerProtocol, MemoryTransport]:
        return self.server.connect()

    async def exchange(self, *parts: bytes) -> bytes:
        """What comes back for one connection's bytes."""
        protocol, transport = self.connect()
        for part in parts:
            protocol.data_received(part)
        await settle()
        transport.closed.set()
        protocol.connection_lost(None)
        await settle()
        return transport.written

    async def held_bytes(self) -> int:
        """What the metrics say is held of request bodies."""
        metrics = (await self.exchange(b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n")).decode()
        return int(float(metrics.partition("\nacklog_request_body_bytes ")[2].partition("\n")[0]))


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig()
    first = await rig.exchange(post())  # the topic is created the ordinary way
    assert first.startswith(b"HTTP/1.1 201 ")
    rig.server.asgi_requests = 0
    yield rig
    assert await rig.held_bytes() == 0


async def test_a_plain_send_needs_no_application(rig: Rig) -> None:
    answer = await rig.exchange(post())
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 201 Created\r\n")
    assert b"content-type: application/json" in head
    assert b"\r\ndate: " in head
    document = json.loads(body)
    assert document["offset"] == 1
    assert body.endswith(b"}\n")
    assert rig.server.asgi_requests == 0


@pytest.mark.parametrize("at", range(1, len(post())))
async def test_it_may_come_in_two_pieces(rig: Rig, at: int) -> None:
    whole = post()
    answer = await rig.exchange(whole[:at], whole[at:])
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert rig.server.asgi_requests == 0


@pytest.mark.parametrize(
    "request_bytes",
    [
        post(BODY, b"idempotency-key: a"),
        post(BODY, b"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        post(b'"lines"', b"content-type: application/x-ndjson", target=b"/messages?queue=orders"),
        post(BODY, target=b"/messages?acks=all"),
        post(BODY, version=b"1.0"),
    ],
)
async def test_what_asks_for_more_goes_the_ordinary_way(rig: Rig, request_bytes: bytes) -> None:
    answer = await rig.exchange(request_bytes)
    assert answer[9:12] in {b"201", b"207", b"400"}
    assert rig.server.asgi_requests == 1


@pytest.mark.parametrize(
    "request_bytes",
    [
        post(b'{"queue":"orders","messages":[{"body":1}]}'),
        post(b'{"queue":"orders","body":1,"acks":1}'),
        post(b'{"queue":"orders","body":1,"dedupId":"x"}'),
        post(b'{"queue":"other","body":1}'),
        post(b'{"queue":"orders","body":"' + b"x" * SINGLE_BYTES_MAX + b'"}'),
    ],
)
async def test_what_has_to_wait_for_something_needs_a_task_and_no_application(rig: Rig, request_bytes: bytes) -> None:
    answer = await rig.exchange(request_bytes)
    assert answer[9:12] == b"201"
    assert rig.server.asgi_requests == 0


@pytest.mark.parametrize(
    ("request_bytes", "code"),
    [
        (post(b"{"), "INVALID_JSON"),
        (post(b'{"queue":"orders","body":"\xff"}'), "INVALID_JSON"),
        (post(b'{"queue":"orders"}'), "MISSING_FIELD"),
        (post(b'{"queue":"orders","body":1,"nonsense":1}'), "UNKNOWN_FIELD"),
        (post(b'{"queue":"orders","body":1,"delaySeconds":-1}'), "INVALID_FIELD"),
        (post(b'{"queue":"orders","body":1,"partition":99}'), "PARTITION_NOT_FOUND"),
    ],
)
async def test_faults_are_told_as_by_the_application(rig: Rig, request_bytes: bytes, code: str) -> None:
    answer = await rig.exchange(request_bytes)
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == code
    assert rig.server.asgi_requests == 0


async def test_pipelined_requests_are_answered_in_order(rig: Rig) -> None:
    answer = await rig.exchange(post() + GET + post() + post() + GET)
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"201", b"200", b"201", b"201", b"200"]
    offsets = [json.loads(line)["offset"] for line in answer.split(b"\n") if line.startswith(b'{"messageId"')]
    assert offsets == [1, 2, 3]


async def test_one_behind_an_ordinary_request_waits_for_its_answer(rig: Rig) -> None:
    answer = await rig.exchange(GET + post())
    assert answer.index(b"200 OK") < answer.index(b"201 Created")


async def test_connection_close_is_kept(rig: Rig) -> None:
    protocol, transport = rig.connect()
    protocol.data_received(post(BODY, b"connection: close"))
    await settle()
    assert b"\r\nconnection: close\r\n" in transport.written
    assert transport.is_closing()
    protocol.connection_lost(None)


async def test_a_stop_waits_for_the_answer(rig: Rig) -> None:
    rig.world.node.may_produce.clear()
    protocol, transport = rig.connect()
    protocol.data_received(post())
    await settle()
    protocol.shutdown()
    assert not transport.is_closing()
    rig.world.node.may_produce.set()
    await settle()
    assert transport.written.startswith(b"HTTP/1.1 201 ")
    assert transport.is_closing()
    protocol.connection_lost(None)


async def test_a_client_that_left_gets_no_answer_and_holds_nothing(rig: Rig) -> None:
    rig.world.node.may_produce.clear()
    protocol, transport = rig.connect()
    protocol.data_received(post())
    await settle()
    assert await rig.held_bytes() == len(BODY)
    protocol.connection_lost(ConnectionResetError())
    rig.world.node.may_produce.set()
    await settle()
    assert transport.written == b""


async def test_a_client_that_leaves_within_the_body_holds_nothing() -> None:
    rig = Rig(Settings())  # which has the patience to be looked at
    protocol, transport = rig.connect()
    protocol.data_received(post()[:-5])
    assert await rig.held_bytes() == len(BODY) - 5  # what has come, not what is promised
    protocol.connection_lost(None)
    assert await rig.held_bytes() == 0
    assert transport.written == b""


async def test_a_body_that_does_not_arrive_in_time(rig: Rig) -> None:
    protocol, transport = rig.connect()
    protocol.data_received(post()[:-5])
    await asyncio.wait_for(transport.closed.wait(), 5)
    assert transport.written.startswith(b"HTTP/1.1 408 ")
    protocol.data_received(post()[-5:])
    await settle()
    assert transport.written.count(b"HTTP/1.1") == 1
    protocol.connection_lost(None)


async def test_a_failure_is_a_problem_and_is_counted(rig: Rig) -> None:
    rig.world.node.fail("produce", ServerError(ProblemCode.STORAGE_FULL, "no space", retry_after_ms=3000))
    answer = await rig.exchange(post())
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: 3\r\n" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "STORAGE_FULL"
    metrics = await rig.exchange(b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n")
    assert b'acklog_messages_refused_total{code="STORAGE_FULL"} 1.0' in metrics
    assert b'acklog_http_requests_total{method="POST",route="/messages",status="503"} 1.0' in metrics


async def test_bodies_beyond_the_allowance_are_refused() -> None:
    rig = Rig(Settings(request_bytes_in_flight_max=16 * 1024 * 1024))
    await rig.exchange(post())
    rig.world.node.may_produce.clear()
    body = b'{"queue":"orders","body":"' + b"x" * (SINGLE_BYTES_MAX - 28) + b'"}'
    held = [rig.connect() for _ in range(16 * 1024 * 1024 // len(body))]
    for protocol, _ in held:
        protocol.data_received(post(body))
    answer = await rig.exchange(post(body))
    assert answer.startswith(b"HTTP/1.1 429 ")
    rig.world.node.may_produce.set()
    await settle()
    for protocol, transport in held:
        assert transport.written.startswith(b"HTTP/1.1 201 ")
        protocol.connection_lost(None)
    assert await rig.held_bytes() == 0


TOKENS = {
    "tokens": [
        {"name": "reader", "token": "reader-token-000001", "scopes": ["read"]},
        {"name": "writer", "token": "writer-token-000001", "scopes": ["write"]},
    ]
}


@pytest.mark.parametrize("size", [1000, 10 * 1024 * 1024], ids=["single send", "large"])
@pytest.mark.parametrize(
    ("path", "token", "status"),
    [
        ("/messages", "", 401),
        ("/messages", "unknown-token-000001", 401),
        ("/messages", "reader-token-000001", 403),
        ("/ack", "writer-token-000001", 403),
        ("/ack", "", 401),
    ],
)
async def test_who_may_not_send_is_told_before_the_body_comes(path: str, token: str, status: int, size: int) -> None:
    """Nothing is held for it meanwhile."""
    rig = Rig(tokens=parse_token_table(json.dumps(TOKENS).encode()))
    protocol, transport = rig.connect()
    authorization = f"authorization: Bearer {token}\r\n" if token else ""
    head = f"POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: {min(size, 200_000) if path == '/ack' else size}\r\n"
    protocol.data_received(f"{head}{authorization}\r\n".encode())
    await settle()
    assert transport.written.startswith(b"HTTP/1.1 %d " % status), transport.written
    protocol.connection_lost(None)


@pytest.mark.parametrize("length", [SINGLE_BYTES_MAX, 16 * 1024 * 1024])
async def test_promised_bytes_are_not_held(length: int) -> None:
    """Far more is promised than the allowance has, and a byte of each has come."""
    rig = Rig(Settings(request_bytes_in_flight_max=16 * 1024 * 1024))
    promising = [rig.connect() for _ in range(300)]
    for protocol, _ in promising:
        protocol.data_received(b"POST /messages HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n{" % length)
    await settle()
    assert await rig.held_bytes() == 300
    assert (await rig.exchange(post())).startswith(b"HTTP/1.1 201 ")
    for protocol, _ in promising:
        protocol.connection_lost(None)
    await settle()
    assert await rig.held_bytes() == 0


async def test_a_body_that_comes_byte_by_byte(rig: Rig) -> None:
    request = post()
    answer = await rig.exchange(*[request[at : at + 1] for at in range(len(request))])
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert rig.server.asgi_requests == 0


async def test_parts_beyond_the_share_are_refused_and_whole_bodies_taken() -> None:
    """Many bodies that do not go on: one that comes in one piece is taken all the same, and so is an ack."""
    rig = Rig(Settings(request_bytes_in_flight_max=32 * 1024 * 1024))
    await rig.exchange(post())
    body = b'{"queue":"orders","body":"' + b"x" * (SINGLE_BYTES_MAX - 28) + b'"}'
    stalled = [rig.connect() for _ in range(300)]
    for protocol, _ in stalled:
        protocol.data_received(post(body)[:-1])
    await settle()
    refused = [transport for _, transport in stalled if transport.written]
    assert len(refused) == 300 - 16 * 1024 * 1024 // (len(body) - 1)
    assert all(transport.written.startswith(b"HTTP/1.1 429 ") for transport in refused)
    assert (await rig.exchange(post())).startswith(b"HTTP/1.1 201 ")
    for protocol, _ in stalled:
        protocol.connection_lost(None)
    assert await rig.held_bytes() == 0


async def test_acknowledgements_have_an_allowance_of_their_own() -> None:
    rig = Rig(Settings(request_bytes_in_flight_max=16 * 1024 * 1024))
    await rig.exchange(post())
    rig.world.node.may_produce.clear()
    body = b'{"queue":"orders","body":"' + b"x" * (SINGLE_BYTES_MAX - 28) + b'"}'
    held = [rig.connect() for _ in range(16 * 1024 * 1024 // len(body))]
    for protocol, _ in held:
        protocol.data_received(post(body))
    ack = post(b'{"receipt": "never-given-out"}', target=b"/ack")
    assert b"INVALID_RECEIPT" in await rig.exchange(ack)
    rig.world.node.may_produce.set()
    await settle()
    for protocol, _ in held:
        protocol.connection_lost(None)


@pytest.mark.parametrize("topic", ["orders", "not-there-yet"])
async def test_a_right_on_trial_that_is_missing_is_counted_once(topic: str) -> None:
    """Also where the short way finds that the topic is still to be made."""
    rig = Rig(Settings(rights_dry_run=True), tokens=parse_token_table(json.dumps(TOKENS).encode()))
    writer = b"authorization: Bearer writer-token-000001"
    assert (await rig.exchange(post(BODY, writer))).startswith(b"HTTP/1.1 201 ")
    reader = b"authorization: Bearer reader-token-000001"
    body = b'{"queue":"%b","body":1}' % topic.encode()
    assert (await rig.exchange(post(body, reader))).startswith(b"HTTP/1.1 201 ")
    metrics = (await rig.exchange(b"GET /metrics HTTP/1.1\r\nhost: a\r\n" + writer + b"\r\n\r\n")).decode()
    assert re.findall(r'acklog_rights_let_through_total{action="send"} (\S+)', metrics) == ["1.0"]
