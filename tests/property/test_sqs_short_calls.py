"""Batches, receives, deletions and changes of visibility: SQS answers and does the same by the short way as by the
front door alone."""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.sqs.protocol.body_sizes import SMALL_BYTES_MAX
from app.sqs.protocol.short_queue_calls import HOT_CALLS
from app.sqs.protocol.sqs_route import ROUTES
from tests.property.test_sqs_short_sends import TABLE, URL, Both, Request, both, bytes_of, cut, table_with

WORKERS = table_with("admin")
HANDLES_KEPT = 30

VALUES = st.one_of(st.none(), st.booleans(), st.integers(-5, 50_000), st.text(max_size=5), st.just([]), st.just({}))
URLS = st.sampled_from([URL] * 6 + [f"{URL}.fifo", "http://a/000000000000/nobody", "nothing", None])
IDS = st.sampled_from(["a", "b", "c", "d", "a b", ""])
HANDLES = st.one_of(
    st.integers(0, 12).map(lambda number: f"@{number}@"),
    st.sampled_from(["r-0123456789abc-0-0-0123456789abc-0-1-1.1.1.1", "nothing", ""]),
)
SECONDS = st.sampled_from([0, 30, 43_200, 43_201, -1, "1"])


def _entries(members: st.SearchStrategy[dict[str, object]]) -> st.SearchStrategy[dict[str, object]]:
    entries = st.builds(lambda entry_id, rest: {"Id": entry_id, **rest}, IDS, members)
    return st.fixed_dictionaries({"QueueUrl": URLS, "Entries": st.lists(entries, max_size=11)})


