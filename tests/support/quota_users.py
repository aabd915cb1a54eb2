"""Who uses quotas: clients of several gateways that do one thing again and again, and how much of it is done."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import httpx2

from app.auth.tokens import parse_token_table
from tests.support.cluster import Cluster, ClusterBuilder, client_of

ADMIN = "the-token-of-the-admin"
Act = Callable[[httpx2.AsyncClient], Awaitable[httpx2.Response]]
Units = Callable[[httpx2.Response], int]


def token_of(name: str, number: int = 0) -> str:
    return f"the-token-of-{name}-{number}"


def tokens_of(*names: str, each: int = 1, **quotas: int) -> bytes:
    """A tokens file: an administrator's, and `each` so many of every name, with `quotas`."""
    scopes = ["read", "write", "admin"]
    entries: list[dict[str, Any]] = [{"name": "admin", "token": ADMIN, "scopes": scopes}]
    for name in names:
        entries += [
            {"name": name, "token": token_of(name, number), "scopes": scopes, **quotas} for number in range(each)
        ]
    return json.dumps({"tokens": entries}).encode()


@dataclass(slots=True)
class User:
    """What one user got done: when, and how many units. `refused_by` are the quotas that refused it."""

    done: list[tuple[int, int]]
    refused_by: set[str]


class QuotaUsers:
    """Of a cluster. They act as fast as they are answered, `pause_ms` apart, until `stop`."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.users: dict[str, User] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def admin(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        async with client_of(self.cluster.gateways[0], token=ADMIN) as client:
            answer = await client.request(method, path, json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def begin(self, name: str, gateway: int, act: Act, *, units: Units, token: str = ADMIN, pause_ms: int = 90) -> None:
        """`units`: of what the quota counts, in an answer to `act`. Several may act as one user."""
        user = self.users.setdefault(name, User([], set()))
        self._tasks.append(asyncio.ensure_future(self._act(user, gateway, act, units, token, pause_ms)))

    async def _act(self, user: User, gateway: int, act: Act, units: Units, token: str, pause_ms: int) -> None:
        async with client_of(self.cluster.gateways[gateway], token=token) as client:
            while True:
                answer = await act(client)
                if answer.status_code == 429:
                    assert answer.json()["code"] == "QUOTA_EXCEEDED", answer.text
                    user.refused_by.add(answer.json()["quota"])
                else:
                    assert answer.status_code < 300, answer.text
                    user.done.append((self.cluster.clock.monotonic_ms(), units(answer)))
                await self.cluster.clock.sleep(pause_ms)

    async def per_second(self, *, after_ms: int = 2_000, during_ms: int = 4_000) -> dict[str, float]:
        """What each does, when the burst of the beginning is over."""
        await self.cluster.clock.sleep(after_ms)
        first_ms = self.cluster.clock.monotonic_ms()
        await self.cluster.clock.sleep(during_ms)
        return {
            name: sum(units for at, units in user.done if at >= first_ms) * 1000 / during_ms
            for name, user in self.users.items()
        }

    async def at_once(self, *acts: Coroutine[Any, Any, None]) -> None:
        await asyncio.gather(*acts)

    async def stop(self) -> None:
        for each in self._tasks:
            each.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def with_users(
    main: Callable[[QuotaUsers], Coroutine[Any, Any, None]], *, nodes: int, tokens: bytes = b'{"tokens": []}'
) -> None:
    """On a cluster of so many nodes and three gateways."""

    async def whole(cluster: Cluster) -> None:
        users = QuotaUsers(cluster)
        try:
            await main(users)
        finally:
            await users.stop()

    table = parse_token_table(tokens)
    builder = ClusterBuilder().nodes(nodes)
    for _ in range(3):
        builder = builder.gateway(tokens=table)
    builder.run(whole)


def send_of(*bodies: object, queue: str = "orders") -> Act:
    body = {"queue": queue, "messages": [{"body": each} for each in bodies]}
    return lambda client: client.post("/messages", json=body)


def receive_by(consumer: str, *, group: str = "workers", most: int = 10) -> Act:
    """And acknowledge, which is never refused."""

    async def act(client: httpx2.AsyncClient) -> httpx2.Response:
        path = f"/messages?queue=orders&group={group}&consumer={consumer}&max={most}"
        answer = await client.get(path)
        if answer.status_code == 200 and answer.json()["messages"]:
            receipts = [each["receipt"] for each in answer.json()["messages"]]
            settled = await client.post("/ack", json={"receipts": receipts})
            assert settled.status_code == 200, settled.text
        return answer

    return act


def read_at(path: str) -> Act:
    return lambda client: client.get(path)


def one(answer: httpx2.Response) -> int:
    """A request."""
    return 1


def sent(answer: httpx2.Response) -> int:
    return len(answer.json()["results"])


def received(answer: httpx2.Response) -> int:
    return len(answer.json()["messages"])


def received_bytes(answer: httpx2.Response) -> int:
    """Of bodies that are JSON numbers or texts."""
    return sum(len(json.dumps(each["body"])) for each in answer.json()["messages"])
