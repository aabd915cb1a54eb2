"""How much a group has to do, over HTTP, in every mode, on one node and on three."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import httpx2
import pytest

from tests.support.cluster import Cluster, ClusterBuilder, client_of

Main = Callable[[Cluster, httpx2.AsyncClient], Coroutine[Any, Any, None]]
MODES = ["shared", "keyOrdered", "exclusive"]


def run(main: Main, *, nodes: int = 1) -> None:
    async def whole(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            made = await client.put("/topics/orders", json={"partitions": 3})
            assert made.status_code == 201, made.text
            await main(cluster, client)

    ClusterBuilder().nodes(nodes).gateway().run(whole)


async def send(client: httpx2.AsyncClient, count: int) -> None:
    messages = [{"body": each, "key": f"k{each}", "partition": each % 3} for each in range(count)]
    sent = await client.post("/messages", json={"queue": "orders", "messages": messages})
    assert sent.status_code == 201, sent.text


async def demand(client: httpx2.AsyncClient, query: str = "", *, status: int = 200) -> dict[str, Any]:
    answer = await client.get(f"/groups/g/demand{query}")
    assert answer.status_code == status, answer.text
    return dict(answer.json())


async def receive(client: httpx2.AsyncClient, consumer: str, count: int) -> list[dict[str, Any]]:
    query = f"/messages?queue=orders&group=g&consumer={consumer}&max={count}"
    answer = await client.get(query)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["messages"])


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("mode", MODES)
def test_what_is_to_be_done_and_by_whom(mode: str, nodes: int) -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.put("/groups/g", json={"mode": mode})
        await send(client, 30)
        before = await demand(client, "?topic=orders&targetLag=10")
        assert (before["lag"], before["waiting"], before["consumers"]) == (30, 30, 0)
        assert before["suggestedConsumers"] == 3, "nobody has begun, and somebody has to"
        assert (await demand(client, "?targetLag=10"))["lag"] == 0, "of topics that are not named the group reads none"
        got = await receive(client, "a", 5)
        while len(got) < 5:
            await cluster.clock.sleep(500)
            got += await receive(client, "a", 5 - len(got))
        await receive(client, "b", 1) if mode == "shared" else None
        await cluster.clock.sleep(2_000)
        acked = await client.post("/ack", json={"receipts": [each["receipt"] for each in got[:4]]})
        assert acked.status_code == 200
        found = await demand(client, "?topic=orders&targetLag=10")
        assert (found["group"], found["mode"], found["lag"]) == ("g", mode, 26)
        assert found["waiting"] + found["inFlight"] == 26
        assert found["inFlight"] == (2 if mode == "shared" else 1)
        assert found["consumers"] == (2 if mode == "shared" else 1)
        assert (found["suggestedConsumers"], found["unknownPartitions"]) == (3, 0)
        assert 2 <= found["oldestAgeSeconds"] < 20

    run(main, nodes=nodes)


def test_the_pace_and_the_suggestion_that_goes_by_it() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.put("/groups/g")
        await receive(client, "a", 1)
        assert (await demand(client, "?topic=orders"))["settledPerSecond"] is None
        for _ in range(20):
            await send(client, 30)
            got = await receive(client, "a", 10)
            await client.post("/ack", json={"receipts": [each["receipt"] for each in got]})
            await cluster.clock.sleep(1_000)
        found = await demand(client, "?topic=orders&targetSeconds=10")
        assert found["arrivalsPerSecond"] == pytest.approx(30, rel=0.1)
        assert found["settledPerSecond"] == pytest.approx(10, rel=0.1)
        assert found["lag"] == 400
        assert found["suggestedConsumers"] in {4, 5}, "400 at 10 per second are 40 seconds of work for one"
        assert (await demand(client, "?topic=orders"))["suggestedConsumers"] is None

    run(main)


def test_what_is_paused_or_comes_later_needs_nobody() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.put("/groups/g")
        await send(client, 9)
        for each in await receive(client, "a", 3):
            await client.post("/nack", json={"receipt": each["receipt"], "delaySeconds": 600})
        found = await demand(client, "?topic=orders&targetLag=1")
        assert (found["lag"], found["waiting"], found["delayed"]) == (9, 6, 3)
        assert found["suggestedConsumers"] == 6
        await client.post("/groups/g/pause", json={"topic": "orders", "partitions": [0, 1]})
        partly = await demand(client, "?topic=orders&targetLag=1")
        assert partly["lag"] == 9
        assert partly["waiting"] <= 3
        await client.post("/groups/g/pause")
        assert (await demand(client, "?topic=orders&targetLag=1"))["suggestedConsumers"] == 0

    run(main)


def test_where_the_group_will_begin_counts() -> None:
    async def main(_cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.put("/groups/g", json={"settings": {"startPosition": "latest"}})
        await send(client, 9)
        assert (await demand(client, "?topic=orders&targetLag=1"))["suggestedConsumers"] == 0

    run(main)


def test_leaders_that_cannot_be_asked() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.put("/topics/alone", json={"partitions": 3, "replicationFactor": 1})
        await client.put("/groups/g")
        await client.get("/messages?queue=alone&group=g&consumer=a")
        for partition in range(3):
            await client.post("/messages", json={"queue": "alone", "body": 1, "partition": partition})
        await cluster.stop(3)
        found = await demand(client, "?topic=alone&targetLag=1")
        assert found["unknownPartitions"] == 1
        assert (found["lag"], found["suggestedConsumers"]) == (2, 2)
        await cluster.stop(2)
        await cluster.stop(1)
        await asyncio.sleep(1)
        assert (await demand(client, "?topic=alone", status=503))["retriable"]

    run(main, nodes=3)


@pytest.mark.parametrize(
    ("query", "status", "code", "field"),
    [
        ("?targetLag=0", 400, "INVALID_FIELD", "targetLag"),
        ("?targetLag=1000000001", 400, "INVALID_FIELD", "targetLag"),
        ("?targetSeconds=0", 400, "INVALID_FIELD", "targetSeconds"),
        ("?targetSeconds=2592001", 400, "INVALID_FIELD", "targetSeconds"),
        ("?targetSeconds=soon", 400, "INVALID_FIELD", "targetSeconds"),
        ("?target=5", 400, "UNKNOWN_FIELD", "target"),
        ("?topic=none", 404, "TOPIC_NOT_FOUND", "topic"),
    ],
)
def test_wrong_use(query: str, status: int, code: str, field: str) -> None:
    async def main(_cluster: Cluster, client: httpx2.AsyncClient) -> None:
        assert (await demand(client, query, status=404))["code"] == "GROUP_NOT_FOUND" if status == 404 else True
        await client.put("/groups/g")
        found = await demand(client, query, status=status)
        assert (found["code"], found.get("field")) == (code, field)

    run(main)
