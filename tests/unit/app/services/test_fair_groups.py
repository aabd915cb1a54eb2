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
    if messages:
        assert (await client.post("/messages", json={"queue": "orders", "messages": messages})).status_code == 201
    return client


async def made_by_tenants(
    cluster: Cluster, settings: dict[str, Any], tenants: list[str | None], **group: Any
) -> httpx2.AsyncClient:
    """As `made`: every message has a key of its own, and the header `tenant`."""
    client = await made(cluster, settings, [], **group)
    messages = [
        {"body": number, "key": f"k{number}", "partition": 0, **({} if each is None else {"headers": {"tenant": each}})}
        for number, each in enumerate(tenants)
    ]
    assert (await client.post("/messages", json={"queue": "orders", "messages": messages})).status_code == 201
    return client


def tenants_of(answer: Any) -> Counter[str | None]:
    return Counter(message.get("headers", {}).get("tenant") for message in answer["messages"])


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


@pytest.mark.parametrize("nodes", NODES)
def test_a_noisy_tenant_takes_its_share_whatever_its_keys_also_under_the_next_leader(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        tenants = ["noisy"] * 100 + ["quiet"] * 3 + [None] * 20
        client = await made_by_tenants(cluster, {"fairByHeader": "tenant"}, tenants)
        for _ in range(2 if nodes > 1 else 1):
            assert tenants_of(await receive(client, 11)) == {"noisy": 4, "quiet": 3, None: 4}
            if nodes > 1:
                [topic] = cluster.gateways[0].gateway.metadata.topics()
                await cluster.stop(cluster.state(topic).leader)

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_a_tenant_that_is_alone_gets_all() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made_by_tenants(cluster, {"fairByHeader": "tenant"}, ["noisy"] * 50)
        assert len((await receive(client, 50))["messages"]) == 50

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_the_limit_per_header_is_told_and_room_comes_back(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        settings = {"fairByHeader": "tenant", "maxInFlightPerHeader": 2}
        client = await made_by_tenants(cluster, settings, ["noisy"] * 6 + ["quiet", None, None, None])
        first = await receive(client)
        assert tenants_of(first) == {"noisy": 2, "quiet": 1, None: 3}, "who has no such header has no limit"
        empty = await receive(client)
        assert empty == {"messages": [], "reason": "IN_FLIGHT_LIMIT", "limit": "maxInFlightPerHeader"}
        done = next(each["receipt"] for each in first["messages"] if each.get("headers") == {"tenant": "noisy"})
        await client.post("/ack", json={"receipt": done})
        assert tenants_of(await receive(client)) == {"noisy": 1}

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_a_group_that_is_fair_by_something_else_from_now_on_counts_what_is_leased() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made_by_tenants(cluster, {"fairBy": "key"}, ["noisy"] * 10 + ["quiet"] * 6)
        assert tenants_of(await receive(client, 4)) == {"noisy": 4}, "each key is another one"
        changed = {"fairBy": "none", "fairByHeader": "tenant"}
        answer = await client.patch("/groups/workers", json={"settings": changed})
        assert answer.status_code == 200
        assert tenants_of(await receive(client, 4)) == {"quiet": 4}
        assert tenants_of(await receive(client, 2)) == {"quiet": 1, "noisy": 1}

    ClusterBuilder().nodes(1).gateway().run(main)


def test_it_is_fair_among_what_the_groups_filter_leaves() -> None:
    async def main(cluster: Cluster) -> None:
        settings = {"fairByHeader": "tenant", "filter": 'key in ("k0", "k1", "k2", "k8")'}
        client = await made_by_tenants(cluster, settings, ["noisy"] * 8 + ["quiet"] * 2)
        assert tenants_of(await receive(client, 2)) == {"noisy": 1, "quiet": 1}
        assert tenants_of(await receive(client)) == {"noisy": 2}

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"fairByHeader": ""}, "fairByHeader"),
        ({"fairByHeader": "x" * 129}, "fairByHeader"),
        ({"fairByHeader": "ä" * 65}, "fairByHeader"),
        ({"fairByHeader": 7}, "fairByHeader"),
        ({"fairByHeader": "tenant", "fairBy": "key"}, "fairByHeader"),
        ({"fairByHeader": "tenant", "maxInFlightPerKey": 3}, "maxInFlightPerKey"),
        ({"maxInFlightPerHeader": 3}, "maxInFlightPerHeader"),
        ({"fairByHeader": "tenant", "maxInFlightPerHeader": 0}, "maxInFlightPerHeader"),
        ({"fairByHeader": "tenant", "maxInFlightPerHeader": 100_001}, "maxInFlightPerHeader"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name_and_changes_nothing(settings: dict[str, Any], field: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, {}, [])
        for answer in (
            await client.patch("/groups/workers", json={"settings": settings}),
            await client.put("/groups/new", json={"settings": settings}),
        ):
            assert (answer.status_code, answer.json()["field"]) == (400, f"settings.{field}")
        found = (await client.get("/groups/workers")).json()["settings"]
        assert (found["fairByHeader"], found["maxInFlightPerHeader"], found["fairBy"]) == (None, None, "none")
        assert (await client.get("/groups/new")).status_code == 404

    ClusterBuilder().nodes(1).gateway().run(main)


def test_the_longest_name_is_taken_and_null_takes_it_away() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, {"fairByHeader": "x" * 128, "maxInFlightPerHeader": 1}, [])
        answer = await client.patch("/groups/workers", json={"settings": {"fairByHeader": None}})
        assert (answer.status_code, answer.json()["field"]) == (400, "settings.maxInFlightPerHeader")
        cleared = {"fairByHeader": None, "maxInFlightPerHeader": None}
        answer = await client.patch("/groups/workers", json={"settings": cleared})
        assert answer.json()["settings"].items() >= cleared.items()

    ClusterBuilder().nodes(1).gateway().run(main)


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
