"""Topics that say how much later their messages are seen, as clients of a cluster's gateway have them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import msgspec
import pytest

from acklog.wire.limits import DELAY_SECONDS_MAX
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.needed_protocol import PROTOCOL_OF_TOPIC_DELAYS
from cluster.model.values import NodeRegistration
from cluster.ports.coordination import Put
from tests.support.cluster import Cluster, ClusterBuilder, client_of

DELAY_MS = 5_000
NDJSON = {"Content-Type": "application/x-ndjson"}
RAW = {"Content-Type": "text/plain"}


def with_client(test: Callable[[Cluster, httpx2.AsyncClient], Awaitable[None]], nodes: int = 3) -> None:
    async def main(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            answer = await client.put("/topics/orders", json={"partitions": 2, "config": {"delayMs": DELAY_MS}})
            assert (answer.status_code, answer.json()["config"]["delayMs"]) == (201, DELAY_MS)
            await test(cluster, client)

    ClusterBuilder().nodes(nodes).gateway().run(main)


async def post(client: httpx2.AsyncClient, document: dict[str, Any], key: str | None = None) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    answer = await client.post("/messages", json={"queue": "orders", **document}, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def received(client: httpx2.AsyncClient) -> list[Any]:
    answer = await client.get("/messages?queue=orders&group=workers&max=100&autoAck=true")
    return sorted(message["body"] for message in answer.json()["messages"])


async def set_delay(client: httpx2.AsyncClient, delay_ms: int | None) -> None:
    answer = await client.patch("/topics/orders", json={"config": {"delayMs": delay_ms}})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("nodes", [1, 3])
def test_what_does_not_say_when_waits_in_every_form_of_a_send(nodes: int) -> None:
    async def test(_cluster: Cluster, client: httpx2.AsyncClient) -> None:
        sent = [
            await post(client, {"body": 1}),
            await post(client, {"body": 2, "key": "a"}),
            await post(client, {"body": 3, "dedupId": "d"}),
            await post(client, {"body": 4}, key="k"),
            await post(client, {"body": 5, "headers": {"a": "b"}, "partition": 1, "ttlSeconds": 60}),
            *(await post(client, {"messages": [{"body": 6}, {"body": 7, "key": "a"}]}))["results"],
            *(await post(client, {"messages": [{"body": 8}, {"body": 9, "dedupId": "e"}]}, key="l"))["results"],
        ]
        answer = await client.post("/messages?queue=orders", content=b'{"body": 10}\n{"body": 11}\n', headers=NDJSON)
        sent += answer.json()["results"]
        sent.append((await client.post("/messages?queue=orders", content=b"raw", headers=RAW)).json())
        assert [each["messageId"] for each in sent] == [None] * 12
        assert await received(client) == []
        assert (await client.get("/topics/orders/scheduled")).json()["pending"] == 12
        await asyncio.sleep(DELAY_MS / 1000 - 1)
        assert await received(client) == []
        await asyncio.sleep(2)
        messages = (await client.get("/messages?queue=orders&group=others&max=100")).json()["messages"]
        assert sorted(each.get("body", 12) for each in messages) == list(range(1, 13))
        [lives] = [each for each in messages if each.get("body") == 5]
        assert lives["expiresAt"] == lives["appendTime"] + 60_000

    with_client(test, nodes)


def test_what_says_when_goes_by_that() -> None:
    async def test(_cluster: Cluster, client: httpx2.AsyncClient) -> None:
        for at_once in ({"delaySeconds": 0}, {"deliverAt": 1}):
            assert (await post(client, {"body": 1, **at_once}))["messageId"] is not None
            assert (await post(client, {"messages": [{"body": 1, **at_once}]}))["results"][0]["messageId"] is not None
        assert (await post(client, {"body": 1, "delaySeconds": 0}, key="k"))["messageId"] is not None
        soon, later, ever = (
            await post(client, {"messages": [{"body": 2, "delaySeconds": 1}, {"body": 3}, {"body": 4, "key": "a"}]})
        )["results"]
        assert 3_000 < later["deliverAt"] - soon["deliverAt"] < 5_000
        assert later["deliverAt"] == ever["deliverAt"] or later["partition"] != ever["partition"]
        assert await received(client) == [1] * 5
        await asyncio.sleep(2)
        assert await received(client) == [2]

    with_client(test)


def test_a_retry_finds_what_the_first_try_stored_whatever_the_topic_said_then() -> None:
    async def test(_cluster: Cluster, client: httpx2.AsyncClient) -> None:
        sends: list[tuple[dict[str, Any], str | None]] = [
            ({"body": 1, "dedupId": "one"}, None),
            ({"body": 2, "headers": {"a": "b"}}, "two"),
            ({"messages": [{"body": 3, "key": "a"}, {"body": 4, "key": "b"}, {"body": 5, "dedupId": "five"}]}, "three"),
        ]
        for before_ms, after_ms in ((DELAY_MS, None), (0, DELAY_MS), (DELAY_MS, 2 * DELAY_MS)):
            await set_delay(client, before_ms)
            mark = f"-{before_ms}-{after_ms}"
            named = [(_renamed(document, mark), key and key + mark) for document, key in sends]
            first = [await post(client, document, key) for document, key in named]
            await set_delay(client, after_ms)
            again = [await post(client, document, key) for document, key in named]
            assert [_places(each) for each in first] == [_places(each) for each in again]
        await asyncio.sleep(2 * DELAY_MS / 1000)
        assert await received(client) == sorted([1, 2, 3, 4, 5] * 3)

    with_client(test)


def _renamed(document: dict[str, Any], mark: str) -> dict[str, Any]:
    if "messages" in document:
        return {"messages": [_renamed(each, mark) for each in document["messages"]]}
    return {**document, "dedupId": document["dedupId"] + mark} if "dedupId" in document else document


def _places(answer: Any) -> list[tuple[str | None, str | None]]:
    return [(each["messageId"], each.get("scheduleId")) for each in answer.get("results", [answer])]


def test_messages_that_go_at_once_and_those_that_wait_are_remembered_apart() -> None:
    async def test(_cluster: Cluster, client: httpx2.AsyncClient) -> None:
        messages = [
            {"body": 1, "key": "a", "delaySeconds": 0},
            {"body": 2, "key": "a"},
            {"body": 3, "key": "a", "delaySeconds": 1},
            {"body": 4, "key": "a"},
        ]
        first = (await post(client, {"messages": messages}, key="k"))["results"]
        again = (await post(client, {"messages": messages}, key="k"))["results"]
        assert [each["messageId"] is None for each in first] == [False, True, True, True]
        assert _places({"results": first}) == _places({"results": again})
        await asyncio.sleep(DELAY_MS / 1000 + 1)
        assert await received(client) == [1, 2, 3, 4]

    with_client(test)


def test_a_change_holds_for_what_is_sent_from_then_on() -> None:
    async def test(_cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await post(client, {"body": 1})
        await set_delay(client, None)
        assert (await client.get("/topics/orders")).json()["config"]["delayMs"] == 0
        assert (await post(client, {"body": 2}))["messageId"] is not None
        assert await received(client) == [2]
        await asyncio.sleep(DELAY_MS / 1000 + 1)
        assert await received(client) == [1]

    with_client(test)


def test_what_acklog_itself_sends_does_not_wait() -> None:
    async def test(_cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.put("/topics/plain", json={"partitions": 1})
        settings = {"maxAttempts": 1, "deadLetterTopic": "orders"}
        await client.put("/groups/workers", json={"settings": settings})
        await client.post("/messages", json={"queue": "plain", "body": "letter"})
        [message] = (await client.get("/messages?queue=plain&group=workers")).json()["messages"]
        await client.post("/nack", json={"receipt": message["receipt"], "delaySeconds": 0})
        await asyncio.sleep(1)
        found = (await client.get("/messages?queue=orders&group=letters")).json()["messages"]
        assert [each["body"] for each in found] == ["letter"]

    with_client(test)


@pytest.mark.parametrize("delay", [-1, 1.5, "5s", DELAY_SECONDS_MAX * 1000 + 1, True])
def test_a_delay_that_is_none_is_refused_and_changes_nothing(delay: object) -> None:
    async def test(_cluster: Cluster, client: httpx2.AsyncClient) -> None:
        made = await client.put("/topics/new", json={"config": {"delayMs": delay}})
        changed = await client.patch("/topics/orders", json={"config": {"delayMs": delay}})
        for answer in (made, changed):
            document = answer.json()
            assert (answer.status_code, document["code"], document["field"]) == (400, "INVALID_FIELD", "config.delayMs")
        assert (await client.get("/topics/new")).status_code == 404
        assert (await client.get("/topics/orders")).json()["config"]["delayMs"] == DELAY_MS

    with_client(test, nodes=1)


def test_a_year_is_possible() -> None:
    async def test(_cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await set_delay(client, DELAY_SECONDS_MAX * 1000)
        sent = await post(client, {"body": 1})
        looked = (await client.get(f"/topics/orders/scheduled/{sent['scheduleId']}")).json()
        assert (looked["state"], looked["deliverAt"]) == ("scheduled", sent["deliverAt"])

    with_client(test, nodes=1)


def test_it_waits_until_every_node_knows_of_it() -> None:
    async def main(cluster: Cluster) -> None:
        client = client_of(cluster.gateways[0])
        await client.put("/topics/orders", json={"partitions": 1})
        item = await cluster.store.get(keys.node(1))
        assert item is not None
        newest = PROTOCOL_OF_TOPIC_DELAYS - 1
        earlier = msgspec.structs.replace(decode(NodeRegistration, item.value), newest_protocol=newest)
        await cluster.store.transact([], [Put(item.key, encode(earlier), item.lease_id)])
        view = cluster.gateways[0].metadata
        await cluster.until(lambda: view.steering.membership.get(1).newest_protocol == newest)
        answers = [
            await client.put("/topics/new", json={"config": {"delayMs": 1}}),
            await client.patch("/topics/orders", json={"config": {"delayMs": 1}}),
        ]
        assert [(each.status_code, each.json()["code"]) for each in answers] == [(409, "NODES_TOO_OLD")] * 2
        assert (await client.patch("/topics/orders", json={"config": {"delayMs": 0}})).status_code == 200

    ClusterBuilder().nodes(1).gateway().run(main)
