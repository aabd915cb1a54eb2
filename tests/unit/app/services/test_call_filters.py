"""Receives that bring a filter of their own, as clients of a gateway see them. Whole nodes on virtual time."""

import asyncio
from typing import Any

import httpx2
import pytest

from app.processes.node_metrics import NodeCollector
from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]


async def made(cluster: Cluster, **group: Any) -> httpx2.AsyncClient:
    await cluster.in_sync(await cluster.topic(replicas=len(cluster.nodes)))
    client = client_of(cluster.gateways[0])
    assert (await client.put("/groups/workers", json=group)).status_code == 201
    return client


async def send(client: httpx2.AsyncClient, *tags: str) -> None:
    messages = [{"body": tag, "tags": [tag]} for tag in tags]
    answer = await client.post("/messages", json={"queue": "orders", "messages": messages})
    assert answer.status_code == 201, answer.text


async def ask(client: httpx2.AsyncClient, **query: Any) -> dict[str, Any]:
    query = {"queue": "orders", "group": "workers", "max": 10, **query}
    answer = await client.get("/messages", params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def offsets(client: httpx2.AsyncClient, **query: Any) -> list[int]:
    return [message["offset"] for message in (await ask(client, **query))["messages"]]


async def progress(client: httpx2.AsyncClient) -> tuple[int, int]:
    [found] = (await client.get("/groups/workers/offsets?topic=orders")).json()["offsets"]
    return found["progress"], found["doneAbove"]


@pytest.mark.parametrize("nodes", NODES)
def test_it_takes_what_matches_and_leaves_the_rest_to_others(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        await send(client, "a", "b", "c", "a", "b", "c")
        taken = (await ask(client, tags="b,x"))["messages"]
        assert [message["offset"] for message in taken] == [1, 4]
        assert await offsets(client, filter='tag = "b"') == []
        await client.post("/ack", json={"receipts": [message["receipt"] for message in taken]})
        assert await progress(client) == (0, 2), "only the group's own filter moves progress"
        assert await offsets(client) == [0, 2, 3, 5]
        assert await offsets(client) == []

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_what_came_back_is_matched_too() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        await send(client, "a", "b")
        both = (await ask(client))["messages"]
        for message in both:
            await client.post("/nack", json={"receipt": message["receipt"], "delaySeconds": 0})
        [again] = (await ask(client, filter='tag = "b"'))["messages"]
        assert (again["offset"], again["attempt"]) == (1, 2)
        assert await offsets(client) == [0]

    ClusterBuilder().nodes(1).gateway().run(main)


def test_it_is_of_what_the_groups_own_filter_leaves() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, settings={"filter": 'tag in ("a", "b")'})
        await send(client, "c", "b", "a", "c")
        assert await offsets(client, filter='tag in ("b", "c")') == [1]
        assert await offsets(client) == [2]
        await asyncio.sleep(2)
        assert (await progress(client))[0] == 1

    ClusterBuilder().nodes(1).gateway().run(main)


def test_who_waits_with_a_filter_and_who_waits_without_both_hear_of_news() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        matching = asyncio.create_task(offsets(client, filter='tag = "b"', waitSeconds=20))
        plain = asyncio.create_task(offsets(client, waitSeconds=20))
        await asyncio.sleep(1)
        await send(client, "a")
        assert await asyncio.wait_for(plain, 5) == [0]
        assert not matching.done()
        await send(client, "b")
        assert await asyncio.wait_for(matching, 5) == [1]

    ClusterBuilder().nodes(1).gateway().run(main)


def test_it_looks_only_so_far_and_says_so() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        for _ in range(11):
            await send(client, *["a"] * 10_000)
        await send(client, "b")
        answer = await ask(client, filter='tag = "b"')
        assert (answer["messages"], answer["reason"]) == ([], "FILTER_REACH")
        assert (await ask(client, filter='tag = "b"', waitSeconds=1))["reason"] == "FILTER_REACH"
        await ask(client, autoAck="true", max=1000)
        for _ in range(10):
            await ask(client, autoAck="true", max=1000)
        assert await offsets(client, filter='tag = "b"') == [110_000]

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize(
    ("group", "why"),
    [
        ({"mode": "keyOrdered"}, "keyOrdered"),
        ({"mode": "exclusive"}, "exclusive"),
        ({"settings": {"fairBy": "key"}}, "each key its share"),
        ({"settings": {"fairByHeader": "tenant"}}, "each value of the header 'tenant' its share"),
    ],
)
def test_groups_with_an_order_or_shares_take_none(group: dict[str, Any], why: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, **group)
        answer = await client.get("/messages?queue=orders&group=workers&consumer=c&tags=a")
        assert (answer.status_code, answer.json()["code"]) == (409, "WRONG_GROUP_MODE")
        assert answer.json()["field"] == "filter"
        assert why in answer.json()["detail"]

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize(
    ("query", "code", "position"),
    [("filter=tag", "INVALID_FILTER", 3), ("filter=", "INVALID_FIELD", None), ("tags=a,,b", "INVALID_FIELD", None)],
)
def test_a_wrong_filter_is_refused_and_no_group_is_made(query: str, code: str, position: int | None) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        answer = await client.get(f"/messages?queue=orders&group=new&{query}")
        assert (answer.status_code, answer.json()["code"]) == (400, code)
        assert answer.json().get("position") == position
        assert (await client.get("/groups/new")).status_code == 404

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("query", ["", "filter=key%20%3D%20%22k%22&"])
@pytest.mark.parametrize("tags", [[f"t{number}" for number in range(300)], [f"{number:060}" for number in range(80)]])
def test_too_many_tags_are_said_to_be_that(query: str, tags: list[str]) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        answer = await client.get(f"/messages?queue=orders&group=new&{query}tags={','.join(tags)}")
        assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "INVALID_FIELD", "tags")
        assert "position" not in answer.json()

    ClusterBuilder().nodes(1).gateway().run(main)


def figures(cluster: Cluster) -> dict[str, float]:
    """What filters have passed over, by the metric's last words."""
    [node] = cluster.nodes.values()
    found = NodeCollector(node.node, node.metadata, names_max=9).collect()
    prefix = "acklog_filter_"
    return {each.name.removeprefix(prefix): each.samples[0].value for each in found if each.name.startswith(prefix)}


def test_what_filters_pass_over_is_counted() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, settings={"filter": 'tag = "b"'})
        assert set(figures(cluster).values()) == {0}
        await send(client, "a", "a", "a", "a")  # the batch's tag bits say enough
        await send(client, "a", "b", "a", "a")
        assert await offsets(client) == [5]
        [log] = [each.host.log for each in cluster.nodes[1].node.partitions_led() if each.host.topic.name == "orders"]
        counted = figures(cluster)
        assert (counted["passed_over_messages"], counted["skipped_batches"]) == (7, 1)
        assert 0 < counted["passed_over_bytes"] < log.size_bytes
        answer = await client.get("/topics/orders/partitions/0/records?tags=b")
        assert [each["offset"] for each in answer.json()["records"]] == [5]
        counted = figures(cluster)  # a batch that holds a match is sent to the gateway whole
        assert (counted["passed_over_messages"], counted["skipped_batches"]) == (11, 2)
        await client.get("/topics/orders/partitions/0/records?filter=key=%27a%27")
        assert figures(cluster)["passed_over_messages"] == 19

    ClusterBuilder().nodes(1).gateway().run(main)
