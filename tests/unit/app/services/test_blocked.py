"""Groups that block, as clients of a cluster's gateway see them: what is blocked, and what a person decides. Whole
nodes on virtual time."""

import asyncio
from typing import Any

import httpx2
import pytest

from app.processes.node_metrics import NodeCollector
from cluster.model.values import Topic
from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
BLOCK = {"onExhausted": "block", "maxAttempts": 2, "retryBackoffMinMs": 0, "visibilityMs": 5_000}


async def made(cluster: Cluster, *, mode: str = "keyOrdered") -> tuple[httpx2.AsyncClient, Topic]:
    """Two messages of ann, two of ben."""
    topic = await cluster.topic(replicas=len(cluster.nodes))
    await cluster.in_sync(topic)
    client = client_of(cluster.gateways[0])
    answer = await client.put("/groups/workers", json={"mode": mode, "settings": BLOCK})
    assert answer.status_code == 201, answer.text
    for number, key in enumerate(["ann", "ann", "ben", "ben"]):
        answer = await client.post("/messages", json={"queue": "orders", "key": key, "body": number})
        assert answer.status_code == 201
    return client, topic


async def receive(client: httpx2.AsyncClient, mode: str = "keyOrdered", **query: Any) -> Any:
    named = {"queue": "orders", "group": "workers", "mode": mode, "consumer": "ada", "waitSeconds": 1, **query}
    answer = await client.get("/messages", params=named)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def fail(client: httpx2.AsyncClient, mode: str = "keyOrdered") -> str:
    """The first message, until it is blocked. Returns its last receipt."""
    receipt = ""
    for _ in range(BLOCK["maxAttempts"]):  # type: ignore[call-overload]
        [message] = (await receive(client, mode, max=1))["messages"]
        assert message["body"] == 0
        receipt = message["receipt"]
        answer = await client.post("/nack", json={"receipt": receipt, "delaySeconds": 0})
        assert answer.status_code == 200, answer.text
    return receipt


