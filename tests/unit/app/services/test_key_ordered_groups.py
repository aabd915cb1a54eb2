"""Key-ordered groups, as clients of a cluster's gateway see them. Whole nodes on virtual time."""

from typing import Any

import httpx2
import pytest

from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
MODE = {"mode": "keyOrdered"}


async def made(cluster: Cluster, keys: list[str | None], **settings: Any) -> httpx2.AsyncClient:
    """A client, a group with these settings, and a topic with a message of each of the keys, in that order."""
    await cluster.in_sync(await cluster.topic(replicas=len(cluster.nodes)))
    client = client_of(cluster.gateways[0])
    assert (await client.put("/groups/workers", json={**MODE, "settings": settings})).status_code == 201
    messages = [{"body": number, **({} if key is None else {"key": key})} for number, key in enumerate(keys)]
    assert (await client.post("/messages", json={"queue": "orders", "messages": messages})).status_code == 201
    return client


async def receive(client: httpx2.AsyncClient, max_messages: int = 10, **query: Any) -> list[Any]:
    query = {"queue": "orders", "group": "workers", "max": max_messages, **query}
    answer = await client.get("/messages", params=query)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["messages"])


def bodies(messages: list[Any]) -> list[int]:
    return [message["body"] for message in messages]


@pytest.mark.parametrize("nodes", NODES)
def test_one_run_of_a_key_is_out_also_under_the_next_leader(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, ["a", "a", "b", "a", None])
        first = await receive(client, 2)
        assert bodies(first) == [0, 1]
        others = await receive(client)
        assert bodies(others) == [2, 4]
        await client.post("/ack", json={"receipts": [message["receipt"] for message in [first[0], *others]]})
        assert await receive(client) == []
        if nodes > 1:
            [topic] = cluster.gateways[0].gateway.metadata.topics()
            await cluster.stop(cluster.state(topic).leader)
            again = await receive(client, 1)
            assert bodies(again) == [1]
            assert await receive(client) == []
            first = [first[0], *again]
        await client.post("/ack", json={"receipt": first[1]["receipt"]})
        assert bodies(await receive(client)) == [3]

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_what_failed_delays_its_key_only(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, ["a", "a", "b"])
        messages = await receive(client)
        await client.post("/nack", json={"receipt": messages[0]["receipt"], "delaySeconds": 5})
        await client.post("/nack", json={"receipt": messages[1]["receipt"]})  # is behind it, and went back with it
        await client.post("/ack", json={"receipt": messages[2]["receipt"]})
        await client.post("/messages", json={"queue": "orders", "messages": [{"body": 3, "key": "b"}]})
        assert bodies(await receive(client)) == [3]
        waited = await receive(client, waitSeconds=10)
        assert [(message["body"], message["attempt"]) for message in waited] == [(0, 2), (1, 1)]

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_auto_ack_goes_through_in_order() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, ["a", "b", "a", "b", "a"])
        found: list[int] = []
        while messages := await receive(client, 2, autoAck="true"):
            found += bodies(messages)
        assert found == [0, 1, 2, 3, 4]

    ClusterBuilder().nodes(1).gateway().run(main)


def test_the_mode_is_chosen_when_the_group_is_made_and_never_changes() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, ["a", "a"])
        assert (await client.get("/groups/workers")).json()["mode"] == "keyOrdered"
        first = await client.get("/messages?queue=orders&group=first&mode=keyOrdered&max=1")
        assert first.json()["groupCreated"]
        assert (await client.get("/groups/first")).json()["mode"] == "keyOrdered"
        assert (await client.get("/messages?queue=orders&group=first")).json()["reason"] == "ALL_LEASED"
        refused = [
            await client.get("/messages?queue=orders&group=first&mode=shared"),
            await client.put("/groups/first", json={"mode": "shared"}),
            await client.patch("/groups/first", json={"mode": "shared", "settings": {"maxAttempts": 1}}),
            await client.put("/groups/first", json={"mode": "shared", "settings": {"maxAttempts": 1}}),
        ]
        assert {(each.status_code, each.json()["code"], each.json()["field"]) for each in refused} == {
            (409, "WRONG_GROUP_MODE", "mode")
        }
        assert (await client.get("/groups/first")).json()["settings"]["maxAttempts"] == 16
        assert (await client.get("/messages?queue=orders&group=x&mode=other")).json()["field"] == "mode"

    ClusterBuilder().nodes(1).gateway().run(main)


def test_messages_are_settled_by_receipt() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, ["a"])
        [message] = await receive(client)
        refused = await client.post("/ack", json={"messageId": message["messageId"], "group": "workers"})
        assert (refused.status_code, refused.json()["code"]) == (409, "WRONG_GROUP_MODE")
        assert (await client.post("/ack", json={"receipt": message["receipt"]})).status_code == 200

    ClusterBuilder().nodes(1).gateway().run(main)
