"""The audit log of a cluster whose nodes go and come, and whose answers get lost: each act that was answered is there
once."""

import asyncio
from collections import Counter
from typing import Any

import httpx2
import pytest

from cluster.model.internal_topics import AUDIT_TOPIC
from cluster.model.values import Topic
from tests.support.cluster import Cluster, ClusterBuilder, client_of

ACTS = 60


async def records_of(client: httpx2.AsyncClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = 0
    while True:
        answer = await client.get(f"/audit?max=1000&after={after}")
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += page["records"]
        after = page["next"]
        if page["atEnd"]:
            return found


async def audit_topic(cluster: Cluster, client: httpx2.AsyncClient) -> Topic:
    """Once it is there, and in sync on all nodes."""
    await cluster.until(lambda: len(cluster.gateways[0].metadata.nodes()) == len(cluster.nodes))
    assert (await client.put("/topics/orders", json={"partitions": 1})).status_code == 201
    topic = cluster.gateways[0].metadata.topic(AUDIT_TOPIC)
    assert topic is not None
    assert topic.replication_factor == len(cluster.nodes)
    assert topic.config.min_insync_replicas == 2
    await cluster.in_sync(topic)
    return topic


async def act(client: httpx2.AsyncClient, number: int, *, worker: str) -> tuple[str, int]:
    """One that is known by its request id; its id and its answer's status."""
    name = f"{worker}-{number}"
    body = {"config": {"ttlMs": 1_000_000 - number}}
    path = "/topics/orders?allowDataLoss=true"
    answer = await client.patch(path, json=body, headers={"X-Request-Id": name})
    return name, answer.status_code


@pytest.mark.parametrize("mode", ["on", "required"])
@pytest.mark.parametrize("fault", ["leader stops", "connections break"])
def test_each_act_is_there_once(mode: str, fault: str) -> None:
    async def main(cluster: Cluster) -> None:
        clients = [client_of(gateway) for gateway in cluster.gateways]
        topic = await audit_topic(cluster, clients[0])
        answered: dict[str, int] = {}

        async def work(client: httpx2.AsyncClient, worker: str) -> None:
            for number in range(ACTS):
                name, status = await act(client, number, worker=worker)
                answered[name] = status
                await cluster.clock.sleep(50)

        async def disturb() -> None:
            for _ in range(3):
                await cluster.clock.sleep(500)
                if fault == "connections break":
                    for _ in range(20):
                        cluster.break_connections()
                        await cluster.clock.sleep(7)
                    continue
                victim = cluster.state(topic).leader
                await cluster.stop(victim)
                await cluster.clock.sleep(2_000)
                await cluster.start(victim)
                await cluster.in_sync(topic)

        await asyncio.gather(disturb(), *(work(each, f"w{number}") for number, each in enumerate(clients)))
        for gateway in cluster.gateways:
            await gateway.gateway.shutdown.end()
        found = [each for each in await records_of(clients[0]) if each.get("requestId")]
        outcomes = [each for each in found if each["result"] != "intended"]
        assert Counter(each["requestId"] for each in outcomes) == Counter(answered.keys())
        assert {each["requestId"]: each["status"] for each in outcomes} == answered
        assert set(answered.values()) <= {200, 503}
        assert 200 in answered.values()
        intended = [each["id"] for each in found if each["result"] == "intended"]
        assert len(intended) == len(set(intended)) == (len(answered) if mode == "required" else 0)
        allowed = [each["asked"]["config"]["ttlMs"] for each in outcomes if each["status"] == 200]
        assert len(allowed) == len([each for each in answered.values() if each == 200])

    ClusterBuilder().nodes(3).gateway(audit=mode).gateway(audit=mode).run(main)


def test_replicas_are_added_as_nodes_come() -> None:
    """A cluster begins with one node; its audit log does not stay there alone."""

    async def main(cluster: Cluster) -> None:
        client = client_of(cluster.gateways[0])
        await cluster.until(lambda: len(cluster.gateways[0].metadata.nodes()) == 1)
        await client.put("/topics/orders")
        view = cluster.gateways[0].metadata

        def factor() -> int:
            topic = view.topic(AUDIT_TOPIC)
            return 0 if topic is None else topic.replication_factor

        assert factor() == 1
        await cluster.start(2, 3)
        await cluster.until(lambda: len(view.nodes()) == 3)
        await cluster.clock.sleep(61_000)
        await client.put("/topics/orders")
        assert factor() == 3
        topic = view.topic(AUDIT_TOPIC)
        assert topic is not None
        await cluster.in_sync(topic)
        await cluster.clock.sleep(61_000)
        await client.put("/topics/orders")
        topic = view.topic(AUDIT_TOPIC)
        assert topic is not None
        assert topic.config.min_insync_replicas == 2

    ClusterBuilder().nodes(1).gateway(audit="on").run(main)


def test_below_the_minimum_in_sync_nothing_is_done_that_is_required_to_be_recorded() -> None:
    async def main(cluster: Cluster) -> None:
        client = client_of(cluster.gateways[0])
        topic = await audit_topic(cluster, client)
        leader = cluster.state(topic).leader
        await cluster.stop(*(number for number in list(cluster.nodes) if number != leader))
        _, status = await act(client, 1, worker="w")
        assert status == 503
        view = cluster.gateways[0].metadata.topic("orders")
        assert view is not None
        assert view.config.ttl_ms is None
        await cluster.start(*({1, 2, 3} - {leader}))
        await cluster.in_sync(topic)
        assert await act(client, 2, worker="w") == ("w-2", 200)

    ClusterBuilder().nodes(3).gateway(audit="required", audit_timeout_ms=2_000).run(main)
