"""Whatever comes over a connection, SQS answers and stores the same by the short way as by the front door alone."""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.auth.tokens import TokenTable, parse_token_table
from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.http.protocol.single_sends import SINGLE_BYTES_MAX
from app.processes.sqs_door import sqs_doors
from cluster.errors import ServerError
from tests.support.http_protocol_client import MemoryServer
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld
from tests.support.sqs_access import BEARER, KEY_ID, SECRET, SqsGate

SETTINGS = Settings(partitions_default=2)
URL = "http://queue.example.org:8080/000000000000/orders"
OPERATIONS = ("CreateQueue", "SendMessage", "SendMessageBatch", "ReceiveMessage", "Nothing")
OWNER = "a-token-of-the-owner-0123456789"


def table_with(role: str) -> TokenTable:
    """For clients, and for who makes queues and looks at what is counted."""
    owner = {"name": "owner", "token": OWNER, "roles": ["admin"]}
    keys = [{"id": KEY_ID, "secret": SECRET}]
    client = {"name": "client", "token": BEARER, "roles": [role], "accessKeys": keys}
    return parse_token_table(json.dumps({"tokens": [owner, client]}).encode())


TABLE, READERS = table_with("producer"), table_with("consumer")

LONG, DEEP = "x" * 70_000, "[" * 300 + "]" * 300
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 1000), st.text(max_size=8), st.just([]), st.just({}), st.floats(0, 1)
)
BODIES = st.one_of(
    st.text(min_size=1, max_size=30),
    st.sampled_from(['{"a": 1}', "[1, 2]", "0", "", "\x00", "\ud7ff\ue000", "nul", LONG, DEEP]),
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["color", "AWS.x", "traceparent", "a b", "n"]),
    st.fixed_dictionaries(
        {"DataType": st.sampled_from(["String", "Number", "Binary", "Nothing"])},
        optional={"StringValue": st.sampled_from(["7", "red", ""]), "BinaryValue": st.sampled_from(["AAE=", "?"])},
    ),
    max_size=3,
)
DOCUMENTS = st.fixed_dictionaries(
    {"QueueUrl": st.sampled_from([URL, URL, URL, "http://a/000000000000/nobody", "nothing", f"{URL}.fifo"])},
    optional={
        "MessageBody": BODIES,
        "DelaySeconds": st.sampled_from([0, 0, 5, 900, 901, -1]),
        "MessageAttributes": ATTRIBUTES,
        "MessageSystemAttributes": ATTRIBUTES,
        "MessageGroupId": st.sampled_from(["g", "h", "", "a b"]),
        "MessageDeduplicationId": st.sampled_from(["d", "e", ""]),
        "Other": VALUES,
    },
)
GOOD = st.builds(lambda body: {"QueueUrl": URL, "MessageBody": body}, BODIES)
MEMBERS = st.sampled_from(["MessageBody", "QueueUrl", "DelaySeconds"])
MISTAKEN = st.builds(lambda document, name, value: {**document, name: value}, DOCUMENTS, MEMBERS, VALUES)


class Request(NamedTuple):
    """`signed`: "" for nothing, "bearer", "key", or "stolen" for a signature over something else."""

    body: bytes
    operation: str
    url: bytes
    headers: tuple[bytes, ...]
    signed: str


def contents() -> st.SearchStrategy[bytes]:
    documents = st.one_of(GOOD, DOCUMENTS, MISTAKEN).map(lambda each: json.dumps(each).encode("utf-8", "surrogatepass"))
    cut = st.builds(lambda body, at: body[: at % (len(body) + 1)], documents, st.integers(0, 1000))
    return st.one_of(documents, documents, documents, cut, st.binary(max_size=20))


