"""Receives that wait when their group is deleted, as clients of a gateway see it. Whole nodes on virtual time."""

import asyncio
from typing import Any

import httpx2
import pytest

from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]


async def made(cluster: Cluster, mode: str) -> httpx2.AsyncClient:
    await cluster.in_sync(await cluster.topic(replicas=len(cluster.nodes), partitions=3))
    client = client_of(cluster.gateways[0])
    assert (await client.put("/groups/workers", json={"mode": mode})).status_code == 201
    return client


async def receive(client: httpx2.AsyncClient, **query: Any) -> httpx2.Response:
    return await client.get("/messages", params={"queue": "orders", "group": "workers", "consumer": "c1", **query})


@pytest.mark.parametrize("is_made_again", [False, True])
@pytest.mark.parametrize(
    ("mode", "query"),
    [
        ("shared", {}),
        ("shared", {"autoAck": "true"}),
        ("shared", {"tags": "a"}),
        ("keyOrdered", {}),
        ("exclusive", {}),
    ],
    ids=["shared", "shared-autoAck", "shared-filtered", "keyOrdered", "exclusive"],
)
@pytest.mark.parametrize("nodes", NODES)
def test_who_waits_is_told_that_the_group_is_gone(
    nodes: int, mode: str, query: dict[str, str], is_made_again: bool
) -> None:
    """What it got could not be settled, and another group of that name would give it to somebody else, too."""

    async def main(cluster: Cluster) -> None:
        client = await made(cluster, mode)
        waiting = asyncio.create_task(receive(client, waitSeconds=20, **query))
        await cluster.clock.sleep(2_000)
        assert (await client.delete("/groups/workers")).status_code == 204
        if is_made_again:
            assert (await client.put("/groups/workers", json={"mode": "exclusive"})).status_code == 201
        await cluster.clock.sleep(5_000)
        assert waiting.done(), "it does not wait to the end of its time"
        sent = await client.post("/messages", json={"queue": "orders", "body": 1, "key": "k", "tags": ["a"]})
        assert sent.status_code == 201, sent.text
        answer = await waiting
        assert (answer.status_code, answer.json()["code"]) == (404, "GROUP_NOT_FOUND"), answer.text
        if is_made_again:
            again = await receive(client, waitSeconds=5)
            assert [message["body"] for message in again.json()["messages"]] == [1]

    ClusterBuilder().nodes(nodes).gateway().run(main)
