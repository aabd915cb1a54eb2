"""Groups that are fair among keys, partitions and topics, as clients of a gateway see them. Whole nodes on virtual
time."""

from collections import Counter
from math import ceil
from typing import Any

import httpx2
import pytest

from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
LARGE = 100


async def made(
    cluster: Cluster, settings: dict[str, Any], keys: list[str | None], mode: str = "shared"
) -> httpx2.AsyncClient:
    """A client, a group with these settings, and a topic with a message of each of the keys, in that order."""
    await cluster.in_sync(await cluster.topic(replicas=len(cluster.nodes)))
    client = client_of(cluster.gateways[0])
    assert (await client.put("/groups/workers", json={"mode": mode, "settings": settings})).status_code == 201
    messages = [{"body": number, **({} if key is None else {"key": key})} for number, key in enumerate(keys)]
    assert (await client.post("/messages", json={"queue": "orders", "messages": messages})).status_code == 201
    return client


async def receive(client: httpx2.AsyncClient, max_messages: int = 10, **query: Any) -> Any:
    query = {"queue": "orders", "group": "workers", "max": max_messages, **query}
    return (await client.get("/messages", params=query)).json()


@pytest.mark.parametrize("nodes", NODES)
def test_a_noisy_key_takes_its_share_also_under_the_next_leader(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, {"fairBy": "key"}, ["noisy"] * 100 + ["quiet"] * 3)
        for _ in range(2 if nodes > 1 else 1):
            found = Counter(message["key"] for message in (await receive(client))["messages"])
            assert found == {"noisy": 7, "quiet": 3}
            if nodes > 1:
                [topic] = cluster.gateways[0].gateway.metadata.topics()
                await cluster.stop(cluster.state(topic).leader)

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_the_limit_per_key_is_told_and_room_comes_back(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        settings = {"maxInFlightPerKey": 2, "visibilityMs": 5_000}
        client = await made(cluster, settings, ["noisy"] * 6 + ["quiet"])
        first = (await receive(client))["messages"]
        assert Counter(message["key"] for message in first) == {"noisy": 2, "quiet": 1}
        empty = await receive(client)
        assert empty == {"messages": [], "reason": "IN_FLIGHT_LIMIT", "limit": "maxInFlightPerKey"}
        done = next(message["receipt"] for message in first if message["key"] == "noisy")
        await client.post("/ack", json={"receipt": done})
        assert len((await receive(client))["messages"]) == 1
        waited = await receive(client, waitSeconds=10)  # until leases run out
        assert {message["attempt"] for message in waited["messages"]} == {2}
        assert Counter(message["key"] for message in waited["messages"])["noisy"] <= 2

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("mode", ["shared", "keyOrdered"])
def test_the_limit_per_consumer_is_told_and_others_do_not_notice(nodes: int, mode: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, {"maxInFlightPerConsumer": 2}, [None] * 6, mode)
        first = (await receive(client, consumer="a"))["messages"]
        assert len(first) == 2
        empty = await receive(client, consumer="a")
        assert empty == {"messages": [], "reason": "IN_FLIGHT_LIMIT", "limit": "maxInFlightPerConsumer"}
        assert len((await receive(client, consumer="b"))["messages"]) == 2
        assert len((await receive(client))["messages"]) == 2, "who names none is a consumer too"
        await client.post("/nack", json={"receipt": first[0]["receipt"], "delaySeconds": 0})
        assert len((await receive(client, consumer="a"))["messages"]) == 1

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_the_limit_of_the_partition_is_told_too() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, {"maxInFlight": 1}, [None] * 2)
        await receive(client)
        answer = await receive(client)
        assert (answer["reason"], answer["limit"]) == ("IN_FLIGHT_LIMIT", "maxInFlight")
        query = "/messages?queue=orders&group=workers"
        lines = await client.get(query, headers={"accept": "application/x-ndjson"})
        assert lines.headers["x-acklog-limit"] == "maxInFlight"

    ClusterBuilder().nodes(1).gateway().run(main)


def test_a_setting_of_other_modes_is_refused_by_name_and_changes_nothing() -> None:
    async def main(cluster: Cluster) -> None:
        other = client_of(cluster.gateways[0])
        for mode in ("keyOrdered", "exclusive"):
            for name, value in {"fairBy": "key", "maxInFlightPerKey": 3}.items():
                answer = await other.put("/groups/other", json={"mode": mode, "settings": {name: value}})
                assert (answer.status_code, answer.json()["field"]) == (400, f"settings.{name}")
        assert (await other.get("/groups/other")).status_code == 404
        client = await made(cluster, {}, [None])
        for settings in ({"fairBy": "tenant"}, {"maxInFlightPerKey": 0}, {"maxInFlightPerKey": 100_001}):
            answer = await client.patch("/groups/workers", json={"settings": settings})
            assert (answer.status_code, answer.json()["field"]) == (400, f"settings.{next(iter(settings))}")
        settings = (await client.get("/groups/workers")).json()["settings"]
        assert (settings["fairBy"], settings["maxInFlightPerKey"]) == ("none", None)

    ClusterBuilder().nodes(1).gateway().run(main)


async def filled(cluster: Cluster, **topics: list[int]) -> httpx2.AsyncClient:
    """A client, and topics with so many messages in each of their partitions."""
    client = client_of(cluster.gateways[0])
    for name, counts in topics.items():
        await cluster.in_sync(await cluster.topic(name, replicas=len(cluster.nodes), partitions=len(counts)))
        for partition, count in enumerate(counts):
            messages = [{"body": number, "partition": partition} for number in range(count)]
            assert (await client.post("/messages", json={"queue": name, "messages": messages})).status_code == 201
    return client


async def receives_until(
    client: httpx2.AsyncClient, topics: list[str], groups: list[str], place: tuple[str, int]
) -> int:
    """How many receives until each of the groups, which ask by turns, has got something from there."""
    starving = set(groups)
    for count in range(1, LARGE):
        for group in groups:
            found = (await receive(client, queue=topics, group=group, waitSeconds=1))["messages"]
            if place in {(message["queue"], message["partition"]) for message in found}:
                starving.discard(group)
        if not starving:
            return count
    raise AssertionError("some starve")


@pytest.mark.parametrize("nodes", NODES)
def test_a_small_partition_waits_for_one_receive_of_each_larger_one(nodes: int) -> None:
    """The nodes come in turn, and at each of them its partitions."""

    async def main(cluster: Cluster) -> None:
        client = await filled(cluster, orders=[LARGE, LARGE, LARGE, 1])
        assert await receives_until(client, ["orders"], ["a"], ("orders", 3)) <= nodes * ceil(4 / nodes)

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("groups", [["a"], ["b", "c"], ["d", "e", "f"]])
def test_a_small_topic_waits_for_one_receive_of_the_larger_one_whatever_other_groups_ask(
    nodes: int, groups: list[str]
) -> None:
    async def main(cluster: Cluster) -> None:
        client = await filled(cluster, large=[LARGE], small=[1])
        assert await receives_until(client, ["large", "small"], groups, ("small", 0)) <= 2

    ClusterBuilder().nodes(nodes).gateway().run(main)