async def blocked(client: httpx2.AsyncClient, **query: Any) -> Any:
    answer = await client.get("/groups/workers/keys", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def decide(client: httpx2.AsyncClient, decision: str, **named: Any) -> tuple[int, Any]:
    answer = await client.post(f"/groups/workers/keys/{decision}", json=named)
    return answer.status_code, answer.json()


async def take(client: httpx2.AsyncClient, count: int, mode: str = "keyOrdered", **query: Any) -> list[int]:
    """So many messages, acknowledged."""
    bodies: list[int] = []
    while len(bodies) < count:
        found = (await receive(client, mode, max=10, **query))["messages"]
        assert found, bodies
        for message in found:
            assert (await client.post("/ack", json={"receipt": message["receipt"]})).status_code == 200
        bodies += [message["body"] for message in found]
    return bodies


def metric(cluster: Cluster) -> float:
    [node] = cluster.nodes.values()
    collector = NodeCollector(node.node, node.metadata, names_max=9)
    [found] = [each for each in collector.collect() if each.name == "acklog_group_blocked"]
    [sample] = found.samples
    assert sample.labels == {"topic": "orders", "group": "workers"}
    return float(sample.value)


@pytest.mark.parametrize("nodes", NODES)
def test_a_key_waits_for_a_decision_and_the_others_go_on(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, topic = await made(cluster)
        await fail(client)
        assert await take(client, 2) == [2, 3]
        assert (await receive(client))["reason"] == "BLOCKED"
        found = await blocked(client, topic="orders")
        [message] = found["keys"]
        assert message.pop("since") > 0
        message_id = message.pop("messageId")
        assert message_id.startswith(f"m-{topic.id}-0-")
        assert message == {"topic": "orders", "partition": 0, "offset": 0, "key": "ann", "attempts": 2}
        assert (found["group"], found["count"], found["unknown"]) == ("workers", 1, [])
        view = (await client.get(f"/messages/{message_id}")).json()["groups"]
        assert [(each["state"], each["attempts"]) for each in view] == [("blocked", 2)]
        topics = {each["name"] for each in (await client.get("/topics")).json()["topics"]}
        assert topics == {"orders"}, "there is no dead letter"
        status, decided = await decide(client, "release", topic="orders", key="ann")
        assert (status, [each["messageId"] for each in decided["keys"]]) == (200, [message_id])
        assert (await blocked(client))["keys"] == []
        assert await take(client, 2) == [0, 1]

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_an_exclusive_group_stops_there(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster, mode="exclusive")
        while not (found := (await receive(client, "exclusive", max=1, waitSeconds=5))["messages"]):
            pass
        await client.post("/nack", json={"receipt": found[0]["receipt"], "delaySeconds": 0})
        [again] = (await receive(client, "exclusive", max=1))["messages"]
        await client.post("/nack", json={"receipt": again["receipt"], "delaySeconds": 0})
        assert (await receive(client, "exclusive"))["reason"] == "BLOCKED"
        waiting = asyncio.ensure_future(take(client, 3, "exclusive", waitSeconds=20))
        await cluster.clock.sleep(2_000)
        assert not waiting.done()
        status, _ = await decide(client, "skip", topic="orders", partition=0, offset=0)
        assert status == 200
        assert await waiting == [1, 2, 3]
        [offsets] = (await client.get("/groups/workers/offsets")).json()["offsets"]
        assert offsets["progress"] == 4

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("decision", ["release", "skip"])
def test_what_is_blocked_and_what_was_decided_survive_a_failover(decision: str) -> None:
    async def main(cluster: Cluster) -> None:
        client, topic = await made(cluster)
        receipt = await fail(client)
        first = cluster.state(topic).leader
        await cluster.stop(first)
        assert await take(client, 2, waitSeconds=10) == [2, 3]
        assert (await receive(client))["reason"] == "BLOCKED"
        [message] = (await blocked(client))["keys"]
        assert (message["key"], message["attempts"]) == ("ann", 2)
        assert (await decide(client, decision, messageId=message["messageId"]))[0] == 200
        await cluster.start(first)
        await cluster.in_sync(topic)
        await cluster.stop(cluster.state(topic).leader)
        left = [0, 1] if decision == "release" else [1]
        assert await take(client, len(left), waitSeconds=10) == left
        assert (await blocked(client))["keys"] == []
        assert (await client.post("/ack", json={"receipt": receipt})).status_code == 200, "it is done by now"

    ClusterBuilder().nodes(3).gateway().run(main)


def test_who_waits_hears_of_a_decision() -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        await fail(client)
        assert await take(client, 2) == [2, 3]
        waiting = asyncio.ensure_future(take(client, 2, waitSeconds=20))
        await cluster.clock.sleep(2_000)
        assert not waiting.done()
        decided_ms = cluster.clock.monotonic_ms()
        assert (await decide(client, "release", topic="orders", partition=0, offset=0))[0] == 200
        assert await waiting == [0, 1]
        assert cluster.clock.monotonic_ms() - decided_ms < 1_000

    ClusterBuilder().nodes(1).gateway().run(main)


def test_released_it_has_all_its_attempts_again() -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        await fail(client)
        await decide(client, "release", topic="orders", key="ann")
        await fail(client)
        [message] = (await blocked(client))["keys"]
        assert message["attempts"] == 2
        await client.put("/groups/workers/offsets", json={"topic": "orders", "to": "earliest"})
        assert (await blocked(client))["keys"] == []

    ClusterBuilder().nodes(1).gateway().run(main)


def test_an_answer_shows_so_many_and_counts_all() -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        await client.patch("/groups/workers", json={"settings": {"maxAttempts": 1}})
        for message in (await receive(client, max=4))["messages"]:
            await client.post("/nack", json={"receipt": message["receipt"]})
        found = await blocked(client, limit=1)
        assert ([each["offset"] for each in found["keys"]], found["count"]) == ([0], 2)
        assert [each["offset"] for each in (await blocked(client, limit=1_000))["keys"]] == [0, 2]
        [progress] = (await client.get("/groups/workers/offsets")).json()["offsets"]
        assert (progress["blocked"], progress["lag"]) == (2, 4)
        assert metric(cluster) == 2
        assert (await client.get("/groups/workers/keys?limit=1001")).json()["field"] == "limit"
        assert (await client.get("/groups/workers/keys?limit=0")).status_code == 400

    ClusterBuilder().nodes(1).gateway().run(main)


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    async def main(cluster: Cluster) -> None:
        client, topic = await made(cluster)
        await fail(client)
        before = await blocked(client)
        epoch = before["keys"][0]["messageId"].split("-")[3]
        for named, status, code, field in [
            ({}, 400, "MISSING_FIELD", "topic"),
            ({"topic": "orders"}, 400, "MISSING_FIELD", "partition"),
            ({"topic": "orders", "partition": 0}, 400, "MISSING_FIELD", "offset"),
            ({"topic": "orders", "partition": 0, "key": "ann"}, 400, "INVALID_FIELD", "key"),
            ({"topic": "orders", "messageId": "m"}, 400, "INVALID_FIELD", "messageId"),
            ({"messageId": "m"}, 400, "INVALID_MESSAGE_ID", "messageId"),
            ({"messageId": f"m-{topic.id}-0-{int(epoch) + 1}-0"}, 404, "MESSAGE_NOT_FOUND", "messageId"),
            ({"messageId": f"m-{topic.id}-0-{epoch}-1"}, 409, "NOT_BLOCKED", "messageId"),
            ({"topic": "orders", "partition": 0, "offset": 1}, 409, "NOT_BLOCKED", "offset"),
            ({"topic": "orders", "key": "ben"}, 409, "NOT_BLOCKED", "key"),
            ({"topic": "nothing", "key": "ann"}, 404, "TOPIC_NOT_FOUND", "topic"),
            ({"topic": "orders", "partition": 9, "offset": 0}, 404, "PARTITION_NOT_FOUND", "partition"),
            ({"topic": "orders", "key": "ann", "force": True}, 400, "UNKNOWN_FIELD", "force"),
        ]:
            for decision in ("release", "skip"):
                found, problem = await decide(client, decision, **named)
                assert (found, problem["code"], problem.get("field")) == (status, code, field), named
        for path in ("release", "skip"):
            named = {"topic": "orders", "key": "ann"}
            assert (await client.post(f"/groups/nobody/keys/{path}", json=named)).json()["code"] == "GROUP_NOT_FOUND"
        assert (await client.get("/groups/nobody/keys")).json()["code"] == "GROUP_NOT_FOUND"
        assert await blocked(client) == before

    ClusterBuilder().nodes(1).gateway().run(main)


def test_only_groups_with_an_order_block() -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        for mode, status in (("shared", 400), ("keyOrdered", 201), ("exclusive", 201)):
            fields = {"mode": mode, "settings": {"onExhausted": "block"}}
            answer = await client.put(f"/groups/another-{mode}", json=fields)
            assert answer.status_code == status, answer.text
            if status == 400:
                assert (answer.json()["code"], answer.json()["field"]) == ("INVALID_FIELD", "settings.onExhausted")
                assert (await client.get(f"/groups/another-{mode}")).status_code == 404
        await client.put("/groups/mails", json={})
        refused = await client.patch("/groups/mails", json={"settings": {"onExhausted": "block"}})
        assert (refused.status_code, refused.json()["field"]) == (400, "settings.onExhausted")
        assert (await client.get("/groups/mails")).json()["settings"]["onExhausted"] == "deadLetter"

    ClusterBuilder().nodes(1).gateway().run(main)
