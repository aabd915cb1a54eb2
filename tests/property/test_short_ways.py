"""Whatever comes over a connection, the API answers, stores and leases the same by the short ways as by the application
alone."""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acklog.wire.record import Record
from app.auth.tokens import TokenTable, parse_token_table
from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from tests.support.http_protocol_client import MemoryServer
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld

SETTINGS = Settings(partitions_default=2)
WORKER, OWNER = "a-token-of-a-worker-0123456789", "a-token-of-the-owner-0123456789"
RECEIPTS_KEPT = 50
TURNS = 200
"""Of the loop, in which all that came on a connection is answered: by the application it takes longer."""
NO_RECEIPT = "r-0123456789abc-0-0-0123456789abc-0-1-1"
TABLE = parse_token_table(
    json.dumps(
        {
            "tokens": [
                {"name": "owner", "token": OWNER, "roles": ["admin"]},
                {
                    "name": "worker",
                    "token": WORKER,
                    "rights": [
                        {"allow": ["send", "receive", "settle"], "topics": ["orders", "notes"], "groups": ["*"]},
                        {"deny": ["settle"], "topics": ["notes"]},
                    ],
                },
            ]
        }
    ).encode()
)

VALUES = st.one_of(st.none(), st.booleans(), st.integers(-5, 1000), st.text(max_size=5), st.just([]), st.just({}))
QUEUES = st.sampled_from(["orders"] * 6 + ["notes", "others", "no such", ""])
MESSAGES = st.fixed_dictionaries(
    {"body": VALUES},
    optional={
        "key": st.sampled_from(["k", "l", "", 1]),
        "headers": st.sampled_from([{"a": "b"}, {"a": 1}, None]),
        "tags": st.sampled_from([["t"], "t"]),
        "partition": st.sampled_from([0, 1, 2, -1]),
        "delaySeconds": st.sampled_from([0, 5, -1]),
        "dedupId": st.sampled_from(["d", "e", ""]),
        "nonsense": VALUES,
    },
)
PLAIN = st.builds(lambda body: {"body": body}, VALUES)
SENDS = st.one_of(
    st.builds(lambda queue, message: {"queue": queue, **message}, QUEUES, st.one_of(PLAIN, MESSAGES)),
    st.builds(
        lambda queue, messages: {"queue": queue, "messages": messages},
        QUEUES,
        st.lists(st.one_of(PLAIN, PLAIN, MESSAGES, VALUES), max_size=5),
    ),
    st.builds(lambda count: {"queue": "orders", "messages": [{"body": "x" * 90}] * count}, st.integers(40, 120)),
)
RECEIPTS = st.one_of(st.integers(0, 20).map(lambda number: f"@{number}@"), st.sampled_from([NO_RECEIPT, "r", 1, None]))
SETTLEMENTS = st.fixed_dictionaries(
    {},
    optional={
        "receipt": RECEIPTS,
        "receipts": st.lists(RECEIPTS, max_size=12),
        "messageId": st.sampled_from(["m-0123456789abc-0-0-1", "m"]),
        "visibilitySeconds": st.sampled_from([30, 0, -1, "1"]),
        "delaySeconds": st.sampled_from([0, 1, -1]),
        "group": st.sampled_from(["workers", "g"]),
    },
)
SETTLED = st.builds(lambda receipts: {"receipts": receipts}, st.lists(RECEIPTS, min_size=1, max_size=12))
EXTENDED = st.builds(lambda receipt: {"receipt": receipt, "visibilitySeconds": 60}, RECEIPTS)
QUERIES = st.lists(
    st.sampled_from(
        [
            "queue=orders",
            "queue=orders",
            "queue=notes",
            "topic=orders",
            "group=workers",
            "group=others",
            "max=3",
            "max=0",
            "max=100",
            "maxBytes=1",
            "waitSeconds=0",
            "waitSeconds=0.000001",
            "visibilitySeconds=5",
            "autoAck=true",
            "autoAck=yes",
            "mode=shared",
            "mode=keyOrdered",
            "memberEpoch=1",
            "consumer=c%C3%A4",
            "consumer=%ff",
            "filter=%22",
            "nonsense=1",
            "",
            "#",
        ]
    ),
    max_size=5,
).map("&".join)
HEADERS = st.lists(
    st.sampled_from(
        [
            b"content-type: application/json",
            b"content-type: application/x-ndjson",
            b"content-type: text/plain",
            b"accept: application/x-ndjson",
            b"accept: image/png",
            b"origin: http://elsewhere",
            b"content-encoding: gzip",
            b"connection: close",
            b"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            b"expect: 100-continue",
            b"idempotency-key: i",
            b"producer-id: p",
            b"x-request-id: 7",
            b"authorization: Bearer unknown-token-0123456789",
            b"content-length: 1",
        ]
    ),
    max_size=1,
)