REQUESTS = st.builds(
    Request,
    contents(),
    st.sampled_from(("SendMessage",) * 6 + OPERATIONS),
    st.sampled_from((b"/",) * 6 + (b"/000000000000/orders", b"/?Action=SendMessage", b"/messages", b"//")),
    st.lists(
        st.sampled_from(
            [
                b"content-type: application/x-amz-json-1.0",
                b"content-type: application/x-www-form-urlencoded",
                b"origin: http://elsewhere",
                b"content-encoding: gzip",
                b"connection: close",
                b"x-amz-target: AmazonSQS.SendMessage",
                b"x-amz-target: AmazonSQS.ReceiveMessage",
                b"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                b"expect: 100-continue",
                b"authorization: Bearer unknown-token-0123456789",
            ]
        ),
        max_size=1,
    ).map(tuple),
    st.sampled_from(["", "bearer", "key", "key", "stolen"]),
)


def bytes_of(request: Request, *, asks: bool, now_ms: int) -> bytes:
    target = ("x-amz-target", f"AmazonSQS.{request.operation}")
    headers = [b"host: queue.example.org:8080", f"{target[0]}: {target[1]}".encode()]
    if asks and request.signed == "bearer":
        headers.append(bearer(BEARER))
    elif asks and request.signed:
        gate = SqsGate(TABLE)
        signed = gate.signer(KEY_ID, SECRET, later_ms=now_ms - gate.clock.now_ms())
        body = request.body if request.signed == "key" else request.body + b" "
        call = signed.signed("POST", "/", "", (target,), body)
        headers = [b"%b: %b" % header for header in call.headers]
    head = [b"POST %b HTTP/1.1" % request.url, *headers, *request.headers, b"content-length: %d" % len(request.body)]
    return b"\r\n".join(head) + b"\r\n\r\n" + request.body


class Outcome(NamedTuple):
    answers: bytes
    records: list[list[Record]]
    figures: list[str]


class Side:
    """A gateway with two queues, with the short way or without."""

    def __init__(self, table: TokenTable | None, *, is_short: bool) -> None:
        self.world = MemoryWorld(SETTINGS, table)
        self.table = table
        application = create_server_app(self.world.gateway, sqs_doors(SETTINGS))
        if not is_short:
            application = application._replace(short_ways={})
        self.server = MemoryServer(application, SETTINGS)

    async def exchange(self, pieces: Sequence[bytes]) -> bytes:
        protocol, transport = self.server.connect()
        for piece in pieces:
            if not transport.is_closing():
                protocol.data_received(piece)
            await settle(2)
        await settle()
        transport.closed.set()
        protocol.connection_lost(None)
        await settle()
        return transport.written

    async def make_queues(self) -> "Side":
        for document in ({"QueueName": "orders"}, {"QueueName": "orders.fifo", "Attributes": {"FifoQueue": "true"}}):
            answer = await self.exchange([asked("CreateQueue", json.dumps(document).encode(), OWNER)])
            assert answer.startswith(b"HTTP/1.1 200 "), answer
        return self

    async def outcome(self, pieces: Sequence[bytes]) -> Outcome:
        self.server.asgi_requests = 0
        written = await self.exchange(pieces)
        answers = re.sub(rb"x-amzn-requestid: [0-9a-f-]{36}|<RequestId>[^<]*", b"", written)
        topics = self.world.metadata.topics()
        return Outcome(answers, [self.world.node.stored(topic.id) for topic in topics], await self._figures())

    async def _figures(self) -> list[str]:
        """What is counted, and what is held of bodies."""
        by_asgi = self.server.asgi_requests
        text = (await self.exchange([b"GET /metrics HTTP/1.1\r\nhost: a\r\n%b\r\n\r\n" % bearer(OWNER)])).decode()
        self.server.asgi_requests = by_asgi
        return [line for line in text.splitlines() if line.startswith(FIGURES)]


FIGURES = (
    "acklog_messages_sent_total",
    "acklog_messages_refused_total",
    "acklog_http_requests_total",
    "acklog_request_body_bytes",
)


def bearer(token: str) -> bytes:
    return f"authorization: Bearer {token}".encode()


def asked(operation: str, body: bytes, token: str = BEARER) -> bytes:
    head = b"POST / HTTP/1.1\r\nhost: a\r\nx-amz-target: AmazonSQS.%b\r\n%b" % (operation.encode(), bearer(token))
    return b"%b\r\ncontent-length: %d\r\n\r\n%b" % (head, len(body), body)


