"""Who was refused: found out once a request, and told also of who was let in and is not any more."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from acklog.wire.problems import ProblemCode
from app.auth.identities import Identities, signed_name
from app.auth.principal import Principal
from app.auth.refused_caller import RefusedCallerError
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.http.audit.audited_world import ADMIN, audited_world, bearer, records_of

SHOWN = "a.b.c"
CALLS = [
    ("POST", "/messages", {"queue": "orders", "body": 1}),
    ("POST", "/messages", {"queue": "orders", "messages": [{"body": 1}]}),
    ("GET", "/messages?queue=orders&group=g", None),
    ("POST", "/ack", {"receipt": "r"}),
    ("GET", "/topics/orders/partitions/0/records", None),
    ("DELETE", "/topics/orders", None),
    ("PATCH", "/topics/orders", {"config": {"ttlMs": 1}}),
]


class RefusingIssuer:
    """Of whose tokens none is good any more. `asked` counts how often one was looked at."""

    token_bytes_max = 8_192

    def __init__(self) -> None:
        self.asked = 0

    def find(self, token: str, identities: Identities, now_ms: int) -> Principal | None:
        self.asked += token == SHOWN
        if token != SHOWN:
            return None
        raise RefusedCallerError(ProblemCode.TOKEN_EXPIRED, "the token has expired", signed_name("alice"))

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        return lambda: None


def world_of(issuer: RefusingIssuer) -> MemoryWorld:
    world = audited_world()
    world.gateway = replace(world.gateway, signed=issuer)
    return world


async def refused_of(client: Any) -> list[tuple[Any, ...]]:
    found = [each for each in await records_of(client) if each["result"] == "refused"]
    return [(each.get("principal", {}).get("name"), each["code"]) for each in found]


@pytest.mark.parametrize(("method", "path", "body"), CALLS)
async def test_a_token_is_looked_at_once_a_request(serve: Any, method: str, path: str, body: object) -> None:
    """To check a signature costs more than all else of a request, and each is counted."""
    issuer = RefusingIssuer()
    async with serve(world_of(issuer)) as client:
        document = {} if body is None else {"json": body}
        answer = await client.request(method, path, headers=bearer(SHOWN), **document)
        assert (answer.status_code, answer.json()["code"]) == (401, "TOKEN_EXPIRED")
        assert answer.json()["detail"] == "the token has expired"
        assert issuer.asked == 1
        assert await refused_of(client) == [("jwt:alice", "TOKEN_EXPIRED")]
        await client.request(method, path, headers=bearer(SHOWN), **document)
        assert issuer.asked == 2, "on the same connection, for another request"


async def test_whose_token_was_revoked_while_it_waited(serve: Any) -> None:
    world = audited_world()
    async with serve(world) as client:
        await client.put("/topics/orders", headers=bearer(ADMIN))
        made = await client.post("/tokens", json={"name": "w", "roles": ["consumer"]}, headers=bearer(ADMIN))
        path = "/messages?queue=orders&group=g&waitSeconds=20"
        waiting = asyncio.get_running_loop().create_task(client.get(path, headers=bearer(made.json()["token"])))
        await settle()
        assert not waiting.done()
        assert (await client.delete("/tokens/w", headers=bearer(ADMIN))).status_code == 204
        assert (await waiting).status_code == 401
        assert await refused_of(client) == [("w", "UNAUTHENTICATED")]
