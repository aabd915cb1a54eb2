"""A partition that was decommissioned and is gone has no leader any more, for good: nobody waits for one."""

import asyncio
from typing import Any

import httpx2
import pytest

from acklog.wire.identifiers import MessageId, Receipt
from cluster.model.values import PartitionLife, TopicConfig
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.memory_gateway import MemoryWorld
from tests.support.memory_node import LEADER_EPOCH

GONE = 1
MUCH_TOO_LATE_S = 5.0


@pytest.fixture
async def shrunk(client: httpx2.AsyncClient, world: MemoryWorld) -> httpx2.AsyncClient:
    """A topic with three partitions, a message in each; the group has read them all, and then the second one went."""
    topic = await world.topic(partitions=3)
    messages = [{"body": number, "partition": number} for number in range(3)]
    await client.post("/messages", json={"queue": "orders", "messages": messages})
    await client.get("/messages?queue=orders&group=mail&max=10")
    world.metadata.gone.add((topic.id, GONE))
    return client


async def answered(request: Any) -> httpx2.Response:
    async with asyncio.timeout(MUCH_TOO_LATE_S):
        response: httpx2.Response = await request
        return response


def receipt(world: MemoryWorld, partition: int = GONE) -> str:
    topic, group = world.metadata.topics()[0], world.metadata.groups()[0]
    return str(Receipt(topic.id, partition, 0, group.id, 0, LEADER_EPOCH, 1))


def message_id(world: MemoryWorld) -> str:
    return str(MessageId(world.metadata.topics()[0].id, GONE, LEADER_EPOCH, 0))


async def test_progress_is_told_of_the_partitions_that_are_there(shrunk: httpx2.AsyncClient) -> None:
    answer = (await answered(shrunk.get("/groups/mail/offsets"))).json()
    assert [each["partition"] for each in answer["offsets"]] == [0, 2]
    assert all(each["problem"] is None for each in answer["offsets"])


async def test_a_seek_moves_the_partitions_that_are_there(shrunk: httpx2.AsyncClient) -> None:
    seek = {"topic": "orders", "to": "earliest"}
    answer = await answered(shrunk.post("/groups/mail/offsets", json=seek))
    assert (answer.status_code, answer.json()["failed"]) == (200, 0)
    assert [each["partition"] for each in answer.json()["partitions"]] == [0, 2]


async def test_a_seek_there_says_that_it_is_gone(shrunk: httpx2.AsyncClient) -> None:
    seek = {"topic": "orders", "partition": GONE, "to": "earliest"}
    answer = await answered(shrunk.post("/groups/mail/offsets", json=seek))
    assert (answer.status_code, answer.json()["code"]) == (410, "MESSAGE_EXPIRED")
    assert "was decommissioned" in answer.json()["detail"]


async def test_what_retention_has_removed_counts_as_done(shrunk: httpx2.AsyncClient, world: MemoryWorld) -> None:
    """As before the partition went: an ack succeeds, and nothing else can be done with the message."""
    receipts = [receipt(world), receipt(world, 0)]
    acked = await answered(shrunk.post("/ack", json={"receipts": receipts}))
    assert (acked.status_code, acked.json()["failed"]) == (200, 0)
    by_id = await answered(shrunk.post("/ack", json={"messageId": message_id(world), "group": "mail"}))
    assert by_id.status_code == 200
    for path, more in (("/nack", {}), ("/extend", {"visibilitySeconds": 9})):
        stale = await answered(shrunk.post(path, json={"receipt": receipt(world), **more}))
        assert (stale.status_code, stale.json()["code"], stale.json()["field"]) == (409, "RECEIPT_STALE", "receipt")


async def test_a_look_says_that_it_is_gone(shrunk: httpx2.AsyncClient, world: MemoryWorld) -> None:
    answer = await answered(shrunk.get(f"/messages/{message_id(world)}"))
    assert (answer.status_code, answer.json()["code"]) == (410, "MESSAGE_EXPIRED")
    assert answer.json()["retriable"] is False


@pytest.mark.parametrize("query", ["offset=0", "offset=earliest", "offset=latest", "offset=0&readFrom=nearest"])
async def test_who_reads_the_log_hears_that_it_is_gone(shrunk: httpx2.AsyncClient, query: str) -> None:
    answer = await answered(shrunk.get(f"/topics/orders/partitions/{GONE}/records?{query}"))
    assert (answer.status_code, answer.json()["code"]) == (410, "MESSAGE_EXPIRED")  # R42: never "nothing new"


def test_a_gateway_of_a_cluster_waits_for_no_leader_either() -> None:
    async def main(cluster: Cluster) -> None:
        [gateway] = cluster.gateways
        topics = gateway.gateway.topics
        topic = await topics.create("orders", partitions=2, config=TopicConfig(), replication_factor=3)
        await cluster.until(lambda: len(gateway.metadata.partitions(topic.id)) == 2)
        await topics.decommission("orders", [GONE])

        def is_gone() -> bool:
            state = gateway.metadata.partition(topic.id, GONE)
            return state is not None and state.life is PartitionLife.GONE

        await cluster.until(is_gone)
        async with client_of(gateway) as client:
            await client.put("/groups/mail", json={})
            begin_ms = cluster.clock.monotonic_ms()
            offsets = await client.get("/groups/mail/offsets")
            read = await client.get(f"/topics/orders/partitions/{GONE}/records?readFrom=nearest")
            look = await client.get(f"/messages/{MessageId(topic.id, GONE, 1, 0)}")
            assert cluster.clock.monotonic_ms() - begin_ms < 1_000
        assert (offsets.status_code, offsets.json()["offsets"]) == (200, [])
        assert {read.json()["code"], look.json()["code"]} == {"MESSAGE_EXPIRED"}

    ClusterBuilder().nodes(3).gateway().run(main)
