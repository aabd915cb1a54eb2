"""How many topics and groups come into being by being named."""

import asyncio
import json
from typing import Any

import pytest

from app.auth.tokens import parse_token_table
from app.configuration.server_settings import Settings
from tests.support.memory_gateway import MemoryWorld

ONE, TWO = "token-one-0123456789", "token-two-0123456789"
FILE = {
    "tokens": [
        {"name": "one", "token": ONE, "scopes": ["read", "write", "admin"]},
        {"name": "two", "token": TWO, "scopes": ["read", "write"]},
    ]
}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def send(client: Any, queue: str, token: str = ONE) -> str:
    answer = await client.post("/messages", json={"queue": queue, "body": 1}, headers=bearer(token))
    return "" if answer.status_code == 201 else str(answer.json()["code"])


async def receive(client: Any, group: str, token: str = ONE) -> str:
    answer = await client.get(f"/messages?queue=t0&group={group}", headers=bearer(token))
    return "" if answer.status_code == 200 else str(answer.json()["code"])


@pytest.fixture
def world() -> MemoryWorld:
    settings = Settings(auto_topics_max=5, auto_groups_max=4, auto_topics_per_token_max=3, auto_groups_per_token_max=2)
    return MemoryWorld(settings, tokens=parse_token_table(json.dumps(FILE).encode()))


async def test_topics_have_a_limit_per_token_and_one_for_all(world: MemoryWorld, serve: Any) -> None:
    async with serve(world) as client:
        assert [await send(client, f"t{number}") for number in range(4)] == ["", "", "", "TOO_MANY_TOPICS"]
        assert await send(client, "t0") == ""
        assert [await send(client, f"u{number}", TWO) for number in range(3)] == ["", "", "TOO_MANY_TOPICS"]
        by_hand = await client.put("/topics/by-hand", headers=bearer(ONE))
        assert by_hand.status_code == 201
        assert await send(client, "by-hand", TWO) == ""


async def test_what_is_deleted_makes_room(world: MemoryWorld, serve: Any) -> None:
    async with serve(world) as client:
        assert [await send(client, f"t{number}") for number in range(4)][-1] == "TOO_MANY_TOPICS"
        assert (await client.delete("/topics/t1", headers=bearer(ONE))).status_code in (200, 204)
        assert await send(client, "t3") == ""


async def test_groups_have_the_same(world: MemoryWorld, serve: Any) -> None:
    async with serve(world) as client:
        await send(client, "t0")
        assert [await receive(client, f"g{number}") for number in range(3)] == ["", "", "TOO_MANY_GROUPS"]
        assert [await receive(client, f"h{number}", TWO) for number in range(3)] == ["", "", "TOO_MANY_GROUPS"]
        assert (await client.put("/groups/by-hand", headers=bearer(ONE))).status_code == 201
        assert await receive(client, "by-hand") == ""


async def test_without_tokens_only_the_total_counts(serve: Any) -> None:
    world = MemoryWorld(Settings(auto_topics_max=5, auto_topics_per_token_max=1))
    async with serve(world) as client:
        codes = await asyncio.gather(*(send(client, f"t{number}") for number in range(8)))
        assert sorted(codes) == [""] * 5 + ["TOO_MANY_TOPICS"] * 3