def _of_queue(**members: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries({"QueueUrl": URLS}, optional={**members, "Other": VALUES})


BODIES = st.sampled_from(["hello", '{"a": 1}', "", "\x00", "x" * 5_000])
DOCUMENTS = {
    "SendMessageBatch": _entries(
        st.fixed_dictionaries(
            {"MessageBody": BODIES}, optional={"MessageGroupId": st.just("g"), "DelaySeconds": st.sampled_from([0, 5])}
        )
    ),
    "ReceiveMessage": _of_queue(
        MaxNumberOfMessages=st.sampled_from([1, 3, 10, 11, 0]),
        VisibilityTimeout=SECONDS,
        WaitTimeSeconds=st.sampled_from([0, 21]),
        AttributeNames=st.sampled_from([["All"], ["nothing"]]),
        MessageAttributeNames=st.just([".*"]),
        ReceiveRequestAttemptId=st.just("i"),
    ),
    "DeleteMessage": _of_queue(ReceiptHandle=HANDLES),
    "DeleteMessageBatch": _entries(st.fixed_dictionaries({"ReceiptHandle": HANDLES})),
    "ChangeMessageVisibility": _of_queue(ReceiptHandle=HANDLES, VisibilityTimeout=SECONDS),
    "ChangeMessageVisibilityBatch": _entries(
        st.fixed_dictionaries({"ReceiptHandle": HANDLES, "VisibilityTimeout": SECONDS})
    ),
}


def _requests_of(operation: str) -> st.SearchStrategy[Request]:
    whole = DOCUMENTS[operation].map(lambda document: json.dumps(document).encode())
    cut_off = st.builds(lambda body, at: body[: at % (len(body) + 1)], whole, st.integers(0, 300))
    headers = st.sampled_from([(), (), (), (b"origin: http://elsewhere",), (b"connection: close",), (b"x-a: b",)])
    signed = st.sampled_from(["bearer", "key", "", "stolen"])
    return st.builds(
        Request, st.one_of(whole, whole, whole, cut_off), st.just(operation), st.just(b"/"), headers, signed
    )


REQUESTS = st.one_of(
    *map(_requests_of, DOCUMENTS),
    st.just(
        Request(json.dumps({"QueueUrl": URL, "MaxNumberOfMessages": 10}).encode(), "ReceiveMessage", b"/", (), "key")
    ),
)


class Handled:
    """`@3@` in a request is the fourth newest receipt handle."""

    def __init__(self, sides: Both) -> None:
        self.sides = sides
        self._handles: list[bytes] = []

    async def compared(self, requests: Sequence[Request], places: Sequence[int]) -> None:
        asks = self.sides.short.table is not None
        now_ms = self.sides.short.world.clock.now_ms()
        named = [each._replace(body=re.sub(rb"@(\d+)@", self._handle, each.body)) for each in requests]
        pieces = cut(b"".join(bytes_of(each, asks=asks, now_ms=now_ms) for each in named), places)
        short, door = await self.sides.short.outcome(pieces), await self.sides.door.outcome(pieces)
        assert short == door
        assert self._leases(0) == self._leases(1)
        found = re.findall(rb'"ReceiptHandle":"([^"]+)"', short.answers)
        self._handles = [*reversed(found), *self._handles][:HANDLES_KEPT]

    def _leases(self, side: int) -> list[int]:
        world = self.sides[side].world
        return [world.node.live_leases(topic.id) for topic in world.metadata.topics()]

    def _handle(self, match: re.Match[bytes]) -> bytes:
        number = int(match[1])
        return self._handles[number] if number < len(self._handles) else b"r"


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module", params=[None, WORKERS, TABLE], ids=["open", "guarded", "producers"])
def handled(request: pytest.FixtureRequest, runner: asyncio.Runner) -> Handled:
    return Handled(runner.run(both(request.param)))


@settings(deadline=None)
@given(st.lists(REQUESTS, min_size=1, max_size=4), st.lists(st.integers(0, 100_000), max_size=3))
def test_both_ways_are_the_same(
    runner: asyncio.Runner, handled: Handled, requests: list[Request], places: list[int]
) -> None:
    runner.run(handled.compared(requests, places))


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("SendMessageBatch", {"Entries": [{"Id": "a", "MessageBody": "one"}, {"Id": "b", "MessageBody": "two"}]}),
        ("ReceiveMessage", {"MaxNumberOfMessages": 10}),
        ("ChangeMessageVisibility", {"ReceiptHandle": "@0@", "VisibilityTimeout": 60}),
        ("ChangeMessageVisibilityBatch", {"Entries": [{"Id": "a", "ReceiptHandle": "@0@", "VisibilityTimeout": 9}]}),
        ("DeleteMessage", {"ReceiptHandle": "@0@"}),
        ("DeleteMessageBatch", {"Entries": [{"Id": "a", "ReceiptHandle": "@0@"}, {"Id": "b", "ReceiptHandle": "r"}]}),
    ],
)
def test_hot_calls_need_no_application(
    runner: asyncio.Runner, handled: Handled, operation: str, members: dict[str, object]
) -> None:
    body = json.dumps({"QueueUrl": URL, **members}).encode()
    runner.run(handled.compared([Request(body, operation, b"/", (), "key")], []))
    assert (handled.sides.short.server.asgi_requests, handled.sides.door.server.asgi_requests) == (0, 1)


@pytest.mark.parametrize(("size", "by_door"), [(SMALL_BYTES_MAX, 0), (SMALL_BYTES_MAX + 1, 1)])
def test_what_is_too_large_is_for_the_door(runner: asyncio.Runner, handled: Handled, size: int, by_door: int) -> None:
    start = json.dumps({"QueueUrl": URL, "Other": ""}).encode()[:-2]
    body = start + b"x" * (size - len(start) - 2) + b'"}'
    runner.run(handled.compared([Request(body, "ReceiveMessage", b"/", (), "bearer")], []))
    assert handled.sides.short.server.asgi_requests == by_door


def test_hot_calls_are_no_administrative_acts() -> None:
    assert not [operation for operation in HOT_CALLS if ROUTES[operation].needed.is_administrative]
