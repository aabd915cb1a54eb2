"""What clients of a cluster's gateway notice of failures: nothing, but for time. Whole nodes on virtual time."""

import asyncio
import random
from collections import Counter
from typing import Any

import httpx2
import pytest

from tests.support.cluster import Cluster, ClusterBuilder, client_of

PARTITIONS = 4


async def _made(cluster: Cluster, *, min_insync_replicas: int) -> httpx2.AsyncClient:
    """A client, and a topic in sync on all nodes."""
    replicas = len(cluster.nodes)
    topic = await cluster.topic(partitions=PARTITIONS, replicas=replicas, min_insync_replicas=min_insync_replicas)
    await cluster.in_sync(topic)
    [gateway] = cluster.gateways
    return client_of(gateway)


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


@pytest.mark.parametrize("seed", range(2))
def test_a_broken_connection_neither_fails_nor_doubles_a_send(seed: int) -> None:
    async def main(cluster: Cluster) -> None:
        chance = random.Random(seed)

        async def cut_again_and_again() -> None:
            while True:
                await cluster.clock.sleep(chance.choice([0, 1, 3, 20]) + chance.random())
                cluster.break_connections()

        async with await _made(cluster, min_insync_replicas=1) as client:
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

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("kills", [1, 2])
def test_a_leader_that_dies_neither_fails_nor_doubles_a_send_nor_loses_a_message(kills: int) -> None:
    async def main(cluster: Cluster) -> None:
        chance = random.Random(kills)
        async with await _made(cluster, min_insync_replicas=2) as client:
            sent: list[httpx2.Response] = []

            async def send(number: int) -> None:
                await cluster.clock.sleep(chance.random() * 6_000 * kills)
                sent.append(
                    await client.post("/messages", json={"queue": "orders", "body": number, "key": str(number)})
                )

            async def kill() -> None:
                for node_id in range(1, kills + 1):
                    await cluster.clock.sleep(2_000)
                    await cluster.stop(node_id)
                    await cluster.clock.sleep(2_000)
                    await cluster.start(node_id)

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

    ClusterBuilder().nodes(3).gateway().run(main)


def test_settlements_whose_answers_are_lost_are_done_and_done_once() -> None:
    async def main(cluster: Cluster) -> None:
        chance = random.Random(1)
        async with await _made(cluster, min_insync_replicas=1) as client:
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
                    cluster.break_connections()

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

    ClusterBuilder().nodes(1).gateway().run(main)
