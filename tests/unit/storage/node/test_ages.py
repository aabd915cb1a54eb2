"""How old it is what groups have not done, over HTTP and in metrics."""

from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any

import httpx2
import pytest

from app.processes.node_metrics import NodeCollector
from storage.node.append_times import UNTOLD_MS, AppendTimes, append_time_at
from storage.node.replicas.led_partition import Partition
from storage.rpc.messages import PositionsRequest
from tests.support.cluster import Cluster, ClusterBuilder, client_of

AGES = ("acklog_group_lag_seconds", "acklog_group_oldest_age_seconds")
Main = Callable[[Cluster, httpx2.AsyncClient], Coroutine[Any, Any, None]]


def run(main: Main, *, nodes: int = 1) -> None:
    async def whole(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            await cluster.topic(replicas=nodes)
            await cluster.group()
            await main(cluster, client)

    ClusterBuilder().nodes(nodes).gateway().run(whole)


async def send(client: httpx2.AsyncClient, body: int) -> None:
    sent = await client.post("/messages", json={"queue": "orders", "body": body, "partition": 0})
    assert sent.status_code == 201, sent.text


async def offsets(client: httpx2.AsyncClient) -> dict[str, Any]:
    return dict((await client.get("/groups/workers/offsets?topic=orders")).json())


async def metric(cluster: Cluster, name: str, *, of_node: int = 1) -> float:
    node = cluster.nodes[of_node]
    [found] = [each for each in NodeCollector(node.node, node.metadata, names_max=9).collect() if each.name == name]
    [sample] = found.samples
    assert sample.labels == {"topic": "orders", "group": "workers"}
    return float(sample.value)


def led(cluster: Cluster) -> Partition:
    [node] = cluster.nodes.values()
    [partition] = node.node.partitions_led()
    return partition


@pytest.mark.parametrize("nodes", [1, 3])
def test_a_group_is_behind_in_time_too(nodes: int) -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        for number, pause_ms in enumerate((60_000, 30_000, 10_000)):
            await send(client, number)
            await cluster.clock.sleep(pause_ms)
        await client.put("/groups/workers/offsets", json={"topic": "orders", "to": "earliest"})
        seen = await offsets(client)
        [partition] = seen["offsets"]
        assert 90_000 <= partition["lagMs"] < 91_000
        assert 100_000 <= partition["oldestAgeMs"] < 101_000
        assert (seen["lagMs"], seen["oldestAgeMs"]) == (partition["lagMs"], partition["oldestAgeMs"])
        if nodes == 1:
            assert 85 <= await metric(cluster, "acklog_group_lag_seconds") < 91
            assert 100 <= await metric(cluster, "acklog_group_oldest_age_seconds") < 101
        got = (await client.get("/messages?queue=orders&group=workers&max=10")).json()["messages"]
        await client.post("/ack", json={"receipts": [got[0]["receipt"], got[2]["receipt"]]})
        [partition] = (await offsets(client))["offsets"]
        assert (partition["lag"], partition["progress"]) == (1, 1)
        assert 30_000 <= partition["lagMs"] < 31_000
        assert 40_000 <= partition["oldestAgeMs"] < 41_000
        await client.post("/ack", json={"receipt": got[1]["receipt"]})
        [partition] = (await offsets(client))["offsets"]
        assert (partition["lagMs"], partition["oldestAgeMs"]) == (0, 0)

    run(main, nodes=nodes)


def test_a_batch_that_is_not_in_memory_is_read_and_no_other() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        for number in range(3):
            await send(client, number)
            await cluster.clock.sleep(1_000)
        await cluster.stop(1)
        await cluster.start(1)
        await cluster.until(lambda: len(cluster.nodes[1].node.partitions_led()) == 1)
        partition = led(cluster)
        assert partition.reader.cached(1) is None
        exact = [await append_time_at(partition, offset) for offset in range(4)]
        assert [later - earlier for earlier, later in pairwise(exact[:3])] == pytest.approx([1_000, 1_000], abs=100)
        assert exact[3] == UNTOLD_MS
        times = AppendTimes(known_max=2, reads_at_once=10)
        near = [times.near(partition, offset) for offset in range(4)]
        assert near[3] == UNTOLD_MS
        assert all(early <= at for early, at in zip(near, exact, strict=True))
        await times.look_up()
        assert [times.near(partition, offset) for offset in range(4)] == [*exact[:2], near[2], UNTOLD_MS]
        await times.look_up()
        assert [times.near(partition, offset) for offset in (2, 1)] == [exact[2], exact[1]], "the latest are known"

    run(main)


def test_only_the_group_that_is_asked_for_costs_a_read() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await send(client, 0)
        for group in ("workers", "others"):
            await client.put(f"/groups/{group}")
            await client.put(f"/groups/{group}/offsets", json={"topic": "orders", "to": "earliest"})
        topic, group = (cluster.gateways[0].metadata.topic("orders"), cluster.gateways[0].metadata.group("workers"))
        assert topic is not None
        assert group is not None
        answer = await cluster.leader(topic).positions(PositionsRequest(topic.id, 0, group.id))
        told = {position.group_id: position.oldest_append_ms >= 0 for position in answer.groups}
        assert sorted(told.values()) == [False, True]
        assert told[group.id]
        plain = await cluster.leader(topic).positions(PositionsRequest(topic.id, 0))
        assert [position.oldest_append_ms for position in plain.groups] == [-1, -1]

    run(main)


def test_they_are_right_through_a_failover() -> None:
    """To within two seconds, in answers and in metrics: these know what they were asked for some time ago."""

    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        topic = cluster.gateways[0].metadata.topic("orders")
        assert topic is not None
        for number, pause_ms in enumerate((60_000, 30_000, 10_000)):
            await send(client, number)
            await cluster.clock.sleep(pause_ms)
        sent_ms = cluster.clock.monotonic_ms() - 40_000
        await client.put("/groups/workers/offsets", json={"topic": "orders", "to": "earliest"})
        got = (await client.get("/messages?queue=orders&group=workers&max=2")).json()["messages"]
        await client.post("/ack", json={"receipt": got[0]["receipt"]})
        await cluster.in_sync(topic)
        for fails in (True, False):
            leader = cluster.state(topic).leader
            for _ in range(2):
                measured = tuple([await metric(cluster, name, of_node=leader) for name in AGES])
                await cluster.clock.sleep(3_000)
            waited_s = (cluster.clock.monotonic_ms() - sent_ms) / 1000
            [partition] = (await offsets(client))["offsets"]
            told = (partition["lagMs"] / 1000, partition["oldestAgeMs"] / 1000)
            assert told == pytest.approx((30, waited_s), abs=2)
            assert measured == pytest.approx((30, waited_s - 3), abs=2)
            if fails:
                await cluster.stop(leader)
                await cluster.until(lambda: cluster.state(topic).leader in cluster.nodes)
                await cluster.clock.sleep(1_000)

    run(main, nodes=3)
