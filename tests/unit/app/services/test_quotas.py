"""Quotas over HTTP: what is refused says which quota and when to come back, and nothing of it is done (rule R38)."""

import asyncio
from typing import Any

import httpx2
import pytest

from app.auth.tokens import TokensFileError, parse_token_table
from tests.support.memory_gateway import MemoryWorld

TOKEN = "a-token-of-some-length"


async def test_beyond_a_topics_quota_nothing_is_stored(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    body: dict[str, Any] = {"partitions": 1, "config": {"sendMessagesPerSecond": 1}}
    assert (await client.put("/topics/orders", json=body)).status_code == 201
    assert (await client.post("/messages", json={"queue": "orders", "body": 1})).status_code == 201
    refused = await client.post("/messages", json={"queue": "orders", "body": 2})
    assert (refused.status_code, refused.json()["code"], refused.json()["retriable"]) == (429, "QUOTA_EXCEEDED", True)
    assert refused.headers["acklog-quota"] == refused.json()["quota"] == "topic/orders/sendMessagesPerSecond"
    assert int(refused.headers["retry-after"]) * 1000 >= refused.json()["retryAfterMs"] > 0
    topic = world.metadata.topics_by_name["orders"]
    assert len(world.node.stored(topic.id)) == 1
    metrics = (await client.get("/metrics")).text
    assert 'acklog_quota_refused_total{quota="topic/orders/sendMessagesPerSecond"} 1.0' in metrics


async def test_requests_are_counted_whatever_they_hold(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    assert (await client.put("/topics/orders", json={"config": {"sendRequestsPerSecond": 2}})).status_code == 201
    batch = {"queue": "orders", "messages": [{"body": each} for each in range(50)]}
    found = [(await client.post("/messages", json=batch)).status_code for _ in range(3)]
    assert found == [201, 201, 429]
    assert (await client.put("/groups/g", json={"settings": {"receiveRequestsPerSecond": 2}})).status_code == 201
    receives = [await client.get("/messages?queue=orders&group=g&max=1") for _ in range(3)]
    assert [each.status_code for each in receives] == [200, 200, 429]
    assert receives[2].headers["acklog-quota"] == "group/g/receiveRequestsPerSecond"


async def test_to_make_or_change_a_recurring_schedule_is_a_request(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    assert (await client.put("/topics/orders", json={"config": {"sendRequestsPerSecond": 2}})).status_code == 201
    path, daily = "/topics/orders/schedules/daily", {"everySeconds": 86_400, "message": {"body": 1}}
    assert (await client.put(path, json={**daily, "cron": "wrong"})).status_code == 400  # not counted
    assert (await client.put(path, json=daily)).status_code == 201
    assert (await client.patch(path, json={"paused": True})).status_code == 200
    refused = [await client.put(f"{path}2", json=daily), await client.patch(path, json={"paused": False})]
    assert [each.headers["acklog-quota"] for each in refused] == ["topic/orders/sendRequestsPerSecond"] * 2
    assert (await client.get(path)).json()["paused"] is True
    assert (await client.get(f"{path}2")).status_code == 404
    assert (await client.delete(path)).status_code == 204


@pytest.mark.parametrize("per_second", [1, 5, 40])
async def test_a_seconds_worth_goes_through_at_once(
    client: httpx2.AsyncClient, world: MemoryWorld, per_second: int
) -> None:
    await client.put("/topics/orders", json={"config": {"sendMessagesPerSecond": per_second}})
    loop = asyncio.get_running_loop()
    began = loop.time()
    sends = [client.post("/messages", json={"queue": "orders", "body": each}) for each in range(per_second + 3)]
    statuses = [each.status_code for each in await asyncio.gather(*sends)]
    since = int((loop.time() - began) * per_second)  # so many more where the machine is slow
    assert set(statuses) <= {201, 429}
    assert per_second <= statuses.count(201) <= per_second + since


async def test_without_a_quota_nobody_is_asked(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    for _ in range(3):
        assert (await client.post("/messages", json={"queue": "orders", "body": 1})).status_code == 201
    assert world.node.calls("quota_shares") == []


@pytest.mark.parametrize("per_second", [0, -1, 10**12 + 1, "many"])
@pytest.mark.parametrize(
    ("path", "part", "setting"),
    [
        ("/topics/orders", "config", "sendMessagesPerSecond"),
        ("/topics/orders", "config", "sendBytesPerSecond"),
        ("/topics/orders", "config", "sendRequestsPerSecond"),
        ("/groups/workers", "settings", "receiveMessagesPerSecond"),
        ("/groups/workers", "settings", "receiveBytesPerSecond"),
        ("/groups/workers", "settings", "receiveRequestsPerSecond"),
    ],
)
async def test_what_is_no_quota(
    client: httpx2.AsyncClient, path: str, part: str, setting: str, per_second: object
) -> None:
    refused = await client.put(path, json={part: {setting: per_second}})
    assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_FIELD")
    assert refused.json()["field"] == f"{part}.{setting}"
    assert (await client.get(path)).status_code == 404


def test_tokens_of_one_name_share_their_quotas() -> None:
    entry = '{"name": "shop", "token": "%s", "scopes": ["write"], "messagesPerSecond": %d}'
    same = f'{{"tokens": [{entry % (TOKEN, 5)}, {entry % (TOKEN + "2", 5)}]}}'
    found = parse_token_table(same.encode()).find(TOKEN)
    assert found.quotas is not None
    assert found.quotas.messages_per_second == 5
    with pytest.raises(TokensFileError, match="share their quotas"):
        parse_token_table(f'{{"tokens": [{entry % (TOKEN, 5)}, {entry % (TOKEN + "2", 6)}]}}'.encode())
    with pytest.raises(TokensFileError):
        parse_token_table(f'{{"tokens": [{entry % (TOKEN, 0)}]}}'.encode())