class Request(NamedTuple):
    line: bytes
    headers: list[bytes]
    body: bytes
    token: str


def _bytes_of(document: object) -> bytes:
    return json.dumps(document).encode()


def contents(documents: st.SearchStrategy[object]) -> st.SearchStrategy[bytes]:
    whole = documents.map(_bytes_of)
    cut = st.builds(lambda body, at: body[: at % (len(body) + 1)], whole, st.integers(0, 1000))
    return st.one_of(whole, whole, whole, whole, cut, st.binary(max_size=20))


def posts(path: bytes, documents: st.SearchStrategy[object]) -> st.SearchStrategy[Request]:
    lines = st.sampled_from([path] * 8 + [path + b"?", path + b"?queue=orders", path + b"/"])
    return st.builds(Request, lines.map(lambda line: b"POST " + line), HEADERS, contents(documents), TOKENS)


TOKENS = st.sampled_from([WORKER, WORKER, WORKER, OWNER, ""])
REQUESTS = st.one_of(
    st.builds(
        Request,
        QUERIES.map(lambda query: f"GET /messages?{query}".encode()),
        HEADERS,
        st.sampled_from([b"", b"", b"", b"{}"]),
        TOKENS,
    ),
    st.just(Request(b"GET /messages?queue=orders&group=workers", [], b"", WORKER)),
    posts(b"/messages", SENDS),
    posts(b"/ack", st.one_of(SETTLED, SETTLEMENTS)),
    posts(b"/nack", st.one_of(SETTLED, SETTLEMENTS)),
    posts(b"/extend", st.one_of(EXTENDED, SETTLEMENTS)),
)


def bytes_of(request: Request, *, asks: bool) -> bytes:
    headers = [b"host: a", *request.headers]
    if asks and request.token:
        headers.append(f"authorization: Bearer {request.token}".encode())
    if request.body or request.line.startswith(b"POST"):
        headers.append(b"content-length: %d" % len(request.body))
    return b"\r\n".join([request.line + b" HTTP/1.1", *headers]) + b"\r\n\r\n" + request.body


class Outcome(NamedTuple):
    answers: bytes
    records: list[list[Record]]
    leases: list[int]
    figures: list[str]


FIGURES = (
    "acklog_messages_",
    "acklog_settlements_",
    "acklog_http_requests_total",
    "acklog_request_body_bytes",
    "acklog_consumer_",
    "acklog_audit_",
)


