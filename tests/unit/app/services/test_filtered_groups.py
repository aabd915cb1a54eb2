"""Groups with a filter, as clients of a cluster's gateway see them. Whole nodes on virtual time."""

from typing import Any

import httpx2
import msgspec
import pytest

from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.needed_protocol import PROTOCOL_OF_FILTERS
from cluster.model.values import NodeRegistration
from cluster.ports.coordination import Put
from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
MODES = ["shared", "keyOrdered", "exclusive"]
EU_REFUNDS = 'tag = "refund" and header.region like "eu%"'


async def made(cluster: Cluster, **settings: Any) -> httpx2.AsyncClient:
    await cluster.in_sync(await cluster.topic(replicas=len(cluster.nodes)))
    return client_of(cluster.gateways[0])


async def send(client: httpx2.AsyncClient, *messages: dict[str, Any]) -> None:
    answer = await client.post("/messages", json={"queue": "orders", "messages": list(messages)})
    assert answer.status_code == 201, answer.text


def some(first: int, count: int = 10) -> list[dict[str, Any]]:
    """Every fifth one is a refund in the EU, the one behind each a refund elsewhere."""
    return [
        {
            "body": number,
            "key": f"k{number % 3}",
            "tags": ["refund" if number % 5 < 2 else "checkout"],
            "headers": {"region": "eu-west" if number % 5 == 0 else "us"},
        }
        for number in range(first, first + count)
    ]


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


async def progress(client: httpx2.AsyncClient) -> int:
    [found] = (await client.get("/groups/workers/offsets?topic=orders")).json()["offsets"]
    return int(found["progress"])


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("mode", MODES)
def test_only_what_matches_is_delivered_and_the_rest_is_passed_durably(nodes: int, mode: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        made_group = await client.put("/groups/workers", json={"mode": mode, "settings": {"filter": EU_REFUNDS}})
        assert made_group.json()["settings"]["filter"] == EU_REFUNDS
        await send(client, *some(0), *some(10))
        await send(client, *({"body": "far", "tags": ["checkout"]} for _ in range(30)))
        found: list[int] = []
        while bodies := await receive_and_ack(client, waitSeconds=3):
            found += bodies
        assert found == [0, 5, 10, 15]
        assert await progress(client) == 50  # recorded a second after it was looked at, with nothing behind it
        message_id = (await client.get("/topics/orders/partitions/0/records")).json()["records"][1]["messageId"]
        found_groups = (await client.get(f"/messages/{message_id}")).json()["groups"]
        assert len(found_groups) == 1, found_groups
        [seen] = found_groups
        assert seen["state"] == "passedOver"
        if nodes > 1:
            topic = cluster.gateways[0].gateway.metadata.topic("orders")
            assert topic is not None
            await cluster.stop(cluster.state(topic).leader)
            assert await receive_and_ack(client, waitSeconds=1) == []
            assert await progress(client) == 50
        await send(client, *some(20, 6))
        assert await receive_and_ack(client, waitSeconds=5) in ([20, 25], [20])

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("mode", MODES)
def test_another_filter_holds_for_what_is_not_done(mode: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        await client.put("/groups/workers", json={"mode": mode, "settings": {"filter": 'tag = "checkout"'}})
        await send(client, *some(0, 5))
        assert await receive_and_ack(client) == [2, 3, 4]
        await send(client, *some(5, 5))
        changed = await client.patch("/groups/workers", json={"settings": {"filter": "tag in ('refund')"}})
        assert changed.json()["settings"]["filter"] == 'tag = "refund"'
        assert await receive_and_ack(client) == [5, 6]
        changed = await client.patch("/groups/workers", json={"settings": {"filter": None}})
        assert changed.json()["settings"]["filter"] is None
        await send(client, *some(10, 2))
        assert await receive_and_ack(client) == [10, 11], "what was passed stays passed"
        seek = await client.put("/groups/workers/offsets", json={"topic": "orders", "to": "earliest"})
        assert seek.status_code == 200
        found: list[int] = []
        while bodies := await receive_and_ack(client):
            found += bodies
        assert found == list(range(12)), "and is there after a seek"

    ClusterBuilder().nodes(1).gateway().run(main)


def test_a_key_waits_for_what_the_filter_of_now_hides() -> None:
    """What is out when the filter changes is still in front of its key."""

    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        await client.put("/groups/workers", json={"mode": "keyOrdered"})
        await send(client, {"body": 0, "key": "a"}, {"body": 1, "key": "a", "tags": ["x"]}, {"body": 2, "tags": ["x"]})
        [first] = await receive(client, 1)
        await client.patch("/groups/workers", json={"settings": {"filter": 'tag = "x"'}})
        assert [message["body"] for message in await receive(client)] == [2]
        await client.post("/ack", json={"receipt": first["receipt"]})
        assert [message["body"] for message in await receive(client)] == [1]

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize(
    ("text", "position"), [('tag = "a" and', 13), ("tag != 'a'", 4), ("", 0), ("key = 'a", 8), ("body = 'x'", 0)]
)
def test_a_wrong_filter_is_refused_where_it_is_wrong_and_changes_nothing(text: str, position: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        for method in ("PUT", "PATCH"):
            answer = await client.request(method, "/groups/workers", json={"settings": {"filter": text}})
            problem = answer.json()
            assert (answer.status_code, problem["code"]) == (400, "INVALID_FILTER")
            assert (problem["field"], problem["position"]) == ("settings.filter", position)
            assert problem["expected"]
        assert (await client.get("/groups/workers")).status_code == 404

    ClusterBuilder().nodes(1).gateway().run(main)


def test_two_ways_to_write_a_filter_are_the_same_group() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        for text in ('tag in ("b", "a")', "TAG IN ('a','b')"):
            assert (await client.put("/groups/workers", json={"settings": {"filter": text}})).status_code < 300
        other = await client.put("/groups/workers", json={"settings": {"filter": 'tag = "a"'}})
        assert (other.status_code, other.json()["differing"]) == (409, ["settings.filter"])

    ClusterBuilder().nodes(1).gateway().run(main)


def test_it_waits_until_every_node_knows_filters() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        item = await cluster.store.get(keys.node(1))
        assert item is not None
        newest = PROTOCOL_OF_FILTERS - 1
        earlier = msgspec.structs.replace(decode(NodeRegistration, item.value), newest_protocol=newest)
        await cluster.store.transact([], [Put(item.key, encode(earlier), item.lease_id)])
        view = cluster.gateways[0].metadata
        await cluster.until(lambda: view.steering.membership.get(1).newest_protocol == newest)
        answer = await client.put("/groups/workers", json={"settings": {"filter": 'tag = "a"'}})
        assert (answer.status_code, answer.json()["code"]) == (409, "NODES_TOO_OLD")

    ClusterBuilder().nodes(1).gateway().run(main)
