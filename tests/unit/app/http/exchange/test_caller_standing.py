"""A request that waits is turned away when its token is not good any more, and gets nothing that comes later."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from starlette.requests import Request

from acklog.wire.problems import ProblemCode
from app.auth.tokens import parse_token_table
from app.http.application import create_app
from app.http.exchange.caller_standing import CallerStanding
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders
from cluster.errors import ServerError
from tests.support.manual_clock import FIRST_WALL_MS, settle
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.conftest import client_of

ADMIN, WORKER = "admin-token-0123456789", "worker-token-0123456789"
ADMINS = {"name": "admin", "token": ADMIN, "roles": ["admin"]}
WORKERS = {"name": "worker", "token": WORKER, "roles": ["consumer"]}
WAITS = [
    "/messages?queue=orders&group=g&waitSeconds=20",
    "/messages?queue=orders&group=g&waitSeconds=20&autoAck=true",
]
BYSTANDER = "/messages?queue=orders&group=others&waitSeconds=20"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def table(*entries: dict[str, Any]) -> Any:
    return parse_token_table(json.dumps({"tokens": list(entries)}).encode())


def standing_of(world: MemoryWorld) -> CallerStanding:
    services = HttpServices(world.gateway)
    scope = {"type": "http", "headers": [(b"authorization", f"Bearer {WORKER}".encode())]}
    return CallerStanding(RequestHeaders(Request(scope)), services.callers)


async def make_topic(client: httpx2.AsyncClient) -> None:
    answer = await client.put("/topics/orders", json={"partitions": 1}, headers=bearer(ADMIN))
    assert answer.status_code == 201, answer.text


async def begin(client: httpx2.AsyncClient, path: str, token: str) -> "asyncio.Task[httpx2.Response]":
    task = asyncio.get_running_loop().create_task(client.get(path, headers=bearer(token)))
    await settle()
    assert not task.done()
    return task


async def refused(waiting: "asyncio.Task[httpx2.Response]") -> str:
    await settle()
    assert waiting.done()
    answer = await waiting
    assert answer.status_code == 401, answer.text
    return str(answer.json()["code"])


@pytest.mark.parametrize("path", WAITS)
async def test_of_a_stored_token_that_is_revoked(path: str) -> None:
    world = MemoryWorld(tokens=table(ADMINS))
    async with client_of(create_app(world.gateway)) as client:
        await make_topic(client)
        made = await client.post("/tokens", json={"name": "w", "roles": ["consumer"]}, headers=bearer(ADMIN))
        other = await client.post("/tokens", json={"name": "o", "roles": ["consumer"]}, headers=bearer(ADMIN))
        waiting = await begin(client, path, made.json()["token"])
        bystander = await begin(client, BYSTANDER, other.json()["token"])
        assert (await client.delete("/tokens/w", headers=bearer(ADMIN))).status_code == 204
        assert await refused(waiting) == "UNAUTHENTICATED"
        assert not bystander.done(), "another's change is none"
        await client.post("/messages", json={"queue": "orders", "body": 1}, headers=bearer(ADMIN))
        assert len((await bystander).json()["messages"]) == 1
        left = await client.get("/messages?queue=orders&group=g", headers=bearer(ADMIN))
        assert len(left.json()["messages"]) == 1, "nobody had it"


async def test_of_the_files_token_that_is_gone() -> None:
    tokens = table(ADMINS, WORKERS)
    async with client_of(create_app(MemoryWorld(tokens=tokens).gateway)) as client:
        await make_topic(client)
        waiting = await begin(client, WAITS[0], WORKER)
        tokens.adopt(table(ADMINS))
        assert await refused(waiting) == "UNAUTHENTICATED"


async def test_of_one_that_comes_to_its_end() -> None:
    world = MemoryWorld(tokens=table(ADMINS))
    async with client_of(create_app(world.gateway)) as client:
        await make_topic(client)
        wanted = {"name": "w", "roles": ["consumer"], "expiresAt": world.clock.now_ms() + 50}
        made = await client.post("/tokens", json=wanted, headers=bearer(ADMIN))
        waiting = await begin(client, WAITS[0], made.json()["token"])
        await world.clock.advance_ms(50)
        async with asyncio.timeout(10):  # the loop's own time
            answer = await waiting
        assert (answer.status_code, answer.json()["code"]) == (401, "TOKEN_EXPIRED")


async def test_rights_that_change_are_for_the_next_request() -> None:
    tokens = table(ADMINS, WORKERS)
    async with client_of(create_app(MemoryWorld(tokens=tokens).gateway)) as client:
        await make_topic(client)
        waiting = await begin(client, WAITS[0], WORKER)
        tokens.adopt(table(ADMINS, {**WORKERS, "roles": ["viewer"]}))
        await settle()
        assert not waiting.done()
        waiting.cancel()


def test_of_one_that_was_revoked_before_the_wait_began() -> None:
    """While it was looked whether there is something already."""
    tokens = table(ADMINS, WORKERS)
    standing = standing_of(MemoryWorld(tokens=tokens))
    tokens.adopt(table(ADMINS))
    told: list[ServerError] = []
    standing.watch(told.append)()
    assert [each.code for each in told] == [ProblemCode.UNAUTHENTICATED]


class GivenTimers:
    """In the place of the loop's: what waits for its time is here, and a test has it come."""

    def __init__(self) -> None:
        self._armed: list[tuple[float, Callable[[], None], asyncio.TimerHandle]] = []

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(0, callback, (), asyncio.get_running_loop())
        self._armed.append((delay_s, callback, handle))
        return handle

    @property
    def delays_s(self) -> list[float]:
        return [delay_s for delay_s, _, handle in self._armed if not handle.cancelled()]

    def fire(self) -> None:
        """The only one."""
        [callback] = [callback for _, callback, handle in self._armed if not handle.cancelled()]
        self._armed.clear()
        callback()


def ending_at(at_ms: int) -> dict[str, Any]:
    return {**WORKERS, "expiresAt": datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()}


async def test_a_timer_that_comes_too_early_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops fire up to a millisecond before the time, and clocks are set back."""
    timers = GivenTimers()
    world = MemoryWorld(tokens=table(ending_at(FIRST_WALL_MS + 1_000)))
    standing = standing_of(world)
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", timers.call_later)
    told: list[ServerError] = []
    stop = standing.watch(told.append)
    await world.clock.advance_ms(999)
    assert timers.delays_s == [1.0]
    timers.fire()
    assert told == []
    assert timers.delays_s == [0.001]
    await world.clock.advance_ms(1)
    timers.fire()
    assert [each.code for each in told] == [ProblemCode.TOKEN_EXPIRED]
    assert timers.delays_s == [], "it has been told"
    stop()


async def test_an_end_that_comes_nearer_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    timers = GivenTimers()
    tokens = table(WORKERS)
    world = MemoryWorld(tokens=tokens)
    standing = standing_of(world)
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", timers.call_later)
    told: list[ServerError] = []
    stop = standing.watch(told.append)
    assert timers.delays_s == []
    tokens.adopt(table(ending_at(FIRST_WALL_MS + 2_000)))
    tokens.adopt(table(ending_at(FIRST_WALL_MS + 1_000)))
    assert timers.delays_s == [1.0]
    stop()
    assert timers.delays_s == []
