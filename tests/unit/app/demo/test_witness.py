"""The witness takes down what goes over the wire, and nothing else."""

import asyncio
import json
from collections.abc import Callable

import pytest

from acklog.client import message_calls
from acklog.client.call import Request, Response
from acklog.errors import CannotConnect, ConnectionFailed
from app.demo.group_ledger import GroupLedger
from app.demo.send_ledger import SendLedger
from app.demo.witness import Witness
from app.demo.work import Work

AGAIN = 2
Answer = Callable[[Request], Response]


class FakeTransport:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.is_closed = False

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        self.requests.append(request)
        await asyncio.sleep(0)
        return self.answer(request)

    async def close(self) -> None:
        self.is_closed = True


def response(document: object, status: int = 200) -> Response:
    return Response(status, json.dumps(document).encode())


def received(*offsets: int, attempt: int = 1) -> Response:
    messages = [{"receipt": f"r-{each}-{attempt}", "partition": 0, "offset": each, "body": {}} for each in offsets]
    return response({"messages": messages})


def settled(*codes: str, retriable: bool = False) -> Response:
    results = [
        {"status": "acknowledged"} if not code else {"code": code, "detail": "no", "retriable": retriable}
        for code in codes
    ]
    return response({"results": results}, 207 if any(codes) else 200)


def receive(group: str = "a") -> Request:
    options = {"max_messages": 10, "max_bytes": None, "visibility_s": None, "consumer": None}
    return message_calls.receive("t", group=group, wait_s=1, auto_ack=False, **options).request  # type: ignore[arg-type]


def ack(*receipts: str) -> Request:
    return message_calls.ack(receipts).request


class Scene:
    def __init__(self) -> None:
        self.ledgers = [GroupLedger("a"), GroupLedger("b")]
        self.work = Work(3, ("a", "b"))
        self.transport = FakeTransport(lambda _: received())
        self.witness = Witness(self.transport, self.ledgers, self.work)

    async def perform(self, request: Request, answer: Response) -> Response:
        self.transport.answer = lambda _: answer
        return await self.witness.perform(request, timeout_s=1)

    def came_again(self) -> int:
        return self.ledgers[0].findings(SendLedger())[AGAIN].violations


async def test_requests_and_answers_pass_unchanged() -> None:
    scene = Scene()
    request, answer = receive(), received(0)
    assert await scene.perform(request, answer) is answer
    assert scene.transport.requests == [request]
    await scene.witness.close()
    assert scene.transport.is_closed


async def test_what_is_confirmed_is_done_in_the_group_that_received_it() -> None:
    scene = Scene()
    await scene.perform(receive("a"), received(0, 1))
    await scene.perform(receive("b"), received(2))
    await scene.perform(ack("r-0-1", "r-1-1", "r-2-1"), settled("", "RECEIPT_STALE", ""))
    assert scene.work.done == {"a": 1, "b": 1}
    assert [ledger.done_count for ledger in scene.ledgers] == [1, 1]
    assert [ledger.deliveries for ledger in scene.ledgers] == [2, 1]


async def test_a_failed_acknowledgement_is_none() -> None:
    scene = Scene()
    await scene.perform(receive(), received(0))
    await scene.perform(ack("r-0-1"), settled("OVERLOADED", retriable=True))
    await scene.perform(ack("r-0-1"), response({"code": "UNAVAILABLE"}, 503))
    assert scene.work.done["a"] == 0
    await scene.perform(ack("r-0-1"), settled(""))
    assert scene.work.done["a"] == 1


async def test_done_twice_counts_once() -> None:
    scene = Scene()
    await scene.perform(receive(), received(0))
    await scene.perform(receive(), received(0, attempt=2))
    await scene.perform(ack("r-0-1", "r-0-2"), settled("", ""))
    assert scene.work.done["a"] == 1
    assert scene.ledgers[0].redeliveries == 1


async def test_a_receive_that_began_after_the_confirmation_must_not_bring_it() -> None:
    scene = Scene()
    await scene.perform(receive(), received(0))
    await scene.perform(ack("r-0-1"), settled(""))
    await scene.perform(receive(), received(0, attempt=2))
    assert scene.came_again() == 1


async def test_a_receive_that_was_under_way_may_bring_it() -> None:
    scene = Scene()
    await scene.perform(receive(), received(0))
    waiting = scene.witness.perform(receive(), timeout_s=1).__await__()
    next(waiting)  # the receive is on its way
    await scene.perform(ack("r-0-1"), settled(""))
    scene.transport.answer = lambda _: received(0, attempt=2)
    with pytest.raises(StopIteration):
        next(waiting)
    assert scene.ledgers[0].redeliveries == 1
    assert scene.came_again() == 0


async def test_other_groups_and_refused_receives_are_let_pass() -> None:
    scene = Scene()
    await scene.perform(receive("c"), received(0))
    await scene.perform(receive("a"), response({"code": "OVERLOADED"}, 429))
    assert [ledger.deliveries for ledger in scene.ledgers] == [0, 0]


async def test_unknown_outcomes_are_counted_and_latencies_are_of_answers() -> None:
    scene = Scene()
    for error in (ConnectionFailed("gone"), CannotConnect("nobody there")):

        def fail(_: Request, error: Exception = error) -> Response:
            raise error

        scene.transport.answer = fail
        with pytest.raises(type(error)):
            await scene.witness.perform(Request("POST", "/messages"), timeout_s=1)
    await scene.perform(Request("POST", "/messages"), response({}, 201))
    await scene.perform(Request("POST", "/messages"), response({}, 503))
    await scene.perform(receive(), received())
    statistics = scene.witness.statistics
    assert statistics.cut_off == 1
    assert [each.count for each in (statistics.sends, statistics.receives, statistics.acknowledgements)] == [1, 1, 0]
