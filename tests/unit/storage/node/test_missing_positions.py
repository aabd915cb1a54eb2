"""Groups that begin nowhere by themselves."""

from collections.abc import Callable, Coroutine
from typing import Any

import httpx2
import pytest

from tests.support.cluster import Cluster, ClusterBuilder, client_of

REFUSE = {"settings": {"onMissingPosition": "refuse"}}
Main = Callable[[Cluster, httpx2.AsyncClient], Coroutine[Any, Any, None]]


def run(main: Main, *, nodes: int = 1) -> None:
    async def whole(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            await cluster.topic(replicas=nodes)
            for number in range(5):
                body = {"queue": "orders", "body": number, "partition": 0}
                assert (await client.post("/messages", json=body)).status_code == 201
            assert (await client.put("/groups/careful", json=REFUSE)).status_code == 201
            await main(cluster, client)

    ClusterBuilder().nodes(nodes).gateway().run(whole)


async def receive(client: httpx2.AsyncClient) -> httpx2.Response:
    return await client.get("/messages?queue=orders&group=careful&max=10")


async def offsets(client: httpx2.AsyncClient) -> list[Any]:
    return list((await client.get("/groups/careful/offsets")).json()["offsets"])


@pytest.mark.parametrize("nodes", [1, 3])
def test_it_reads_nothing_until_it_is_told_where(nodes: int) -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        refused = await receive(client)
        assert (refused.status_code, refused.json()["code"]) == (409, "POSITION_MISSING")
        assert "seek" in refused.json()["detail"]
        planned = await client.put("/groups/careful/offsets", json={"topic": "orders", "to": "latest", "dryRun": True})
        assert planned.json()["partitions"] == [{"partition": 0, "offset": 5, "previous": 5}]
        back = await client.put("/groups/careful/offsets", json={"topic": "orders", "to": {"relative": -1}})
        assert (back.status_code, back.json()["code"]) == (409, "POSITION_MISSING"), "from where?"
        assert await offsets(client) == []
        seek = {"topic": "orders", "partition": 0, "to": {"offset": 3}}
        assert (await client.put("/groups/careful/offsets", json=seek)).status_code == 200
        assert [message["body"] for message in (await receive(client)).json()["messages"]] == [3, 4]

    run(main, nodes=nodes)


def test_a_commit_says_where_too() -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        position = {"topic": "orders", "partition": 0, "offset": 4}
        answer = await client.put("/groups/careful/offsets", json={"offsets": [position]})
        assert answer.status_code == 200, answer.text
        assert [message["body"] for message in (await receive(client)).json()["messages"]] == [4]

    run(main)


def test_of_a_partition_that_comes_later_it_misses_nothing() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.put("/groups/careful/offsets", json={"topic": "orders", "to": "latest"})
        await client.patch("/topics/orders", json={"partitions": 2})
        view = cluster.gateways[0].metadata
        topic = view.topic("orders")
        assert topic is not None
        await cluster.until(lambda: len(view.partitions(topic.id)) == 2)
        await client.post("/messages", json={"queue": "orders", "body": 5, "partition": 1})
        found = await client.get("/messages?queue=orders&group=careful&max=10&waitSeconds=5")
        assert [message["body"] for message in found.json()["messages"]] == [5]

    run(main)
