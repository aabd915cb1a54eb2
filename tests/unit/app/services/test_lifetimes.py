"""Messages with a time to live, as clients of a cluster's gateway see them. Whole nodes on virtual time."""

import asyncio
from typing import Any

import httpx2
import msgspec
import pytest

from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.needed_protocol import PROTOCOL_OF_TTL
from cluster.model.values import NodeRegistration
from cluster.ports.coordination import Put
from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
MODES = ["shared", "keyOrdered", "exclusive"]


async def made(cluster: Cluster, mode: str = "shared", **settings: Any) -> httpx2.AsyncClient:
    await cluster.in_sync(await cluster.topic(replicas=len(cluster.nodes)))
    client = client_of(cluster.gateways[0])
    answer = await client.put("/groups/workers", json={"mode": mode, "settings": settings})
    assert answer.status_code == 201, answer.text
    return client


async def send(client: httpx2.AsyncClient, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    listed = [{"key": "a", **message} for message in messages]
    answer = await client.post("/messages", json={"queue": "orders", "messages": listed})
    assert answer.status_code == 201, answer.text
    return list(answer.json()["results"])


async def receive(client: httpx2.AsyncClient, max_messages: int = 10, **query: Any) -> list[Any]:
    query = {"queue": "orders", "group": "workers", "consumer": "ada", "max": max_messages, **query}
    answer = await client.get("/messages", params=query)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["messages"])


async def receive_and_ack(client: httpx2.AsyncClient, **query: Any) -> list[int]:
    messages = await receive(client, **query)
    if messages:
        receipts = [message["receipt"] for message in messages]
        assert (await client.post("/ack", json={"receipts": receipts})).status_code == 200
    return [message["body"] for message in messages]


async def drained(client: httpx2.AsyncClient, **query: Any) -> list[int]:
    found: list[int] = []
    while bodies := await receive_and_ack(client, waitSeconds=2, **query):
        found += bodies
    return found


async def position(client: httpx2.AsyncClient) -> dict[str, Any]:
    [found] = (await client.get("/groups/workers/offsets?topic=orders")).json()["offsets"]
    return dict(found)


