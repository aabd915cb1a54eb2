"""Why messages failed, as clients of a cluster's gateway say and see it. Whole nodes on virtual time."""

import json
from typing import Any

import httpx2
import pytest

from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
MODES = ["shared", "keyOrdered", "exclusive"]
LETTER = "acklog-dead-letter-"


async def made(cluster: Cluster, mode: str) -> httpx2.AsyncClient:
    topic = await cluster.topic(replicas=len(cluster.nodes))
    await cluster.in_sync(topic)
    client = client_of(cluster.gateways[0])
    settings = {"maxAttempts": 3, "retryDelaysMs": [0], "visibilityMs": 5_000}
    assert (await client.put("/groups/workers", json={"mode": mode, "settings": settings})).status_code == 201
    assert (await client.post("/messages", json={"queue": "orders", "key": "ann", "body": 0})).status_code == 201
    return client


async def received(client: httpx2.AsyncClient, mode: str, consumer: str) -> Any:
    query = {"queue": "orders", "group": "workers", "mode": mode, "consumer": consumer, "max": 1, "waitSeconds": 20}
    for _ in range(10):
        answer = await client.get("/messages", params=query)
        assert answer.status_code == 200, answer.text
        for message in answer.json()["messages"]:
            return message
    raise AssertionError("nothing came")


async def fail(client: httpx2.AsyncClient, mode: str, reason: str, *, consumer: str = "ada") -> str:
    """The message, once more. Returns its id."""
    message = await received(client, mode, consumer)
    answer = await client.post("/nack", json={"receipts": [message["receipt"]], "reason": reason})
    assert (answer.status_code, answer.json()["failed"]) == (200, 0)
    return str(message["messageId"])


async def seen(client: httpx2.AsyncClient, message_id: str) -> Any:
    [group] = (await client.get(f"/messages/{message_id}")).json()["groups"]
    return group


async def letter_headers(cluster: Cluster, client: httpx2.AsyncClient) -> dict[str, str]:
    for _ in range(100):
        answer = await client.get("/topics/orders.workers.dlq/partitions/0/records", params={"offset": 0})
        if answer.status_code == 200 and answer.json()["records"]:
            [letter] = answer.json()["records"]
            headers: dict[str, str] = letter["headers"]
            return headers
        await cluster.clock.sleep(100)
    raise AssertionError("no letter came")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nodes", NODES)
def test_reasons_are_shown_and_go_with_the_letter(nodes: int, mode: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, mode)
        message_id = await fail(client, mode, "no customer")
        await fail(client, mode, "timed out: ä\n")
        state = await seen(client, message_id)
        assert state["lastConsumer"] == "ada"
        said = [(each["attempt"], each["reason"]) for each in state["reasons"]]
        assert said == [(1, "no customer"), (2, "timed out: ä\n")]
        await fail(client, mode, "gave up")
        headers = await letter_headers(cluster, client)
        reasons = json.loads(headers[LETTER + "reasons"])
        assert reasons[:2] == state["reasons"]
        assert (reasons[2]["attempt"], reasons[2]["reason"]) == (3, "gave up")
        assert (headers[LETTER + "attempts"], headers[LETTER + "last-consumer"]) == ("3", "ada")
        assert int(headers[LETTER + "first-time"]) == reasons[0]["at"]
        assert int(headers[LETTER + "last-time"]) == reasons[2]["at"]

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("mode", MODES)
def test_reasons_survive_restarts_and_failovers(mode: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, mode)
        message_id = await fail(client, mode, "before")
        topic = cluster.gateways[0].metadata.topic("orders")
        assert topic is not None
        first = cluster.state(topic).leader
        await cluster.stop(first)
        await fail(client, mode, "after")
        await cluster.start(first)
        await cluster.in_sync(topic)
        await cluster.stop(cluster.state(topic).leader)
        message = await received(client, mode, "ada")
        assert message["attempt"] == 3
        state = await seen(client, message_id)
        assert [(each["attempt"], each["reason"]) for each in state["reasons"]] == [(1, "before"), (2, "after")]
        assert (state["lastConsumer"], state["consumer"]) == ("ada", "ada")
        await client.post("/nack", json={"receipt": message["receipt"], "reason": "last"})
        headers = await letter_headers(cluster, client)
        assert [each["reason"] for each in json.loads(headers[LETTER + "reasons"])] == ["before", "after", "last"]

    ClusterBuilder().nodes(3).gateway().run(main)


def test_a_reason_has_a_limit_and_one_beyond_it_changes_nothing() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, "shared")
        message = await received(client, "shared", "ada")
        for reason in ("x" * 257, "ä" * 128 + "x", 5):
            refused = await client.post("/nack", json={"receipt": message["receipt"], "reason": reason})
            problem = refused.json()
            assert (refused.status_code, problem["code"], problem["field"]) == (400, "INVALID_FIELD", "reason")
        state = await seen(client, message["messageId"])
        assert (state["state"], "reasons" in state, "lastConsumer" in state) == ("leased", False, False)
        assert (await client.post("/nack", json={"receipt": message["receipt"], "reason": "ä" * 128})).is_success
        state = await seen(client, message["messageId"])
        assert [each["reason"] for each in state["reasons"]] == ["ä" * 128]
        message = await received(client, "shared", "ben")
        for nothing in ("", None):
            assert (await client.post("/nack", json={"receipt": message["receipt"], "reason": nothing})).is_success
        state = await seen(client, message["messageId"])
        assert (state["attempts"], state["lastConsumer"], len(state["reasons"])) == (2, "ben", 1)

    ClusterBuilder().nodes(1).gateway().run(main)
