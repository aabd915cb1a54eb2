"""Pausing a group and letting it go on, as clients of a cluster's gateway see it. Whole nodes on virtual time."""

import asyncio
import random
from typing import Any

import httpx2
import pytest

from cluster.model.values import Topic
from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
PARTITIONS = 2


async def made(
    cluster: Cluster, *, messages: int = 4, name: str = "orders", mode: str = "shared"
) -> tuple[httpx2.AsyncClient, Topic]:
    """A client, and a topic with messages in every partition; the group has not read yet."""
    topic = await cluster.topic(name, replicas=len(cluster.nodes), partitions=PARTITIONS)
    await cluster.in_sync(topic)
    client = client_of(cluster.gateways[0])
    await client.put("/groups/workers", json={"mode": mode})
    for number in range(messages):
        message = {"queue": name, "body": number, "partition": number % PARTITIONS}
        assert (await client.post("/messages", json=message)).status_code == 201
    return client, topic


async def receive(client: httpx2.AsyncClient, **query: Any) -> Any:
    return (await client.get("/messages", params={"queue": "orders", "group": "workers", **query})).json()


async def change(client: httpx2.AsyncClient, what: str, **named: Any) -> Any:
    answer = await client.post(f"/groups/workers/{what}", json=named)
    assert answer.status_code == 200, answer.text
    return answer.json()["paused"]


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("mode", ["shared", "keyOrdered", "exclusive"])
def test_a_paused_group_gets_nothing_and_may_settle_what_it_has(nodes: int, mode: str) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster, mode=mode)
        leased = (await receive(client, max=1, consumer="ada", waitSeconds=5))["messages"]
        [paused] = await change(client, "pause")
        assert (paused["topic"], paused["partitions"]) == (None, None)
        assert (await receive(client, consumer="ada"))["reason"] == "PAUSED"
        assert (await client.post("/ack", json={"receipt": leased[0]["receipt"]})).status_code == 200
        offsets = (await client.get("/groups/workers/offsets")).json()["offsets"]
        assert [each["paused"] for each in offsets] == [True] * PARTITIONS
        assert (await client.get("/groups/workers")).json()["paused"] == [paused]
        assert await change(client, "resume") == []
        assert len((await receive(client, consumer="ada"))["messages"]) == 3

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_who_waits_gets_nothing_from_the_pause_on_and_messages_at_once_when_it_ends(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster, messages=0)
        polls = [asyncio.ensure_future(receive(client, waitSeconds=20, max=1)) for _ in range(3)]
        await cluster.clock.sleep(1_000)
        await change(client, "pause")
        for number in range(PARTITIONS):
            await client.post("/messages", json={"queue": "orders", "body": number, "partition": number})
        await cluster.clock.sleep(5_000)
        assert not any(poll.done() for poll in polls)
        resumed_ms = cluster.clock.monotonic_ms()
        await change(client, "resume")
        await cluster.until(lambda: sum(poll.done() for poll in polls) == PARTITIONS)
        assert cluster.clock.monotonic_ms() - resumed_ms < 1_000
        found = [poll.result()["messages"] for poll in polls if poll.done()]
        assert sorted(message["body"] for [message] in found) == list(range(PARTITIONS))
        await change(client, "pause")
        [last] = [poll for poll in polls if not poll.done()]
        assert (await last)["reason"] == "PAUSED"

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_a_topic_and_a_partition_of_it_are_paused_apart_from_the_others(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        await made(cluster, name="others")
        await change(client, "pause", topic="others")
        [others, orders] = await change(client, "pause", topic="orders", partitions=[1])
        assert (others["topic"], others["partitions"]) == ("others", None)
        assert (orders["topic"], orders["partitions"]) == ("orders", [1])
        found = (await receive(client, queue=["orders", "others"]))["messages"]
        assert [(message["queue"], message["partition"]) for message in found] == [("orders", 0)] * 2
        await change(client, "resume", topic="orders")
        assert {message["partition"] for message in (await receive(client))["messages"]} == {1}
        other = (await client.get("/messages", params={"queue": "others", "group": "another"})).json()
        assert len(other["messages"]) == 4, "another group does not care"

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_the_next_leader_knows_it() -> None:
    async def main(cluster: Cluster) -> None:
        client, topic = await made(cluster)
        await change(client, "pause")
        await cluster.stop(cluster.state(topic).leader)
        assert (await receive(client, waitSeconds=5))["reason"] == "PAUSED"
        await change(client, "resume")
        assert len((await receive(client, waitSeconds=5))["messages"]) > 0

    ClusterBuilder().nodes(3).gateway().run(main)


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        for named, status, code, field in [
            ({"topic": "nothing"}, 404, "TOPIC_NOT_FOUND", "topic"),
            ({"topic": "orders", "partitions": [PARTITIONS]}, 404, "PARTITION_NOT_FOUND", "partition"),
            ({"partitions": [0]}, 400, "MISSING_FIELD", "topic"),
            ({"topic": "orders", "partitions": []}, 400, "INVALID_FIELD", "partitions"),
            ({"queue": "orders"}, 400, "UNKNOWN_FIELD", "queue"),
        ]:
            for what in ("pause", "resume"):
                answer = await client.post(f"/groups/workers/{what}", json=named)
                problem = answer.json()
                assert (answer.status_code, problem["code"], problem.get("field")) == (status, code, field), named
        assert (await client.post("/groups/nobody/pause")).json()["code"] == "GROUP_NOT_FOUND"
        assert (await client.get("/groups/workers")).json()["paused"] == []

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("seed", range(5))
def test_pauses_lose_nothing(seed: int) -> None:
    """Whoever pauses and resumes what, under consumers that acknowledge, give back and forget."""

    async def main(cluster: Cluster) -> None:
        chance = random.Random(seed)
        client, _ = await made(cluster, messages=40)
        await client.patch("/groups/workers", json={"settings": {"visibilityMs": 1_000, "maxAttempts": 1_000}})
        done: set[int] = set()

        async def consume(rounds: int) -> None:
            for _ in range(rounds):
                for message in (await receive(client, waitSeconds=1, max=3))["messages"]:
                    assert message["body"] not in done
                    what = chance.choice(["ack", "ack", "nack", "forget"])
                    if what == "ack":
                        await client.post("/ack", json={"receipt": message["receipt"]})
                        done.add(message["body"])
                    elif what == "nack":
                        await client.post("/nack", json={"receipt": message["receipt"], "delaySeconds": 0})

        async def meddle() -> None:
            for _ in range(15):
                partition = {"topic": "orders", "partitions": [chance.randrange(PARTITIONS)]}
                named: dict[str, Any] = chance.choice([{}, {"topic": "orders"}, partition])
                await change(client, chance.choice(["pause", "resume"]), **named)
                await cluster.clock.sleep(chance.random() * 2_000)

        await asyncio.gather(consume(12), consume(12), meddle())
        await change(client, "resume")
        while len(done) < 40:
            await consume(1)
        assert (await client.get("/groups/workers/offsets")).json()["lag"] == 0

    ClusterBuilder().nodes(1).gateway().run(main)