async def state(client: httpx2.AsyncClient, message: dict[str, Any]) -> str:
    [group] = (await client.get(f"/messages/{message['messageId']}")).json()["groups"]
    return str(group["state"])


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("mode", MODES)
def test_what_has_expired_is_passed_over_durably_and_holds_up_nothing(nodes: int, mode: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, mode)
        short = {"ttlSeconds": 2}
        sent = await send(
            client, {"body": 0, **short}, {"body": 1}, {"body": 2, **short}, {"body": 3, "ttlSeconds": 600.5}
        )
        records = (await client.get("/topics/orders/partitions/0/records")).json()["records"]
        lives = [each.get("expiresAt", each["appendTime"]) - each["appendTime"] for each in records]
        assert lives == [2_000, 0, 2_000, 600_500]
        await asyncio.sleep(2.5)
        assert await drained(client) == [1, 3]
        assert {name: (await position(client))[name] for name in ("progress", "expired")} == {
            "progress": 4,
            "expired": 2,
        }
        assert [await state(client, each) for each in sent] == ["expired", "done", "expired", "done"]
        if nodes > 1:
            topic = cluster.gateways[0].gateway.metadata.topic("orders")
            assert topic is not None
            await cluster.stop(cluster.state(topic).leader)
            assert await receive_and_ack(client, waitSeconds=1) == []
            found = await position(client)
            assert (found["progress"], found["expired"]) == (4, 2)
            assert await state(client, sent[0]) == "expired"
        await client.put("/groups/workers/offsets", json={"topic": "orders", "to": "earliest"})
        assert await drained(client) == [1, 3], "a seek does not revive it"

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("mode", MODES)
def test_who_has_it_keeps_it_and_what_comes_back_has_expired(mode: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, mode)
        sent = await send(client, {"body": 0, "ttlSeconds": 2}, {"body": 1, "ttlSeconds": 2}, {"body": 2})
        first, second, third = await receive(client, 3)
        await asyncio.sleep(3)
        assert (await client.post("/extend", json={"receipt": first["receipt"], "visibilitySeconds": 20})).is_success
        assert (await client.post("/ack", json={"receipt": first["receipt"]})).is_success
        assert (await client.post("/nack", json={"receipt": second["receipt"], "delaySeconds": 0})).is_success
        if mode != "exclusive":  # there it has gone back with the second
            assert (await client.post("/ack", json={"receipt": third["receipt"]})).is_success
        assert await drained(client) == ([2] if mode == "exclusive" else [])
        assert [await state(client, each) for each in sent] == ["done", "expired", "done"]
        assert (await client.post("/ack", json={"receipt": second["receipt"]})).is_success, (
            "it does not matter any more"
        )
        assert (await position(client))["progress"] == 3

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("mode", MODES)
def test_it_becomes_a_dead_letter_where_the_group_wants_that(nodes: int, mode: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, mode, onExpired="deadLetter")
        sent = await send(client, {"body": 0, "ttlSeconds": 5}, {"body": 1}, {"body": 2, "ttlSeconds": 2}, {"body": 3})
        [first] = await receive(client, 1)
        await client.post("/nack", json={"receipt": first["receipt"], "delaySeconds": 1, "reason": "busy"})
        await asyncio.sleep(6)
        assert await drained(client) == [1, 3]
        assert [await state(client, each) for each in sent] == ["deadLettered", "done", "deadLettered", "done"]
        found = await position(client)
        assert (found["progress"], found["expired"], found["deadLettered"]) == (4, 2, 2)
        letters = await receive(client, queue="orders.workers.dlq", group="people", waitSeconds=1)
        assert [letter["body"] for letter in letters] == [0, 2]
        told = [
            {name.removeprefix("acklog-dead-letter-"): text for name, text in each["headers"].items()}
            for each in letters
        ]
        assert [(each["cause"], each["attempts"], each["offset"]) for each in told] == [
            ("expired", "1", "0"),
            ("expired", "0", "2"),
        ]
        assert "busy" in told[0]["reasons"]
        assert "expiresAt" not in letters[0]

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("mode", MODES)
def test_a_topic_says_it_for_messages_that_say_nothing(mode: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, mode)
        await send(client, {"body": 0})
        refused = await client.patch("/topics/orders", json={"config": {"ttlMs": 2000}})
        assert (refused.json()["code"], refused.json()["field"]) == ("DATA_LOSS_NOT_ALLOWED", "config.ttlMs")
        changed = await client.patch("/topics/orders?allowDataLoss=true", json={"config": {"ttlMs": 2000}})
        assert changed.json()["config"]["ttlMs"] == 2000
        await send(client, {"body": 1}, {"body": 2, "ttlSeconds": 60}, {"body": 3, "ttlSeconds": 1})
        [seen] = await receive(client, 1)
        assert (seen["body"], seen["expiresAt"] - seen["appendTime"]) == (0, 2000)
        await client.post("/nack", json={"receipt": seen["receipt"], "delaySeconds": 0})
        await asyncio.sleep(3)
        assert await drained(client) == [2]
        changed = await client.patch("/topics/orders", json={"config": {"ttlMs": None}})
        assert changed.json()["config"]["ttlMs"] is None
        await send(client, {"body": 4})
        await asyncio.sleep(3)
        assert await drained(client) == [4]

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("mode", MODES)
def test_a_long_run_of_what_has_expired(mode: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, mode)
        for _ in range(3):
            await send(client, *({"body": -1, "ttlSeconds": 1, "key": f"k{number % 7}"} for number in range(700)))
        await send(client, {"body": 1}, {"body": 2})
        await asyncio.sleep(2)
        assert await drained(client) == [1, 2]
        found = await position(client)
        assert (found["progress"], found["expired"], found["lag"]) == (2102, 2100, 0)

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("query", [{"autoAck": "true"}, {"filter": 'key = "a"'}, {"max_messages": 1}])
def test_every_kind_of_receive(query: dict[str, Any]) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, maxInFlight=1 if "max_messages" in query else 10)
        await send(client, *({"body": number, "ttlSeconds": 1 + 59 * (number % 2)} for number in range(6)))
        await asyncio.sleep(2)
        found: list[int] = []
        while messages := await receive(client, **query):
            found += [message["body"] for message in messages]
            if "autoAck" not in query:
                await client.post("/ack", json={"receipts": [message["receipt"] for message in messages]})
        assert found == [1, 3, 5]

    ClusterBuilder().nodes(1).gateway().run(main)


