"""Who waits for messages of a topic, or is a member for them, when it is deleted. Whole nodes on virtual time."""

import asyncio
from typing import Any

import httpx2
import pytest

from cluster.model.internal_topics import GROUPS_TOPIC
from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
MEMBER = "/groups/workers/members/c1"
TOLD_WITHIN_MS = 1_500
"""A node that does not know a topic waits for a second: it may have been made just now."""


async def made(cluster: Cluster, mode: str = "exclusive", *, others: tuple[str, ...] = ()) -> httpx2.AsyncClient:
    """A client, the topic `orders` and others, and a group that has read them."""
    client = client_of(cluster.gateways[0])
    for name in ("orders", *others):
        await cluster.in_sync(await cluster.topic(name, replicas=len(cluster.nodes), partitions=2))
    assert (await client.put("/groups/workers", json={"mode": mode})).status_code == 201
    await send(client, "orders", 0)
    answer = await receive(client, waitSeconds=5)
    [message] = answer.json()["messages"]
    await client.post("/ack", json={"receipt": message["receipt"]})
    return client


async def send(client: httpx2.AsyncClient, topic: str, body: int) -> None:
    sent = await client.post("/messages", json={"queue": topic, "body": body, "key": "k"})
    assert sent.status_code == 201, sent.text


async def receive(client: httpx2.AsyncClient, **query: Any) -> httpx2.Response:
    return await client.get("/messages", params={"queue": "orders", "group": "workers", "consumer": "c1", **query})


async def beat(client: httpx2.AsyncClient, epoch: int, **fields: Any) -> httpx2.Response:
    return await client.post(f"{MEMBER}/heartbeat", json={"memberEpoch": epoch, **fields})


async def join(client: httpx2.AsyncClient, **subscription: list[str]) -> Any:
    answer = await client.put(MEMBER, json=subscription)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def delete(client: httpx2.AsyncClient, topic: str, *, is_made_again: bool) -> None:
    assert (await client.delete(f"/topics/{topic}")).status_code == 204
    if is_made_again:
        assert (await client.put(f"/topics/{topic}", json={"partitions": 2})).status_code == 201


def told(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", answer.text)


GONE = (404, "TOPIC_NOT_FOUND")


@pytest.mark.parametrize("is_made_again", [False, True])
@pytest.mark.parametrize("mode", ["shared", "keyOrdered", "exclusive"])
@pytest.mark.parametrize("nodes", NODES)
def test_a_receive_that_waits_ends_and_the_next_one_gets_what_the_new_topic_has(
    nodes: int, mode: str, is_made_again: bool
) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, mode)
        waiting = asyncio.create_task(receive(client, waitSeconds=20))
        await cluster.clock.sleep(1_000)
        await delete(client, "orders", is_made_again=is_made_again)
        await cluster.clock.sleep(TOLD_WITHIN_MS)
        assert waiting.done(), "it does not wait to the end of its time"
        assert told(await waiting) == GONE
        if is_made_again:
            await send(client, "orders", 1)
            again = await receive(client, waitSeconds=5)
            assert [message["body"] for message in again.json()["messages"]] == [1]
        else:
            assert told(await receive(client)) == GONE

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("is_made_again", [False, True])
@pytest.mark.parametrize("nodes", NODES)
def test_a_member_is_told_by_all_that_it_calls_until_it_joins_again(nodes: int, is_made_again: bool) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, others=("mails",))
        epoch = (await join(client, topics=["orders", "mails"]))["memberEpoch"]
        heartbeat = asyncio.create_task(beat(client, epoch, waitSeconds=20))
        waiting = asyncio.create_task(receive(client, queue="mails", memberEpoch=epoch, waitSeconds=20))
        await cluster.clock.sleep(1_000)
        await delete(client, "orders", is_made_again=is_made_again)
        await cluster.clock.sleep(TOLD_WITHIN_MS)
        assert heartbeat.done()
        assert waiting.done()
        assert [told(await heartbeat), told(await waiting)] == [GONE, GONE]
        for answer in (await beat(client, epoch), await receive(client, queue="mails", memberEpoch=epoch)):
            assert told(answer) == GONE
        names = ["orders", "mails"] if is_made_again else ["mails"]
        joined = await join(client, topics=names)
        assert {each["topic"] for each in joined["assignment"]} == set(names)
        assert (await beat(client, joined["memberEpoch"])).status_code == 200
        await send(client, "mails", 1)
        found = await receive(client, queue="mails", memberEpoch=joined["memberEpoch"], waitSeconds=5)
        assert [message["body"] for message in found.json()["messages"]] == [1]

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_who_subscribes_by_a_pattern_reads_the_topic_of_the_same_name(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        epoch = (await join(client, patterns=["ord*"]))["memberEpoch"]
        await delete(client, "orders", is_made_again=True)
        heard = await beat(client, epoch, waitSeconds=5)
        while not heard.json()["assignment"]:
            heard = await beat(client, heard.json()["memberEpoch"], waitSeconds=5)
            assert heard.status_code == 200
        await send(client, "orders", 1)
        found = await receive(client, memberEpoch=heard.json()["memberEpoch"], waitSeconds=5)
        assert [message["body"] for message in found.json()["messages"]] == [1]

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_that_the_topic_of_the_members_themselves_is_deleted_is_no_news_of_what_they_read() -> None:
    """`acklog topics delete __groups` is what to do where it is damaged: members join again."""

    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        epoch = (await join(client, topics=["orders"]))["memberEpoch"]
        heartbeat = asyncio.create_task(beat(client, epoch, waitSeconds=20))
        waiting = asyncio.create_task(receive(client, waitSeconds=20))
        await cluster.clock.sleep(1_000)
        assert (await client.delete(f"/topics/{GROUPS_TOPIC}")).status_code == 204
        await cluster.clock.sleep(5_000)
        await send(client, "orders", 1)
        assert told(await heartbeat) in {(404, "MEMBER_UNKNOWN"), (503, "UNAVAILABLE")}
        assert (await waiting).status_code == 200

    ClusterBuilder().nodes(3).gateway().run(main)