class Side:
    """A gateway with the short ways or without."""

    def __init__(self, table: TokenTable | None, *, is_short: bool) -> None:
        self.world = MemoryWorld(SETTINGS, tokens=table)
        application = create_server_app(self.world.gateway)
        if not is_short:
            application = application._replace(short_ways={})
        self.server = MemoryServer(application, SETTINGS)

    async def with_topics(self) -> "Side":
        await self.world.topic("orders")
        await self.world.topic("notes")
        return self

    async def exchange(self, pieces: Sequence[bytes]) -> bytes:
        protocol, transport = self.server.connect()
        for piece in pieces:
            if not transport.is_closing():
                protocol.data_received(piece)
            await settle(2)
        await settle(TURNS)
        transport.closed.set()
        protocol.connection_lost(None)
        await settle()
        return transport.written

    async def outcome(self, pieces: Sequence[bytes]) -> Outcome:
        self.server.asgi_requests = 0
        answers = await self.exchange(pieces)
        by_asgi, topics, node = self.server.asgi_requests, self.world.metadata.topics(), self.world.node
        head = f"GET /metrics HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {OWNER}\r\n\r\n".encode()
        text = (await self.exchange([head])).decode()
        self.server.asgi_requests = by_asgi
        figures = sorted(line for line in text.splitlines() if line.startswith(FIGURES) and "/metrics" not in line)
        return Outcome(
            answers,
            [node.stored(topic.id) for topic in topics],
            [node.live_leases(topic.id) for topic in topics],
            figures,
        )


class Both:
    """What comes to the one comes to the other. `@3@` in a request is the fourth newest receipt."""

    def __init__(self, short: Side, ordinary: Side) -> None:
        self.short = short
        self.ordinary = ordinary
        self._receipts: list[bytes] = []

    async def compared(self, requests: Sequence[Request], places: Sequence[int]) -> None:
        asks = self.short.world.gateway.tokens is not None
        named = [each._replace(body=re.sub(rb"@(\d+)@", self._receipt, each.body)) for each in requests]
        pieces = cut(b"".join(bytes_of(each, asks=asks) for each in named), places)
        short, ordinary = await self.short.outcome(pieces), await self.ordinary.outcome(pieces)
        assert short == ordinary
        found = re.findall(rb'"receipt":"(r-[^"]+)"', short.answers)
        self._receipts = [*reversed(found), *self._receipts][:RECEIPTS_KEPT]

    def _receipt(self, match: re.Match[bytes]) -> bytes:
        number = int(match[1])
        return self._receipts[number] if number < len(self._receipts) else b"r"


async def both(table: TokenTable | None) -> Both:
    short, ordinary = [await Side(table, is_short=is_short).with_topics() for is_short in (True, False)]
    return Both(short, ordinary)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module", params=[None, TABLE], ids=["open", "guarded"])
def sides(request: pytest.FixtureRequest, runner: asyncio.Runner) -> Both:
    """For all examples: to make a gateway takes longer than hundreds of them."""
    return runner.run(both(request.param))


def cut(whole: bytes, places: Sequence[int]) -> list[bytes]:
    edges = sorted({0, len(whole), *(place % (len(whole) + 1) for place in places)})
    return [whole[begin:end] for begin, end in pairwise(edges)]


@settings(deadline=None)
@given(st.lists(REQUESTS, min_size=1, max_size=4), st.lists(st.integers(0, 100_000), max_size=3))
def test_both_ways_are_the_same(
    runner: asyncio.Runner, sides: Both, requests: list[Request], places: list[int]
) -> None:
    runner.run(sides.compared(requests, places))


@pytest.mark.parametrize(
    ("line", "document"),
    [
        (b"POST /messages", {"queue": "orders", "messages": [{"body": 1}, {"body": 2}]}),
        (b"POST /messages", {"queue": "orders", "messages": [{"body": "x" * 90}] * 1_000}),
        (b"GET /messages?queue=orders&group=workers&max=3", None),
        (b"POST /ack", {"receipts": ["@0@", "@1@"]}),
        (b"POST /nack", {"receipt": "@2@"}),
        (b"POST /extend", {"receipt": "@2@", "visibilitySeconds": 1}),
        (b"POST /ack", {"receipt": "r"}),
    ],
)
def test_hot_calls_need_no_application(
    runner: asyncio.Runner, sides: Both, line: bytes, document: dict[str, object] | None
) -> None:
    body = b"" if document is None else _bytes_of(document)
    runner.run(sides.compared([Request(line, [], body, WORKER)], []))
    assert sides.short.server.asgi_requests == 0
    assert sides.ordinary.server.asgi_requests == 1