def test_with_a_delay_it_counts_from_the_end_of_that() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        await send(
            client, {"body": 0, "ttlSeconds": 2, "delaySeconds": 5}, {"body": 1, "ttlSeconds": 2, "delaySeconds": 5}
        )
        await asyncio.sleep(6)
        [seen] = await receive(client, 1)
        assert (seen["body"], seen["expiresAt"] - seen["appendTime"]) == (0, 2000)
        await asyncio.sleep(2)
        assert await receive(client) == []

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("ttl", [0, -1, 0.0001, 10 * 365 * 24 * 3600 + 1, "soon", True])
def test_wrong_times_to_live_are_refused_and_change_nothing(ttl: object) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        for body in ({"body": 1, "ttlSeconds": ttl}, {"messages": [{"body": 1, "ttlSeconds": ttl}]}):
            answer = await client.post("/messages", json={"queue": "orders", **body})
            problem = (
                answer.json() if "messages" not in body or answer.status_code == 400 else answer.json()["results"][0]
            )
            field = "messages[0].ttlSeconds" if "messages" in body else "ttlSeconds"
            assert (problem["code"], problem["field"]) == ("INVALID_FIELD", field)
        raw = await client.post(
            f"/messages?queue=orders&ttlSeconds={ttl}", content=b"raw", headers={"Content-Type": "text/plain"}
        )
        assert (raw.status_code, raw.json()["field"]) == (400, "ttlSeconds")
        assert (await client.get("/topics/orders/partitions/0")).json()["highWatermark"] == 0

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/topics/new", {"config": {"ttlMs": 0}}, "config.ttlMs"),
        ("/topics/new", {"config": {"ttlMs": -1}}, "config.ttlMs"),
        ("/topics/new", {"config": {"ttlMs": 1.5}}, "config.ttlMs"),
        ("/groups/new", {"settings": {"onExpired": "drop"}}, "settings.onExpired"),
    ],
)
def test_wrong_settings_are_refused(path: str, body: dict[str, Any], field: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = client_of(cluster.gateways[0])
        answer = await client.put(path, json=body)
        assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "INVALID_FIELD", field)
        assert (await client.get(path)).status_code == 404

    ClusterBuilder().nodes(1).gateway().run(main)


def test_it_waits_until_every_node_knows_of_it() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        item = await cluster.store.get(keys.node(1))
        assert item is not None
        newest = PROTOCOL_OF_TTL - 1
        earlier = msgspec.structs.replace(decode(NodeRegistration, item.value), newest_protocol=newest)
        await cluster.store.transact([], [Put(item.key, encode(earlier), item.lease_id)])
        view = cluster.gateways[0].metadata
        await cluster.until(lambda: view.steering.membership.get(1).newest_protocol == newest)
        message = {"body": 1, "ttlSeconds": 1}
        answers = [
            await client.post("/messages", json={"queue": "orders", **message}),
            await client.post("/messages", json={"queue": "orders", "messages": [message, message]}),
            await client.put("/topics/new", json={"config": {"ttlMs": 1}}),
            await client.patch("/topics/orders?allowDataLoss=true", json={"config": {"ttlMs": 1}}),
            await client.patch("/groups/workers", json={"settings": {"onExpired": "deadLetter"}}),
        ]
        assert [(each.status_code, each.json()["code"]) for each in answers] == [(409, "NODES_TOO_OLD")] * 5
        assert (await client.get("/cluster")).json()["neededProtocol"] < PROTOCOL_OF_TTL

    ClusterBuilder().nodes(1).gateway().run(main)