class Both(NamedTuple):
    """What comes to the one comes to the other."""

    short: Side
    door: Side

    async def compared(self, pieces: Sequence[bytes]) -> None:
        assert await self.short.outcome(pieces) == await self.door.outcome(pieces)


async def both(table: TokenTable | None = None) -> Both:
    sides = [await Side(table, is_short=is_short).make_queues() for is_short in (True, False)]
    return Both(*sides)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module", params=[None, TABLE, READERS], ids=["open", "guarded", "readers"])
def sides(request: pytest.FixtureRequest, runner: asyncio.Runner) -> Both:
    """For all examples: to make a gateway takes longer than hundreds of them."""
    return runner.run(both(request.param))


def cut(whole: bytes, places: Sequence[int]) -> list[bytes]:
    edges = sorted({0, len(whole), *(place % (len(whole) + 1) for place in places)})
    return [whole[begin:end] for begin, end in pairwise(edges)]


@given(st.lists(REQUESTS, min_size=1, max_size=4), st.lists(st.integers(0, 100_000), max_size=3))
def test_both_ways_are_the_same(
    runner: asyncio.Runner, sides: Both, requests: list[Request], places: list[int]
) -> None:
    asks = sides.short.table is not None
    whole = b"".join(bytes_of(each, asks=asks, now_ms=sides.short.world.clock.now_ms()) for each in requests)
    runner.run(sides.compared(cut(whole, places)))


def send(**members: object) -> bytes:
    document = {"QueueUrl": URL, "MessageBody": "hello", **members}
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    "body",
    [
        send(),
        send(MessageBody='{"a": 1}'),
        send(MessageBody="ä\u20ac"),
        send(MessageGroupId="g"),
        send(MessageAttributes={"size": {"DataType": "Number", "StringValue": "7"}}),
        send(DelaySeconds=0),
    ],
)
@pytest.mark.parametrize("signed", ["bearer", "key"])
def test_plain_sends_need_no_application(runner: asyncio.Runner, sides: Both, body: bytes, signed: str) -> None:
    request = Request(body, "SendMessage", b"/", (), signed)
    world = sides.short.world
    topic = world.metadata.topics_by_name["orders"]
    before = len(world.node.stored(topic.id))
    pieces = [bytes_of(request, asks=sides.short.table is not None, now_ms=world.clock.now_ms())]
    runner.run(sides.compared(pieces))
    assert sides.short.server.asgi_requests == 0
    assert len(world.node.stored(topic.id)) - before == (sides.short.table is not READERS)


@pytest.mark.parametrize(
    "body",
    [
        send(QueueUrl=f"{URL}.fifo", MessageGroupId="g", MessageDeduplicationId="d"),
        send(DelaySeconds=5),
        send(QueueUrl="http://a/000000000000/nobody"),
        send(MessageBody=""),
        send(MessageBody="\x00"),
        send(MessageBody="x" * SINGLE_BYTES_MAX),
        b"{",
    ],
)
def test_the_rest_needs_a_task_and_no_application(runner: asyncio.Runner, sides: Both, body: bytes) -> None:
    runner.run(sides.compared([asked("SendMessage", body)]))
    assert sides.short.server.asgi_requests == 0


async def test_a_failure_is_told_and_counted_alike() -> None:
    outcomes = []
    two = await both()
    for side in two:
        side.world.node.fail("produce", ServerError(ProblemCode.STORAGE_FULL, "no space", retry_after_ms=3000))
        outcomes.append(await side.outcome([asked("SendMessage", send())]))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].answers.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: 3\r\n" in outcomes[0].answers
    assert two.short.server.asgi_requests == 0


async def test_a_client_that_left_holds_nothing() -> None:
    side = await Side(None, is_short=True).make_queues()
    side.world.node.may_produce.clear()
    await side.exchange([asked("SendMessage", send())])
    side.world.node.may_produce.set()
    await settle()
    [held] = [line for line in (await side.outcome([])).figures if line.startswith("acklog_request_body_bytes")]
    assert held.endswith(" 0.0")
