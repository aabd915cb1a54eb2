"""Exclusive groups as a client of HTTP has them, on one node and on three: names that stay, racks, assignors, patterns,
and a pause."""

import asyncio
from typing import Any

import httpx2
import pytest

from cluster.model.internal_topics import GROUPS_TOPIC, coordinator_partition
from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
MEMBERS = "/groups/workers/members"
SESSION_MS = 6_000


async def made(cluster: Cluster, *, topics: dict[str, int] | None = None, **settings: Any) -> httpx2.AsyncClient:
    """A client, topics with so many partitions, and the exclusive group "workers"."""
    client = client_of(cluster.gateways[0])
    view = cluster.gateways[0].metadata
    await cluster.until(lambda: len(view.nodes()) == len(cluster.nodes))
    for name, partitions in (topics or {}).items():
        assert (await client.put(f"/topics/{name}", json={"partitions": partitions})).status_code == 201
    body = {"mode": "exclusive", "settings": {"sessionTimeoutMs": SESSION_MS, **settings}}
    assert (await client.put("/groups/workers", json=body)).status_code == 201
    return client


async def join(client: httpx2.AsyncClient, member: str, **fields: Any) -> Any:
    answer = await client.put(f"{MEMBERS}/{member}", json={"topics": ["orders"], **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def beat(client: httpx2.AsyncClient, member: str, epoch: int, **fields: Any) -> Any:
    answer = await client.post(f"{MEMBERS}/{member}/heartbeat", json={"memberEpoch": epoch, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def places(answer: Any) -> list[tuple[str, int]]:
    return sorted((each["topic"], each["partition"]) for each in answer["assignment"])


async def owned(client: httpx2.AsyncClient) -> dict[str, list[tuple[str, int]]]:
    return {each["member"]: places(each) for each in (await client.get(MEMBERS)).json()["members"]}


def orders(*partitions: int) -> list[tuple[str, int]]:
    return [("orders", number) for number in partitions]


async def receive(client: httpx2.AsyncClient, consumer: str, **query: Any) -> Any:
    params = {"queue": "orders", "group": "workers", "consumer": consumer, "max": 100, **query}
    answer = await client.get("/messages", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def send(client: httpx2.AsyncClient, body: object, **fields: Any) -> None:
    assert (await client.post("/messages", json={"queue": "orders", "body": body, **fields})).status_code == 201


async def stop_coordinator(cluster: Cluster) -> None:
    view = cluster.gateways[0].metadata
    topic, group = view.topic(GROUPS_TOPIC), view.group("workers")
    assert topic is not None
    assert group is not None
    await cluster.in_sync(topic)
    await cluster.stop(cluster.state(topic, coordinator_partition(group.id, topic)).leader)


# --- names that outlive their process --------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", NODES)
def test_who_comes_back_in_time_has_its_partitions_and_nobody_elses_moved(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, topics={"orders": 6})
        await join(client, "one", static=True, instanceId="first")
        two = await join(client, "two", sessionTimeoutMs=60_000)
        before = await owned(client)
        assert (await client.delete(f"{MEMBERS}/one?instanceId=first&comesBack=true")).status_code == 204
        waiting = asyncio.create_task(beat(client, "two", two["memberEpoch"], waitSeconds=20))
        if nodes > 1:
            await stop_coordinator(cluster)
        await cluster.clock.sleep(SESSION_MS // 2)
        assert not waiting.done()
        assert await owned(client) == before
        back = await join(client, "one", static=True, instanceId="second")
        assert places(back) == before["one"]
        await cluster.clock.sleep(SESSION_MS // 3)
        assert not waiting.done(), "nothing moved for it"
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_who_does_not_come_back_in_time_has_lost_its_partitions(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, topics={"orders": 6})
        await join(client, "one", static=True, instanceId="first")
        two = await join(client, "two", sessionTimeoutMs=60_000)
        assert len(two["assignment"]) == 3
        assert (await client.delete(f"{MEMBERS}/one?instanceId=first&comesBack=true")).status_code == 204
        begun_ms = cluster.clock.monotonic_ms()
        told = await beat(client, "two", two["memberEpoch"], waitSeconds=20)
        assert len(told["assignment"]) == 6
        assert SESSION_MS - 500 < cluster.clock.monotonic_ms() - begun_ms < SESSION_MS + 500

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_a_name_is_taken_over_only_from_who_was_silent_for_half_its_session(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, topics={"orders": 6})
        first = await join(client, "one", static=True, instanceId="first")
        second = {"topics": ["orders"], "static": True, "instanceId": "second"}
        await cluster.clock.sleep(SESSION_MS // 2 - 500)
        refused = await client.put(f"{MEMBERS}/one", json=second)
        assert (refused.status_code, refused.json()["code"]) == (409, "MEMBER_EXISTS")
        assert places(await beat(client, "one", first["memberEpoch"], instanceId="first")) == places(first)
        await cluster.clock.sleep(SESSION_MS // 2 - 500)
        assert (await client.put(f"{MEMBERS}/one", json=second)).json()["code"] == "MEMBER_EXISTS"
        await cluster.clock.sleep(1_000)
        taken = await join(client, "one", static=True, instanceId="second")
        assert places(taken) == places(first)
        late = await client.post(
            f"{MEMBERS}/one/heartbeat", json={"memberEpoch": first["memberEpoch"], "instanceId": "first"}
        )
        assert (late.status_code, late.json()["code"]) == (409, "MEMBER_FENCED")

    ClusterBuilder().nodes(nodes).gateway().run(main)


# --- who gets what ---------------------------------------------------------------------------------------------------


def rack_of(node_id: int) -> str:
    return f"rack-{node_id}"


@pytest.mark.parametrize("replicas", NODES)
def test_partitions_go_to_the_rack_of_their_leader(replicas: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        for node in (3, 1, 2):
            await join(client, f"at-{node}", topics=[], patterns=["orders*"], rack=rack_of(node))
        topic = await cluster.topic(partitions=6, replicas=replicas)
        await cluster.clock.sleep(500)
        leaders = {number: cluster.state(topic, number).leader for number in range(6)}
        assert sorted(leaders.values()) == [1, 1, 2, 2, 3, 3]
        assert await owned(client) == {
            f"at-{node}": orders(*(number for number, leader in leaders.items() if leader == node))
            for node in (1, 2, 3)
        }

    ClusterBuilder().nodes(3).racks(*map(rack_of, (1, 2, 3))).gateway().run(main)


def test_who_has_too_much_gives_up_what_is_in_other_racks() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        topic = await cluster.topic(partitions=6, replicas=1)
        near = [number for number in range(6) if cluster.state(topic, number).leader == 3]
        await join(client, "one", rack=rack_of(3))
        for name in ("three", "two"):
            await join(client, name)
        assert (await owned(client))["one"] == orders(*near)

    ClusterBuilder().nodes(3).racks(*map(rack_of, (1, 2, 3))).gateway().run(main)


def test_one_node_has_a_rack_too() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        await join(client, "far", topics=[], patterns=["orders"], rack="elsewhere")
        await join(client, "near", topics=[], patterns=["orders"], rack=rack_of(1))
        await cluster.topic(partitions=4, replicas=1)
        await cluster.clock.sleep(500)
        assert await owned(client) == {"far": orders(2, 3), "near": orders(0, 1)}

    ClusterBuilder().nodes(1).racks(rack_of(1)).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize(
    ("assignor", "expected"),
    [
        ("range", [[("mails", 0), ("mails", 1), ("orders", 0)], [("mails", 2), ("orders", 1), ("orders", 2)]]),
        ("roundRobin", [[("mails", 0), ("mails", 2), ("orders", 1)], [("mails", 1), ("orders", 0), ("orders", 2)]]),
    ],
)
def test_an_assignor_goes_by_its_own_rule(nodes: int, assignor: str, expected: list[list[tuple[str, int]]]) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, topics={"orders": 3, "mails": 3}, assignor=assignor)
        for name in ("two", "three", "one"):  # else what moves least would come to the same
            await join(client, name, topics=["orders", "mails"])
        assert (await client.delete(f"{MEMBERS}/three")).status_code == 204
        assert await owned(client) == dict(zip(("one", "two"), expected, strict=True))

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_the_sticky_one_moves_only_what_has_to_move(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, topics={"orders": 6}, assignor="sticky")
        before: dict[str, list[tuple[str, int]]] = {}
        for count, name in enumerate(("one", "two", "three"), start=1):
            await join(client, name)
            now = await owned(client)
            assert {len(each) for each in now.values()} == {6 // count}
            assert all(set(now[each]) <= set(before[each]) for each in before)
            before = now
        assert (await client.delete(f"{MEMBERS}/one")).status_code == 204
        now = await owned(client)
        assert all(set(now[each]) >= set(before[each]) for each in ("two", "three"))
        assert [len(each) for each in now.values()] == [3, 3]

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_a_topic_that_is_made_later_joins_those_of_a_pattern(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, topics={"mails": 2})
        one = await join(client, "one", topics=["mails"], patterns=["orders*"])
        assert places(one) == [("mails", 0), ("mails", 1)]
        for name, partitions in (("orders", 3), ("invoices", 1), ("orders.workers.dlq", 1)):
            waiting = asyncio.create_task(beat(client, "one", one["memberEpoch"], waitSeconds=1))
            assert (await client.put(f"/topics/{name}", json={"partitions": partitions})).status_code == 201
            one = await waiting
        assert places(one) == [("mails", 0), ("mails", 1), *orders(0, 1, 2)], "its own dead letters it does not get"
        await send(client, "hello", partition=2)
        [message] = (await receive(client, "one", memberEpoch=one["memberEpoch"], waitSeconds=5))["messages"]
        assert (message["body"], message["partition"]) == ("hello", 2)
        assert (await client.delete("/topics/orders")).status_code in {202, 204}
        told = await beat(client, "one", one["memberEpoch"], waitSeconds=5)
        assert places(told) == [("mails", 0), ("mails", 1)]

    ClusterBuilder().nodes(nodes).gateway().run(main)


# --- a pause ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", NODES)
def test_a_member_keeps_a_partition_that_is_paused_and_gets_nothing_of_it(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, topics={"orders": 2})
        for number in range(8):
            await send(client, number, partition=number % 2)
        held: list[Any] = []
        while {each["partition"] for each in held} < {0, 1}:
            held += (await receive(client, "ada", waitSeconds=5, max=1))["messages"]
        answer = await client.post("/groups/workers/pause", json={"topic": "orders", "partitions": [0]})
        assert answer.status_code == 200, answer.text
        acked = await client.post("/ack", json={"receipts": [each["receipt"] for each in held]})
        assert acked.json()["failed"] == 0, "what is in hand may be finished"
        open_ones = (await receive(client, "ada", waitSeconds=5))["messages"]
        assert {each["partition"] for each in open_ones} == {1}
        await client.post("/ack", json={"receipts": [each["receipt"] for each in open_ones]})
        assert (await receive(client, "ada"))["reason"] == "PAUSED"
        assert await owned(client) == {"ada": orders(0, 1)}
        if nodes > 1:
            view = cluster.gateways[0].metadata
            topic = view.topic("orders")
            assert topic is not None
            await cluster.in_sync(topic)
            await cluster.stop(cluster.state(topic, 0).leader)
            assert (await receive(client, "ada", waitSeconds=3))["messages"] == []
        assert (await client.post("/groups/workers/resume")).json()["paused"] == []
        rest = (await receive(client, "ada", waitSeconds=5))["messages"]
        done = [each["body"] for each in held if each["partition"] == 0]
        assert [each["body"] for each in rest] == [each for each in (0, 2, 4, 6) if each not in done]

    ClusterBuilder().nodes(nodes).gateway().run(main)
