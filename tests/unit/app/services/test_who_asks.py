"""What tells whether anybody asks for a group's messages: calls of consumers, and what these could be given."""

from typing import Any

import httpx2
import pytest

from acklog.command.server_metrics import ServerMetrics
from app.processes.node_metrics import NodeCollector
from tests.support.cluster import Cluster, ClusterBuilder, client_of


async def calls(client: httpx2.AsyncClient) -> dict[str, float]:
    metrics = ServerMetrics((await client.get("/metrics")).text)
    return dict(metrics.by_label("acklog_consumer_calls_total", "call"))


def available(cluster: Cluster) -> float:
    [node] = cluster.nodes.values()
    found = NodeCollector(node.node, node.metadata, names_max=9).collect()
    [family] = [each for each in found if each.name == "acklog_group_available"]
    [sample] = family.samples
    assert sample.labels == {"topic": "orders", "group": "workers"}
    return float(sample.value)


async def made(cluster: Cluster, **group: Any) -> httpx2.AsyncClient:
    await cluster.in_sync(await cluster.topic(replicas=1))
    client = client_of(cluster.gateways[0])
    assert (await client.put("/groups/workers", json=group)).status_code == 201
    await receive(client, **({"consumer": "ada", "mode": group["mode"]} if group else {}))
    return client


async def send(client: httpx2.AsyncClient, count: int) -> None:
    for number in range(count):
        message = {"queue": "orders", "body": number, "partition": 0, "key": "k"}
        assert (await client.post("/messages", json=message)).status_code == 201


async def receive(client: httpx2.AsyncClient, **query: Any) -> list[Any]:
    answer = await client.get("/messages", params={"queue": "orders", "group": "workers", **query})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["messages"])


def test_receives_count_whether_they_get_anything_or_not() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        assert await calls(client) == {"receive": 1}
        await receive(client, waitSeconds=1)
        await send(client, 1)
        await receive(client)
        assert await calls(client) == {"receive": 3}
        refused = {"queue": "orders", "group": "workers", "mode": "exclusive", "consumer": "ada"}
        assert (await client.get("/messages", params=refused)).status_code == 409
        assert await calls(client) == {"receive": 3}

    ClusterBuilder().nodes(1).gateway().run(main)


def test_who_extends_a_lease_or_commits_a_position_is_there_too() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        await send(client, 2)
        [message] = await receive(client, max=1)
        extension = {"receipt": message["receipt"], "visibilitySeconds": 60}
        assert (await client.post("/extend", json=extension)).status_code == 200
        offsets = [{"topic": "orders", "partition": 0, "offset": 2}]
        committed = await client.put("/groups/workers/offsets", json={"offsets": offsets})
        assert committed.status_code == 200, committed.text
        assert (await client.post("/extend", json=extension)).status_code == 409
        assert await calls(client) == {"receive": 2, "extend": 1, "commit": 1}

    ClusterBuilder().nodes(1).gateway().run(main)


def test_what_is_leased_delayed_or_paused_is_available_to_nobody() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        await send(client, 3)
        assert available(cluster) == 3
        [message] = await receive(client, max=1)
        assert available(cluster) == 2
        again = {"receipt": message["receipt"], "delaySeconds": 100}
        assert (await client.post("/nack", json=again)).status_code == 200
        assert available(cluster) == 2
        assert (await client.post("/groups/workers/pause")).status_code == 200
        assert available(cluster) == 0
        assert (await client.post("/groups/workers/resume")).status_code == 200
        await cluster.clock.sleep(101_000)
        assert available(cluster) == 3, "what is due again waits for whoever asks, though nobody does"

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("mode", ["keyOrdered", "exclusive"])
def test_what_a_person_has_to_decide_is_available_to_nobody(mode: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, mode=mode, settings={"onExhausted": "block", "maxAttempts": 1})
        await send(client, 1)
        [message] = await receive(client, mode=mode, consumer="ada", waitSeconds=5)
        again = {"receipt": message["receipt"], "delaySeconds": 0}
        assert (await client.post("/nack", json=again)).status_code == 200
        await cluster.clock.sleep(1_000)
        assert available(cluster) == 0

    ClusterBuilder().nodes(1).gateway().run(main)


def test_an_ack_that_is_repeated_counts_as_that() -> None:
    """Ten messages that are acknowledged three times are ten that are done."""

    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        await send(client, 3)
        receipts = [each["receipt"] for each in await receive(client, max=3)]
        for named in (receipts[:2], receipts, receipts):
            assert (await client.post("/ack", json={"receipts": named})).status_code == 200
        extension = {"receipt": receipts[0], "visibilitySeconds": 60}
        assert (await client.post("/extend", json=extension)).status_code == 409
        metrics = ServerMetrics((await client.get("/metrics")).text)
        counts = metrics.by_label("acklog_messages_settled_total", "result")
        assert counts == {"done": 3, "again": 5, "RECEIPT_STALE": 1}

    ClusterBuilder().nodes(1).gateway().run(main)
