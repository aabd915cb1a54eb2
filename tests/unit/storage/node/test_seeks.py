"""Sending groups elsewhere, over HTTP: relative, to a message, and to where another group is."""

from collections.abc import Callable, Coroutine
from typing import Any

import httpx2
import pytest

from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
SENT = 10
Main = Callable[[Cluster, httpx2.AsyncClient], Coroutine[Any, Any, None]]


def run(main: Main, *, nodes: int = 1) -> None:
    async def whole(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            for topic in ("orders", "mail"):
                await cluster.topic(topic, replicas=nodes, partitions=2)
            for group in ("blue", "green"):
                await cluster.group(group)
            for number in range(SENT):
                body = {"queue": "orders", "body": number, "partition": number % 2}
                assert (await client.post("/messages", json=body)).status_code == 201
            await main(cluster, client)

    ClusterBuilder().nodes(nodes).gateway().run(whole)


async def seek(client: httpx2.AsyncClient, to: object, group: str = "blue", **fields: Any) -> httpx2.Response:
    return await client.put(f"/groups/{group}/offsets", json={"topic": "orders", "to": to, **fields})


async def progress(client: httpx2.AsyncClient, group: str = "blue") -> dict[int, int]:
    found = (await client.get(f"/groups/{group}/offsets?topic=orders")).json()["offsets"]
    return {each["partition"]: each["progress"] for each in found}


@pytest.mark.parametrize("nodes", NODES)
def test_relative_to_where_the_group_is(nodes: int) -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        await seek(client, {"offset": 3}, partition=0)
        await seek(client, "latest", partition=1)
        planned = (await seek(client, {"relative": -2}, dryRun=True)).json()["partitions"]
        assert [(each["offset"], each["previous"]) for each in planned] == [(1, 3), (3, 5)]
        assert await progress(client) == {0: 3, 1: 5}
        await seek(client, {"relative": -2})
        assert await progress(client) == {0: 1, 1: 3}
        await seek(client, {"relative": 3})
        assert await progress(client) == {0: 4, 1: 5}, "the end of the log is the end"
        await seek(client, {"relative": -100})
        assert await progress(client) == {0: 0, 1: 0}

    run(main, nodes=nodes)


@pytest.mark.parametrize("nodes", NODES)
def test_to_a_message(nodes: int) -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await seek(client, "latest")
        page = (await client.get("/topics/orders/partitions/1/records?offset=0")).json()["records"]
        message_id = page[2]["messageId"]
        to = {"messageId": message_id}
        assert (await seek(client, to, dryRun=True)).json()["partitions"] == [
            {"partition": 1, "offset": 2, "previous": 5}
        ]
        assert await progress(client) == {0: 5, 1: 5}
        assert (await seek(client, to)).status_code == 200
        [message] = (await client.get("/messages?queue=orders&group=blue&max=1")).json()["messages"]
        assert message["messageId"] == message_id
        before = await progress(client)
        refusals = [
            (await seek(client, to, partition=0), "INVALID_FIELD", "partition"),
            (await seek(client, {"messageId": "nonsense"}), "INVALID_MESSAGE_ID", "to.messageId"),
            (await seek(client, {"messageId": message_id[:-1] + "9"}), "MESSAGE_NOT_FOUND", "messageId"),
            (await seek(client, {"messageId": message_id, "offset": 1}), "INVALID_FIELD", "to"),
            (await seek(client, to, topic="mail"), "INVALID_FIELD", "to.messageId"),
        ]
        for answer, code, field in refusals:
            assert (answer.json()["code"], answer.json()["field"]) == (code, field)
        assert await progress(client) == before

    run(main, nodes=nodes)


@pytest.mark.parametrize("nodes", NODES)
def test_to_where_another_group_is(nodes: int) -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        await seek(client, {"offset": 2}, partition=0)
        await seek(client, {"offset": 4}, partition=1)
        [leased] = (await client.get("/messages?queue=orders&group=blue&max=1")).json()["messages"]
        behind = (await client.get("/messages?queue=orders&group=blue&max=1")).json()["messages"][0]
        above = behind if behind["partition"] == leased["partition"] else leased
        await client.post("/ack", json={"receipt": above["receipt"]})
        await seek(client, "earliest", group="green")
        copy = {"from": "blue"}
        planned = (await client.post("/groups/green/offsets/copy", json={**copy, "dryRun": True})).json()
        assert (planned["dryRun"], planned["failed"]) == (True, 0)
        assert [(each["topic"], each["previous"]) for each in planned["offsets"]] == [("orders", 0), ("orders", 0)]
        assert await progress(client, "green") == {0: 0, 1: 0}
        copied = await client.post("/groups/green/offsets/copy", json=copy)
        assert copied.status_code == 200, copied.text
        assert await progress(client, "green") == await progress(client)
        assert {each["partition"]: each["offset"] for each in copied.json()["offsets"]} == await progress(client)

    run(main, nodes=nodes)


def test_a_copy_that_cannot_be_made_changes_nothing() -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        await seek(client, "latest")
        refusals: list[tuple[str, dict[str, Any], str]] = [
            ("green", {"from": "green"}, "INVALID_FIELD"),
            ("green", {"from": "nobody"}, "GROUP_NOT_FOUND"),
            ("nobody", {"from": "blue"}, "GROUP_NOT_FOUND"),
            ("green", {"from": "blue", "topics": ["ordres"]}, "TOPIC_NOT_FOUND"),
            ("green", {"from": "blue", "topics": []}, "INVALID_FIELD"),
            ("green", {"topics": ["orders"]}, "MISSING_FIELD"),
        ]
        for group, body, code in refusals:
            answer = await client.post(f"/groups/{group}/offsets/copy", json=body)
            assert (answer.status_code // 100, answer.json()["code"]) == (4, code)
            assert code != "TOPIC_NOT_FOUND" or answer.json()["field"] == "topics"
        assert await progress(client, "green") == {}
        untouched = await client.post("/groups/green/offsets/copy", json={"from": "blue", "topics": ["mail"]})
        assert (untouched.status_code, untouched.json()["offsets"]) == (200, []), "it has read nothing there"

    run(main)


async def lagging(client: httpx2.AsyncClient, group: str) -> httpx2.Response:
    """A group that begins at the end, and has begun nowhere yet."""
    return await client.put(f"/groups/{group}", json={"settings": {"startPosition": "latest"}})


@pytest.mark.parametrize("to", ["earliest", "latest", {"relative": -2}, {"relative": 0}])
def test_a_dry_run_begins_nothing(to: object) -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        await lagging(client, "new")
        planned = (await seek(client, to, group="new", dryRun=True)).json()["partitions"]
        assert [each["previous"] for each in planned] == [5, 5], "where it would begin"
        expected = [5 + to["relative"]] * 2 if isinstance(to, dict) else [0, 0] if to == "earliest" else [5, 5]
        assert [each["offset"] for each in planned] == expected
        assert (await client.get("/groups/new/offsets")).json()["offsets"] == []
        await client.post("/messages", json={"queue": "orders", "body": "between", "partition": 0})
        assert (await client.get("/messages?queue=orders&group=new&max=10")).json()["messages"] == []
        assert await progress(client, "new") == {0: 6, 1: 5}, "its first receive decides where it begins"

    run(main)


def test_a_dry_run_of_a_copy_begins_nothing() -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        await seek(client, {"offset": 3}, partition=0)
        await lagging(client, "new")
        planned = await client.post("/groups/new/offsets/copy", json={"from": "blue", "dryRun": True})
        [item] = planned.json()["offsets"]
        assert (item["offset"], item["previous"]) == (3, 5)
        assert (await client.get("/groups/new/offsets")).json()["offsets"] == []

    run(main)
