"""Compaction on request, and what it leaves to groups that keep an order: as clients of a cluster's gateway see it, on
one node and on three. Virtual time."""

import dataclasses
from typing import Any

import httpx2
import pytest

from acklog.wire.problems import ProblemCode
from app.auth.tokens import parse_token_table
from cluster.errors import ServerError
from cluster.model.values import NO_LEADER, CleanupPolicy, TopicConfig
from storage.compaction.compaction_settings import CompactionSettings
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.lagging_store import LaggingStore
from tests.support.memory_gateway import MemoryWorld
from tests.support.simulated_node import SMALL

NODES = [1, 3]
RARELY = dataclasses.replace(SMALL, compaction=CompactionSettings(look_interval_ms=3_600_000, step_bytes=500))
"""By itself nothing is compacted in the time of a test."""
KEYS = 4


def run(main: Any, nodes: int) -> None:
    async def whole(cluster: Cluster) -> None:
        topic = await cluster.topic("table", replicas=nodes, cleanup_policy=CleanupPolicy.COMPACT)
        await cluster.in_sync(topic)
        async with client_of(cluster.gateways[0]) as client:
            await main(cluster, client)

    ClusterBuilder().nodes(nodes).storing(RARELY).gateway().run(whole)


async def send(client: httpx2.AsyncClient, *numbers: int) -> None:
    for number in numbers:
        message = {"queue": "table", "body": number, "key": f"k{number % KEYS}"}
        assert (await client.post("/messages", json=message)).status_code == 201


async def compact(cluster: Cluster, client: httpx2.AsyncClient) -> Any:
    """Until it is done on all nodes."""
    asked = await client.post("/topics/table/compact")
    assert asked.status_code == 202, asked.text
    while True:
        answer = await client.get("/topics/table/compaction")
        assert answer.status_code == 200, answer.text
        [partition] = answer.json()["partitions"]
        if {each["state"] for each in partition["replicas"]} == {"idle"}:
            return asked.json()
        await cluster.clock.sleep(100)


async def offsets_in(client: httpx2.AsyncClient) -> list[int]:
    page = await client.get("/topics/table/partitions/0/records?offset=earliest")
    return [each["offset"] for each in page.json()["records"]]


