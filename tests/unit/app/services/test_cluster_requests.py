"""What clients of a cluster's gateway notice of failures: nothing, but for time. Whole nodes on virtual time."""

import asyncio
import random
from collections import Counter
from typing import Any

import httpx2
import pytest

from app.processes.cluster_gateway import ClusterGateway
from app.processes.cluster_node import ClusterNode
from cluster.model.values import TopicConfig
from tests.support.memory_cluster import MemoryCluster, client_of, with_cluster

PARTITIONS = 4


async def _begin(
    cluster: MemoryCluster, *, nodes: int, min_insync_replicas: int
) -> tuple[list[ClusterNode], ClusterGateway]:
    """A topic in sync on all nodes, in each partition a batch already."""
    started = [await cluster.node(node_id) for node_id in range(1, nodes + 1)]
    gateway = await cluster.gateway()
    topic = await gateway.gateway.topics.create(
        "orders",
        partitions=PARTITIONS,
        config=TopicConfig(min_insync_replicas=min_insync_replicas),
        replication_factor=nodes,
    )

    def is_in_sync() -> bool:
        states = gateway.metadata.partitions(topic.id)
        return len(states) == PARTITIONS and all(len(state.isr) == nodes for state in states)

    await cluster.until(is_in_sync)
    return started, gateway


async def _end(cluster: MemoryCluster, nodes: list[ClusterNode], gateway: ClusterGateway) -> None:
    await gateway.close()
    for node in nodes:
        await cluster.stop(node)


async def _stored(client: httpx2.AsyncClient) -> Counter[Any]:
    """Every body in the log, and how often."""
    bodies: Counter[Any] = Counter()
    for number in range(PARTITIONS):
        offset = 0
        while True:
            page = await client.get(f"/topics/orders/partitions/{number}/records?offset={offset}")
            assert page.status_code == 200, page.text
            answer = page.json()
            bodies.update(message["body"] for message in answer["records"])
            if answer["nextOffset"] == offset:
                break
            offset = answer["nextOffset"]
    return bodies


def _cut_connections(cluster: MemoryCluster) -> None:
    """All connections to nodes break, between gateways and nodes and among nodes."""
    streams, cluster.transport.streams = cluster.transport.streams, []
    for stream in streams:
        stream.abort()


@pytest.mark.parametrize("seed", range(2))
def test_a_broken_connection_neither_fails_nor_doubles_a_send(seed: int) -> None:
    async def main(cluster: MemoryCluster) -> None:
        chance = random.Random(seed)
        nodes, gateway = await _begin(cluster, nodes=1, min_insync_replicas=1)

        async def cut_again_and_again() -> None:
            while True:
                await cluster.clock.sleep(chance.choice([0, 1, 3, 20]) + chance.random())
                _cut_connections(cluster)

        async with client_of(gateway) as client:
            cutting = asyncio.ensure_future(cut_again_and_again())

            async def send(number: int) -> httpx2.Response:
                await cluster.clock.sleep(chance.random() * 300)
                if number % 3:
                    return await client.post("/messages", json={"queue": "orders", "body": number, "key": str(number)})
                messages = [{"body": f"{number}-{index}", "key": str(number)} for index in range(3)]
                messages[1]["dedupId"] = str(number)
                return await client.post("/messages", json={"queue": "orders", "messages": messages})

            answers = await asyncio.gather(*[send(number) for number in range(150)])
            cutting.cancel()
            assert {answer.status_code for answer in answers} == {201}, [answer.text for answer in answers]
            await cluster.clock.sleep(1_000)
            stored = await _stored(client)
        assert set(stored.values()) == {1}
        assert len(stored) == 100 + 3 * 50
        assert cluster.transport.dials > 5
        await _end(cluster, nodes, gateway)

    with_cluster(main)


@pytest.mark.parametrize("kills", [1, 2])
def test_a_leader_that_dies_neither_fails_nor_doubles_a_send_nor_loses_a_message(kills: int) -> None:
    async def main(cluster: MemoryCluster) -> None:
        nodes, gateway = await _begin(cluster, nodes=3, min_insync_replicas=2)
        chance = random.Random(kills)
        async with client_of(gateway) as client:
            sent: list[httpx2.Response] = []

            async def send(number: int) -> None:
                await cluster.clock.sleep(chance.random() * 6_000 * kills)
                sent.append(
                    await client.post("/messages", json={"queue": "orders", "body": number, "key": str(number)})
                )

            async def kill() -> None:
                for index in range(kills):
                    await cluster.clock.sleep(2_000)
                    await cluster.stop(nodes[index])
                    await cluster.clock.sleep(2_000)
                    nodes[index] = await cluster.node(index + 1)

            await asyncio.gather(kill(), *[send(number) for number in range(300)])
            assert {answer.status_code for answer in sent} == {201}, [a.text for a in sent if a.status_code != 201]
            stored = await _stored(client)
            assert stored == Counter(range(300))
            received: Counter[Any] = Counter()
            while sum(received.values()) < 300:
                answer = await client.get("/messages?queue=orders&max=100&waitSeconds=5")
                found = answer.json()["messages"]
                assert found, answer.text
                receipts = [message["receipt"] for message in found]
                acked = await client.post("/ack", json={"receipts": receipts})
                assert acked.status_code == 200, acked.text
                received.update(message["body"] for message in found)
            assert received == stored
        await _end(cluster, nodes, gateway)

    with_cluster(main)


def test_settlements_whose_answers_are_lost_are_done_and_done_once() -> None:
    async def main(cluster: MemoryCluster) -> None:
        nodes, gateway = await _begin(cluster, nodes=1, min_insync_replicas=1)
        chance = random.Random(1)
        async with client_of(gateway) as client:
            messages = [{"body": number, "key": str(number)} for number in range(90)]
            await client.post("/messages", json={"queue": "orders", "messages": messages})
            found = (await client.get("/messages?queue=orders&max=100&waitSeconds=1")).json()["messages"]
            assert len(found) == 90

            async def settle(index: int, message: dict[str, Any]) -> int:
                await cluster.clock.sleep(chance.random() * 100)
                path, extra = (("ack", {}), ("nack", {"delaySeconds": 5}), ("extend", {"visibilitySeconds": 60}))[
                    index % 3
                ]
                answer = await client.post(f"/{path}", json={"receipt": message["receipt"], **extra})
                return answer.status_code

            async def cut() -> None:
                for _ in range(20):
                    await cluster.clock.sleep(chance.random() * 8)
                    _cut_connections(cluster)

            codes, _ = await asyncio.gather(
                asyncio.gather(*[settle(index, message) for index, message in enumerate(found)]), cut()
            )
            assert set(codes) == {200}
            again = (await client.get("/messages?queue=orders&max=100&waitSeconds=10")).json()["messages"]
            while len(again) < 30:
                more = (await client.get("/messages?queue=orders&max=100&waitSeconds=10")).json()["messages"]
                assert more
                again += more
            nacked = {message["body"] for index, message in enumerate(found) if index % 3 == 1}
            assert {message["body"] for message in again} == nacked
            assert {message["attempt"] for message in again} == {2}
        await _end(cluster, nodes, gateway)

    with_cluster(main)
