"""A request that waits is turned away when its token is not good any more, and gets nothing that comes later."""

import asyncio
import json
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
from tests.support.manual_clock import settle
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
    services = HttpServices(MemoryWorld(tokens=tokens).gateway)
    scope = {"type": "http", "headers": [(b"authorization", f"Bearer {WORKER}".encode())]}
    standing = CallerStanding(RequestHeaders(Request(scope)), services.callers)
    tokens.adopt(table(ADMINS))
    told: list[ServerError] = []
    standing.watch(told.append)()
    assert [each.code for each in told] == [ProblemCode.UNAUTHENTICATED]