async def receive(client: httpx2.AsyncClient, max_messages: int = 100, **query: Any) -> Any:
    params = {"queue": "table", "group": "workers", "max": max_messages, "consumer": "ada", **query}
    answer = await client.get("/messages", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def ack(client: httpx2.AsyncClient, messages: list[Any]) -> None:
    answer = await client.post("/ack", json={"receipts": [each["receipt"] for each in messages]})
    assert answer.status_code == 200, answer.text


async def position(client: httpx2.AsyncClient) -> Any:
    answer = await client.get("/groups/workers/offsets?topic=table")
    [found] = answer.json()["offsets"]
    return found


def test_a_topic_just_made_is_there_though_its_nodes_have_not_heard_of_it() -> None:
    """They hear of it by a watch; the gateway made it and knows at once."""

    async def main(cluster: Cluster) -> None:
        connections = {node_id: LaggingStore(cluster.store) for node_id in (1, 2, 3)}
        for node_id, connection in connections.items():
            await cluster.node(node_id, connection=connection)
        gateway = await cluster.gateway()
        await cluster.until(lambda: len(gateway.metadata.nodes()) == 3)
        for node_id in (2, 3):  # not of the controller, which gives the topic its partitions
            connections[node_id].news.shut()
        async with client_of(gateway) as client:
            made = await client.put("/topics/table", json={"partitions": 3, "config": {"cleanupPolicy": "compact"}})
            assert made.status_code == 201, made.text
            await cluster.until(lambda: len(gateway.metadata.partitions(made.json()["id"])) == 3)
            early = await client.post("/topics/table/compact")
            assert early.status_code in {207, 503}, "node 1 may have heard of it"
            assert _codes(early.json()) == {"UNAVAILABLE"}, early.text
            for connection in connections.values():
                connection.news.open()
            await cluster.clock.sleep(1000)
            assert (await client.post("/topics/table/compact")).status_code == 202

    ClusterBuilder().storing(RARELY).run(main)


def _codes(document: dict[str, Any]) -> set[str]:
    """Of the problem, or of those of single replicas."""
    if "code" in document:
        return {document["code"]}
    replicas = [replica for partition in document["partitions"] for replica in partition["replicas"]]
    return {replica["problem"]["code"] for replica in replicas if replica.get("problem")}


@pytest.mark.parametrize("nodes", NODES)
def test_every_replica_is_compacted_when_somebody_asks(nodes: int) -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await send(client, *range(20))
        asked = await compact(cluster, client)
        assert (asked["topic"], asked["failed"]) == ("table", 0)
        [partition] = asked["partitions"]
        assert sorted(each["node"] for each in partition["replicas"]) == sorted(cluster.nodes)
        assert {each["state"] for each in partition["replicas"]} <= {"waiting", "running"}
        assert await offsets_in(client) == [16, 17, 18, 19]
        [topic] = cluster.gateways[0].gateway.metadata.topics()
        for number in cluster.nodes:
            [replica] = cluster.nodes[number].node.replicas()
            plan = await cluster.nodes[number].node.compactor.plan(replica)
            assert (plan.end, plan.dirty_bytes) == (20, 0)
            assert cluster.nodes[number].node.compactor.last_plans()[replica.id] == plan
            assert await cluster.records(number, topic)

    run(main, nodes)


def test_a_node_that_is_away_is_told_beside_the_others() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await send(client, *range(8))
        [topic] = cluster.gateways[0].gateway.metadata.topics()
        away = cluster.state(topic).leader
        await cluster.stop(away)
        await cluster.until(lambda: cluster.state(topic).leader not in {away, NO_LEADER})
        answer = await client.post("/topics/table/compact", json={"partitions": [0]})
        assert (answer.status_code, answer.json()["failed"]) == (207, 1)
        [partition] = answer.json()["partitions"]
        [problem] = [each["problem"]["code"] for each in partition["replicas"] if "problem" in each]
        assert problem == "UNAVAILABLE"
        assert sum("state" in each for each in partition["replicas"]) == 2

    run(main, 3)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("mode", ["keyOrdered", "exclusive"])
def test_groups_with_an_order_go_on_over_what_was_removed(nodes: int, mode: str) -> None:
    """Lag, acks and seeks are by offsets, of which nothing may be left; what comes is in its order."""

    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        assert (await client.put("/groups/workers", json={"mode": mode})).status_code == 201
        await send(client, *range(20))
        [first] = (await receive(client, 1, waitSeconds=5))["messages"]
        assert first["offset"] == 0
        await compact(cluster, client)
        before = await position(client)
        assert (before["progress"], before["lag"], before["inFlight"]) == (0, 20, 1)
        await ack(client, [first])
        rest = (await receive(client, waitSeconds=5))["messages"]
        assert [each["body"] for each in rest] == [16, 17, 18, 19]
        await ack(client, rest[:2])
        seen = await position(client)
        assert (seen["progress"], seen["lag"], seen["lost"], seen["deadLettered"]) == (18, 2, 0, 0)
        await send(client, 20, 21)
        await ack(client, rest[2:])
        rest = (await receive(client, waitSeconds=5))["messages"]
        assert [each["body"] for each in rest] == [20, 21]
        await ack(client, rest)
        places: list[tuple[Any, list[int]]] = [
            ({"to": "earliest"}, [16, 17, 18, 19, 20, 21]),
            ({"to": {"offset": 5}, "partition": 0}, [16, 17, 18, 19, 20, 21]),
            ({"to": {"offset": 17}, "partition": 0}, [17, 18, 19, 20, 21]),
        ]
        for place, expected in places:
            fields = {"topic": "table", **place}
            sought = await client.put("/groups/workers/offsets", json=fields)
            assert sought.status_code == 200, sought.text
            found: list[int] = []
            while again := (await receive(client, waitSeconds=1))["messages"]:
                found += [each["body"] for each in again]
                await ack(client, again)
            assert sorted(found) == expected
            assert (await position(client))["lag"] == 0
        assert (await position(client))["progress"] == 22

    run(main, nodes)


@pytest.mark.parametrize("nodes", NODES)
def test_a_member_commits_to_where_nothing_is_left(nodes: int) -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        assert (await client.put("/groups/workers", json={"mode": "exclusive"})).status_code == 201
        await send(client, *range(20))
        joined = await client.put("/groups/workers/members/ada", json={"topics": ["table"]})
        assert joined.status_code == 200, joined.text
        await compact(cluster, client)
        commit = {"member": "ada", "memberEpoch": joined.json()["memberEpoch"]}
        for offset, lag in ((7, 13), (16, 4), (19, 1)):
            place = {"topic": "table", "partition": 0, "offset": offset}
            answer = await client.put("/groups/workers/offsets", json={**commit, "offsets": [place]})
            assert (answer.status_code, answer.json()["failed"]) == (200, 0), answer.text
            seen = await position(client)
            assert (seen["progress"], seen["lag"], seen["committed"]["offset"]) == (offset, lag, offset)

    run(main, nodes)


@pytest.mark.parametrize(
    ("topic", "body", "status", "code", "field"),
    [
        ("table", {"partitions": []}, 400, "INVALID_FIELD", "partitions"),
        ("table", {"partitions": [-1]}, 400, "INVALID_FIELD", "partitions[0]"),
        ("table", {"partitions": [8]}, 404, "PARTITION_NOT_FOUND", "partition"),
        ("table", {"all": True}, 400, "UNKNOWN_FIELD", "all"),
        ("orders", {}, 409, "TOPIC_NOT_COMPACTED", "topic"),
        ("none", {}, 404, "TOPIC_NOT_FOUND", "topic"),
        ("__groups", {}, 400, "INVALID_NAME", "topic"),
    ],
)
async def test_wrong_use_asks_for_nothing(
    serve: Any, topic: str, body: dict[str, Any], status: int, code: str, field: str
) -> None:
    world = MemoryWorld()
    async with serve(world) as client:
        await client.put("/topics/table", json={"partitions": 2, "config": {"cleanupPolicy": "compact"}})
        await client.put("/topics/orders", json={"partitions": 2})
        answer = await client.post(f"/topics/{topic}/compact", json=body)
        assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (status, code, field), answer.text
        if "partitions" not in body and "all" not in body:
            looked = await client.get(f"/topics/{topic}/compaction")
            assert (looked.status_code, looked.json()["code"]) == (status, code)
        assert world.node.calls("compact") == []


async def test_nobody_is_left_to_ask(serve: Any) -> None:
    """A node of an earlier version does not know the call."""
    world = MemoryWorld()
    async with serve(world) as client:
        await client.put("/topics/table", json={"partitions": 2, "config": {"cleanupPolicy": "compact"}})
        fault = ServerError(ProblemCode.UNSUPPORTED, "the node does not know compact")
        world.node.fail("compact", fault)
        part = await client.post("/topics/table/compact")
        assert (part.status_code, part.json()["failed"]) == (207, 1)
        world.node.fail("compact", fault, fault)
        none = await client.post("/topics/table/compact")
        assert (none.status_code, none.json()["code"]) == (400, "UNSUPPORTED")


async def test_it_takes_the_right_to_administer(serve: Any) -> None:
    token = "reader-token-0123456789"
    entry = {"name": "reader", "token": token, "scopes": ["read", "write"]}
    world = MemoryWorld(tokens=parse_token_table(b'{"tokens": [%s]}' % str(entry).replace("'", '"').encode()))
    await world.topics.create(
        "table", partitions=1, config=TopicConfig(cleanup_policy=CleanupPolicy.COMPACT), replication_factor=1
    )
    async with serve(world) as client:
        headers = {"Authorization": f"Bearer {token}"}
        for method, call in (("POST", "compact"), ("GET", "compaction")):
            answer = await client.request(method, f"/topics/table/{call}", headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
        assert world.node.calls("compact") == []
