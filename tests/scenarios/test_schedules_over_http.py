"""Messages that are to be seen later, as a client of a cluster has them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from tests.support.cluster import Cluster, ClusterBuilder, client_of

YEAR_S = 365 * 24 * 60 * 60


def with_client(test: Callable[[Cluster, httpx2.AsyncClient], Awaitable[None]]) -> None:
    async def main(cluster: Cluster) -> None:
        [gateway] = cluster.gateways
        async with client_of(gateway) as client:
            assert (await client.put("/topics/orders", json={"partitions": 2})).status_code == 201
            await test(cluster, client)

    ClusterBuilder().nodes(3).gateway().run(main)


async def send(client: httpx2.AsyncClient, **message: Any) -> dict[str, Any]:
    answer = await client.post("/messages", json={"queue": "orders", "body": 1, **message})
    assert answer.status_code == 201, answer.text
    sent: dict[str, Any] = answer.json()
    return sent


async def received(client: httpx2.AsyncClient) -> list[Any]:
    answer = await client.get("/messages?queue=orders&group=workers&max=100&autoAck=true")
    return [message["body"] for message in answer.json()["messages"]]


def test_a_delay_of_seconds_and_a_time() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        sent = await send(client, delaySeconds=2.5)
        assert (sent["messageId"], sent["offset"]) == (None, None)
        at = datetime.fromtimestamp((sent["deliverAt"] + 2_000) / 1000, UTC).isoformat(timespec="milliseconds")
        other = await send(client, body=2, deliverAt=at, key="a")
        assert other["deliverAt"] == sent["deliverAt"] + 2_000
        await asyncio.sleep(1.5)
        assert await received(client) == []
        await asyncio.sleep(1.2)
        assert await received(client) == [1]
        await asyncio.sleep(2)
        assert await received(client) == [2]
        looked = (await client.get(f"/topics/orders/scheduled/{sent['scheduleId']}")).json()
        assert looked["state"] == "delivered"
        assert (await client.get(f"/messages/{looked['messageId']}")).json()["body"] == 1

    with_client(test)


def test_what_is_past_is_a_message_like_any_other() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        for when in ({"deliverAt": 1}, {"deliverAt": "2001-01-01T00:00:00Z"}, {"delaySeconds": 0}):
            assert (await send(client, **when))["messageId"] is not None

    with_client(test)


def test_a_batch_lines_and_raw_bytes() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        messages = [
            {"body": 1, "key": "a"},
            {"body": 2, "key": "a", "delaySeconds": 60},
            {"body": 3, "delaySeconds": -1},
        ]
        answer = await client.post("/messages", json={"queue": "orders", "messages": messages})
        assert answer.status_code == 207
        now, later, wrong = answer.json()["results"]
        assert now["offset"] == 0
        assert later["scheduleId"].startswith("s-")
        assert (wrong["code"], wrong["field"]) == ("INVALID_FIELD", "messages[2].delaySeconds")
        lines = b'{"body": 4, "delaySeconds": 60}\n{"body": 5}\n'
        headers = {"Content-Type": "application/x-ndjson"}
        answer = await client.post("/messages?queue=orders", content=lines, headers=headers)
        assert [each["messageId"] is None for each in answer.json()["results"]] == [True, False]
        raw = {"Content-Type": "text/plain"}
        answer = await client.post("/messages?queue=orders&delaySeconds=60", content=b"bytes", headers=raw)
        assert answer.json()["messageId"] is None
        listing = (await client.get("/topics/orders/scheduled")).json()
        assert listing["pending"] == 3
        assert sorted(each["size"] for each in listing["scheduled"]) == [1, 1, 5]

    with_client(test)


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"delaySeconds": -1}, "delaySeconds"),
        ({"delaySeconds": YEAR_S + 1}, "delaySeconds"),
        ({"delaySeconds": "soon"}, "delaySeconds"),
        ({"deliverAt": "tomorrow"}, "deliverAt"),
        ({"deliverAt": "2027-01-01T00:00:00"}, "deliverAt"),
        ({"deliverAt": "2027-13-01T00:00:00Z"}, "deliverAt"),
        ({"deliverAt": -1}, "deliverAt"),
        ({"deliverAt": 4_000_000_000_000}, "deliverAt"),
        ({"deliverAt": 1, "delaySeconds": 1}, "deliverAt"),
    ],
)
def test_wrong_times_are_refused_and_change_nothing(message: dict[str, Any], field: str) -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        answer = await client.post("/messages", json={"queue": "orders", "body": 1, **message})
        assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "INVALID_FIELD", field)
        assert (await client.get("/topics/orders/scheduled")).json() == {"scheduled": [], "pending": 0}

    with_client(test)


def test_they_are_listed_page_by_page_in_the_order_of_time() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        messages = [{"body": n, "key": f"k{n}", "delaySeconds": 100 - n // 2} for n in range(20)]
        await client.post("/messages", json={"queue": "orders", "messages": messages})
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = (await client.get(f"/topics/orders/scheduled?limit=3{cursor}")).json()
            assert len(page["scheduled"]) <= 3
            found += page["scheduled"]
            if "next" not in page:
                break
            cursor = f"&cursor={page['next']}"
        assert sorted(each["key"] for each in found) == sorted(f"k{n}" for n in range(20))
        times = [each["deliverAt"] for each in found]
        assert times == sorted(times)
        some = (await client.get(f"/topics/orders/scheduled?from={times[4]}&to={times[10]}")).json()["scheduled"]
        assert [each["deliverAt"] for each in some] == [time for time in times if times[4] <= time < times[10]]

    with_client(test)


def test_they_are_cancelled_and_moved() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        first, second = [
            f"/topics/orders/scheduled/{(await send(client, delaySeconds=60))['scheduleId']}" for _ in "12"
        ]
        for _ in range(2):
            answer = await client.delete(first)
            assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
        assert (await client.patch(second, json={"delaySeconds": 1})).json()["state"] == "scheduled"
        await asyncio.sleep(2)
        assert await received(client) == [1]
        answer = await client.delete(second)
        assert (answer.status_code, answer.json()["code"]) == (409, "SCHEDULE_OVER")
        assert (await client.get(f"/messages/{answer.json()['messageId']}")).status_code == 200
        assert (await client.patch(first, json={"delaySeconds": 1})).status_code == 409
        for body in ({}, {"delaySeconds": -1}, {"deliverAt": "x"}, {"deliverAt": 1, "delaySeconds": 2}):
            assert (await client.patch(second, json=body)).status_code == 400
        assert (await client.get("/topics/orders/scheduled/nonsense")).json()["code"] == "INVALID_MESSAGE_ID"
        unknown = second.rsplit("-", 1)[0] + "-99"
        assert (await client.get(unknown)).json()["code"] == "MESSAGE_NOT_FOUND"

    with_client(test)


def test_a_retry_gets_the_same_id() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        first = await send(client, delaySeconds=2, dedupId="a", key="k")
        again = await send(client, delaySeconds=2, dedupId="a", key="k")
        assert (again["scheduleId"], again["deliverAt"]) == (first["scheduleId"], None)
        answer = await client.post(
            "/messages", json={"queue": "orders", "body": 1, "dedupId": "a", "key": "k", "delaySeconds": 3}
        )
        assert (answer.status_code, answer.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
        request = {"queue": "orders", "messages": [{"body": 5, "key": "k"}, {"body": 6, "key": "k", "delaySeconds": 2}]}
        answers = [
            (await client.post("/messages", json=request, headers={"Idempotency-Key": "request"})).json()["results"]
            for _ in range(2)
        ]
        assert [each["messageId"] for each in answers[0]] == [each["messageId"] for each in answers[1]]
        assert answers[0][1]["scheduleId"] == answers[1][1]["scheduleId"]
        await asyncio.sleep(3)
        assert sorted(await received(client)) == [1, 5, 6]

    with_client(test)


def test_a_cluster_with_a_node_of_an_earlier_version_refuses_them() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        [gateway] = cluster.gateways
        gateway.metadata.steering.membership.earlier_than = lambda _protocol: gateway.metadata.nodes()[:1]
        answer = await client.post("/messages", json={"queue": "orders", "body": 1, "delaySeconds": 5})
        assert (answer.status_code, answer.json()["code"]) == (409, "NODES_TOO_OLD")
        assert (await client.post("/messages", json={"queue": "orders", "body": 1})).status_code == 201

    with_client(test)


def test_a_time_to_live_is_shown_and_begins_when_the_message_comes() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        sent = await send(client, delaySeconds=2, ttlSeconds=60.5)
        path = f"/topics/orders/scheduled/{sent['scheduleId']}"
        assert (await client.get(path)).json()["ttlSeconds"] == 60.5
        [listed] = (await client.get("/topics/orders/scheduled")).json()["scheduled"]
        assert listed["ttlSeconds"] == 60.5
        assert "ttlSeconds" not in (await client.get(f"/topics/orders/scheduled/{await _plain(client)}")).json()
        await asyncio.sleep(3)
        message = (await client.get(f"/messages/{(await client.get(path)).json()['messageId']}")).json()
        assert message["appendTime"] >= sent["deliverAt"]
        assert message["expiresAt"] == message["appendTime"] + 60_500

    with_client(test)


async def _plain(client: httpx2.AsyncClient) -> str:
    return str((await send(client, delaySeconds=60))["scheduleId"])
