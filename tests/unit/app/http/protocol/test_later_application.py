"""An application that is made by the first request that needs it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.application import create_app, create_server_app
from app.http.protocol.direct_routes import DirectRoutes
from app.http.protocol.later_application import MADE_AFTER_MS, LaterApplication
from tests.support.manual_clock import ManualClock, settle
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.conftest import client_of

REQUEST: Scope = {"type": "http"}


class Rig:
    """A thread that a test lets go on, and an application that counts."""

    def __init__(self, *, has_thread: bool = True) -> None:
        self.clock = ManualClock()
        self.gate = asyncio.Event()
        self.made = 0
        self.served = 0
        self.ended = 0
        self.failures_to_come = 0
        self.application = LaterApplication(
            self._make,
            in_thread=self._in_thread if has_thread else None,
            clock=self.clock,
            on_end=self._end,
        )

    def request(self) -> asyncio.Task[None]:
        return asyncio.create_task(_run(self.application, REQUEST, _nothing, _unsent))

    def _make(self) -> ASGIApp:
        if self.failures_to_come:
            self.failures_to_come -= 1
            raise ImportError("it is being installed anew")
        self.made += 1

        async def application(_scope: Scope, _receive: Receive, _send: Send) -> None:
            self.served += 1

        return application

    async def _in_thread(self, call: Callable[[], object]) -> object:
        await self.gate.wait()
        return call()

    def _end(self) -> None:
        self.ended += 1


async def _run(application: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await application(scope, receive, send)


async def _nothing() -> Message:
    raise AssertionError("nobody reads")


async def _unsent(_message: Message) -> None:
    raise AssertionError("nobody answers")


async def test_requests_that_come_meanwhile_wait_for_the_same_one() -> None:
    rig = Rig()
    requests = [rig.request() for _ in range(5)]
    await settle()
    assert (rig.made, rig.served) == (0, 0)
    rig.gate.set()
    await asyncio.gather(*requests)
    await rig.request()
    assert (rig.made, rig.served) == (1, 6)


async def test_a_client_that_goes_away_does_not_end_it_for_others() -> None:
    rig = Rig()
    gone, patient = rig.request(), rig.request()
    await settle()
    gone.cancel()
    await settle()
    rig.gate.set()
    await patient
    assert gone.cancelled()
    assert (rig.made, rig.served) == (1, 1)


async def test_what_failed_is_tried_again() -> None:
    rig = Rig()
    rig.gate.set()
    rig.failures_to_come = 1
    async with client_of(rig.application) as client:
        answer = await client.get("/topics")
    assert (answer.status_code, answer.json()["code"]) == (500, "INTERNAL")
    await rig.request()
    assert (rig.made, rig.served) == (1, 1)


async def test_without_a_thread_it_is_made_at_once() -> None:
    rig = Rig(has_thread=False)
    await rig.request()
    assert (rig.made, rig.served) == (1, 1)


class Lifespan:
    def __init__(self, rig: Rig) -> None:
        self.asked: asyncio.Queue[Message] = asyncio.Queue()
        self.answered: list[str] = []
        self.running = asyncio.create_task(_run(rig.application, {"type": "lifespan"}, self.asked.get, self._send))

    async def _send(self, message: Message) -> None:
        self.answered.append(message["type"])


async def test_a_server_that_is_up_for_a_while_makes_it_by_itself() -> None:
    rig = Rig()
    rig.gate.set()
    lifespan = Lifespan(rig)
    lifespan.asked.put_nowait({"type": "lifespan.startup"})
    await settle()
    assert lifespan.answered == ["lifespan.startup.complete"]
    await rig.clock.advance_ms(MADE_AFTER_MS - 1)
    assert rig.made == 0
    await rig.clock.advance_ms(1)
    assert rig.made == 1
    lifespan.asked.put_nowait({"type": "lifespan.shutdown"})
    await lifespan.running
    assert lifespan.answered[1:] == ["lifespan.shutdown.complete"]
    assert rig.ended == 1


async def test_a_server_that_ends_before_does_not() -> None:
    rig = Rig()
    lifespan = Lifespan(rig)
    lifespan.asked.put_nowait({"type": "lifespan.startup"})
    await settle()
    lifespan.asked.put_nowait({"type": "lifespan.shutdown"})
    await lifespan.running
    await settle()
    assert rig.clock.sleeping == 0
    assert (rig.made, rig.ended) == (0, 1)


def test_a_path_with_parameters_is_left_to_the_framework() -> None:
    routes = DirectRoutes()

    @routes.get("/messages/{messageId}", operation_id="lookAtMessage")
    async def look(_request: Request) -> Response:
        raise AssertionError

    @routes.get("/messages", operation_id="receiveMessages")
    async def receive(_request: Request) -> Response:
        raise AssertionError

    assert routes.of("GET", "/messages/{messageId}") is None
    found = routes.of("GET", "/messages")
    assert found is not None
    assert (found.path, found.operation_id, found.endpoint) == ("/messages", "receiveMessages", receive)
    assert routes.of("POST", "/messages") is None


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
async def test_probes_answer_the_same_in_either_way(path: str) -> None:
    gateway = MemoryWorld().gateway
    shown = []
    for application in (create_app(gateway), create_server_app(gateway).asgi):
        async with client_of(application) as client:
            for method in ("HEAD", "GET", "POST"):
                answer = await client.request(method, path)
                content = b"" if path == "/metrics" else answer.content
                shown.append((answer.status_code, answer.headers["content-type"], answer.headers.get("allow"), content))
            refused = await client.get(path, params={"verbose": "1"})
            shown.append((refused.status_code, refused.headers["content-type"], None, refused.content))
    assert shown[:4] == shown[4:]


@pytest.mark.parametrize("path", ["/console", "/events", "/docs", "/topics/orders/tail"])
async def test_what_two_ask_for_first(path: str) -> None:
    """Before anything of the framework is there."""
    world = MemoryWorld()
    await world.topic("orders")
    gate = asyncio.Event()
    threads = 0

    async def in_thread(call: Callable[[], object]) -> object:
        nonlocal threads
        threads += 1
        await gate.wait()
        return call()

    application = create_server_app(replace(world.gateway, in_thread=in_thread)).asgi
    answered: list[list[Message]] = [[], []]

    async def request(sent: list[Message]) -> None:
        async def send(message: Message) -> None:
            sent.append(message)

        gone = asyncio.Event()
        bodies = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> Message:
            if (body := next(bodies, None)) is not None:
                return body
            await gone.wait()
            raise AssertionError

        head = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
        rest = {"headers": [(b"host", b"a")], "scheme": "http", "client": None, "server": ("a", 80), "root_path": ""}
        await application({**head, **rest}, receive, send)

    running = [asyncio.create_task(request(sent)) for sent in answered]
    await settle()
    assert (answered, threads) == ([[], []], 1)
    gate.set()
    await settle(500)
    assert [sent[0]["status"] for sent in answered] == [200, 200]
    for each in running:
        each.cancel()
    await asyncio.gather(*running, return_exceptions=True)
