"""Delayed messages over changes of a topic's partitions, as a client of a cluster has them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2

from cluster.model.mapping_starts import is_in_force
from cluster.model.values import Topic
from storage.node.schedule.adoption_host import AdoptionHost
from tests.support.cluster import Cluster, ClusterBuilder, client_of

PARTITIONS = 4
KEYS = [f"k{n}" for n in range(8)]


def with_client(test: Callable[[Cluster, httpx2.AsyncClient], Awaitable[None]]) -> None:
    async def main(cluster: Cluster) -> None:
        [gateway] = cluster.gateways
        async with client_of(gateway) as client:
            assert (await client.put("/topics/orders", json={"partitions": 1})).status_code == 201
            await test(cluster, client)

    ClusterBuilder().nodes(3).gateway().run(main)


async def send(client: httpx2.AsyncClient, key: str, body: str, **more: Any) -> dict[str, Any]:
    answer = await client.post("/messages", json={"queue": "orders", "key": key, "body": body, **more})
    assert answer.status_code == 201, answer.text
    sent: dict[str, Any] = answer.json()
    return sent


async def grow(cluster: Cluster, client: httpx2.AsyncClient) -> Topic:
    assert (await client.patch("/topics/orders", json={"partitions": PARTITIONS})).status_code == 200
    return await in_force(cluster)


async def in_force(cluster: Cluster) -> Topic:
    """The topic, once all nodes go by its present partitions."""

    def seen() -> bool:
        views = [node.metadata for node in (*cluster.nodes.values(), *cluster.gateways)]
        topics = [view.topic("orders") for view in views]
        newest = max(topic.mapping for topic in topics if topic is not None)
        return newest > 0 and all(
            topic is not None and topic.mapping == newest and is_in_force(newest, view.partitions(topic.id))
            for topic, view in zip(topics, views, strict=True)
        )

    await cluster.until(seen)
    topic = cluster.gateways[0].metadata.topic("orders")
    assert topic is not None
    return topic


async def logs(client: httpx2.AsyncClient, partitions: int = PARTITIONS) -> list[list[dict[str, Any]]]:
    found = []
    for number in range(partitions):
        answer = await client.get(f"/topics/orders/partitions/{number}/records?offset=0")
        found.append(answer.json()["records"])
    return found


async def until_delivered(client: httpx2.AsyncClient, sent: dict[str, Any]) -> dict[str, Any]:
    for _ in range(400):
        answer = await client.get(f"/topics/orders/scheduled/{sent['scheduleId']}")
        if answer.status_code == 200 and answer.json()["state"] == "delivered" and answer.json().get("messageId"):
            looked: dict[str, Any] = answer.json()
            return looked
        await asyncio.sleep(0.1)
    raise AssertionError(answer.text)


async def check_all(client: httpx2.AsyncClient, sent: dict[str, dict[str, Any]]) -> None:
    """Each is there once, by its name, in the partition of what its key was sent since, and behind that."""
    looked = {key: await until_delivered(client, each) for key, each in sent.items()}
    found = await logs(client)
    for key in sent:
        mine = [(number, each["body"]) for number, log in enumerate(found) for each in log if each["key"] == key]
        [(partition, first), (also, second)] = mine
        assert (first, second) == ("new", "late"), key
        assert partition == also
        assert looked[key]["partition"] == partition
        assert looked[key]["scheduleId"] == sent[key]["scheduleId"]
        message = (await client.get(f"/messages/{looked[key]['messageId']}")).json()
        assert (message["body"], message["key"]) == ("late", key)


def test_they_go_where_their_keys_belong_by_then() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        sent = {key: await send(client, key, "late", delaySeconds=4) for key in KEYS}
        bound = await send(client, KEYS[1], "bound", delaySeconds=4, partition=0)
        await grow(cluster, client)
        for key in KEYS:
            await send(client, key, "new")
        listing = (await client.get("/topics/orders/scheduled")).json()
        assert {each["scheduleId"] for each in listing["scheduled"]} == {
            each["scheduleId"] for each in [*sent.values(), bound]
        }
        assert (await until_delivered(client, bound))["partition"] == 0
        log = (await logs(client))[0]
        [offset] = [each["offset"] for each in log if each["body"] == "bound"]
        assert (await client.request("DELETE", f"/topics/orders/scheduled/{bound['scheduleId']}")).status_code == 409
        found = await logs(client)
        assert [each["offset"] for each in found[0] if each["body"] == "bound"] == [offset]
        assert len({number for number, log in enumerate(found) if log}) > 1

    with_client(test)


def test_a_retry_finds_what_the_first_try_scheduled_wherever_it_went() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        sent = {key: await send(client, key, "late", delaySeconds=2, dedupId=f"d-{key}") for key in KEYS}
        await grow(cluster, client)
        for pause_s in (0, 4):
            await asyncio.sleep(pause_s)
            for key in KEYS:
                again = await send(client, key, "late", delaySeconds=2, dedupId=f"d-{key}")
                assert again["scheduleId"] == sent[key]["scheduleId"]
        assert sorted(each["key"] for log in await logs(client) for each in log) == KEYS

    with_client(test)


def test_the_leaders_of_both_sides_may_fail() -> None:
    """One after the other, while messages are on their way: the new leaders go on, and none is there twice."""

    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        sent = {key: await send(client, key, "late", delaySeconds=6) for key in KEYS}
        topic = await grow(cluster, client)
        for key in KEYS:
            await send(client, key, "new")
        moved = asyncio.Event()
        adopt = AdoptionHost.adopt

        async def told(self: AdoptionHost, request: Any) -> Any:
            answer = await adopt(self, request)
            moved.set()
            await asyncio.sleep(30)  # the answer is long in coming
            return answer

        AdoptionHost.adopt = told  # type: ignore[method-assign]
        try:
            async with asyncio.timeout(60):
                await moved.wait()
        finally:
            AdoptionHost.adopt = adopt  # type: ignore[method-assign]
        for number in (0, 1):
            leader = cluster.state(topic, number).leader
            await cluster.stop(leader)
            await cluster.until(lambda n=number, before=leader: cluster.state(topic, n).leader not in {before, -1})
            await cluster.start(leader)
            await cluster.in_sync(topic)
        await check_all(client, sent)

    with_client(test)


def test_they_come_once_and_behind_what_was_sent_since() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        sent = {key: await send(client, key, "late", delaySeconds=4) for key in KEYS}
        await grow(cluster, client)
        for key in KEYS:
            await send(client, key, "new")
        await check_all(client, sent)

    with_client(test)


def test_a_partition_that_goes_leaves_nothing_behind() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await grow(cluster, client)
        sent = {key: await send(client, key, "late", delaySeconds=4) for key in KEYS}
        assert {each["partition"] for each in sent.values()} > {1}
        answer = await client.put("/topics/orders/decommissioned", json={"partitions": [1]})
        assert answer.status_code == 200, answer.text
        await in_force(cluster)
        await asyncio.sleep(8)
        records = [each for log in await logs_of(client, (0, 2, 3)) for each in log]
        assert sorted(each["key"] for each in records) == KEYS

    with_client(test)


async def logs_of(client: httpx2.AsyncClient, numbers: tuple[int, ...]) -> list[list[dict[str, Any]]]:
    answers = [await client.get(f"/topics/orders/partitions/{n}/records?offset=0") for n in numbers]
    return [answer.json()["records"] for answer in answers]


def test_groups_get_a_key_in_order_one_at_a_time() -> None:
    """Key-ordered and exclusive: `late` waits for whoever has `new`."""

    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        sent = {key: await send(client, key, "late", delaySeconds=6) for key in KEYS}
        await grow(cluster, client)
        for key in KEYS:
            await send(client, key, "new")
        for mode in ("keyOrdered", "exclusive"):
            seen: dict[str, list[str]] = {key: [] for key in KEYS}
            out: dict[str, list[str]] = {}
            path = f"/messages?queue=orders&group={mode}&mode={mode}&max=100&consumer=c&visibilitySeconds=600"
            for _ in range(400):
                if all(len(each) == 2 for each in seen.values()):
                    break
                answer = (await client.get(path)).json()
                for message in answer["messages"]:
                    seen[message["key"]].append(message["body"])
                    if mode == "keyOrdered":
                        assert message["key"] not in out or out[message["key"]] == []
                    out.setdefault(message["key"], []).append(message["receipt"])
                if not answer["messages"] or mode == "exclusive":
                    for receipts in out.values():
                        for receipt in receipts:
                            assert (await client.post("/ack", json={"receipt": receipt})).status_code == 200
                        receipts.clear()
                    await asyncio.sleep(0.2)
            assert seen == {key: ["new", "late"] for key in KEYS}
        assert len(sent) == len(KEYS)

    with_client(test)
