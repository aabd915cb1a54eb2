"""Recurring schedules as a client of a cluster has them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from acklog.wire.limits import RECURRING_BODY_BYTES_MAX
from tests.support.cluster import Cluster, ClusterBuilder, client_of

PATH = "/topics/orders/schedules/tick"
EACH_SECOND = {
    "everySeconds": 1,
    "message": {"body": {"tick": 1}, "key": "k", "headers": {"a": "b"}, "tags": ["t"], "ttlSeconds": 60.5},
}


def with_client(test: Callable[[Cluster, httpx2.AsyncClient], Awaitable[None]]) -> None:
    async def main(cluster: Cluster) -> None:
        [gateway] = cluster.gateways
        async with client_of(gateway) as client:
            assert (await client.put("/topics/orders", json={"partitions": 2})).status_code == 201
            await cluster.until(lambda: len(gateway.metadata.nodes()) == 3)
            await test(cluster, client)

    ClusterBuilder().nodes(3).gateway().run(main)


async def received(client: httpx2.AsyncClient) -> list[dict[str, Any]]:
    answer = await client.get("/messages?queue=orders&group=workers&max=100&autoAck=true")
    messages: list[dict[str, Any]] = answer.json()["messages"]
    return messages


def test_it_is_made_and_sends_until_it_is_removed() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        made = await client.put(PATH, json=EACH_SECOND)
        assert made.status_code == 201, made.text
        view = made.json()
        assert (view["schedule"], view["everySeconds"], view["message"]) == ("tick", 1.0, EACH_SECOND["message"])
        assert view["nextAt"] == view["createdAt"] + 1_000
        await asyncio.sleep(3.3)
        got = await received(client)
        assert [each["body"] for each in got] == [{"tick": 1}] * 3
        assert {(each["key"], each["partition"], tuple(each["tags"])) for each in got} == {
            ("k", view["partition"], ("t",))
        }
        assert {each["expiresAt"] - each["appendTime"] for each in got} == {60_500}
        assert {name: got[0]["headers"][name] for name in ("a", "acklog-schedule")} == {
            "a": "b",
            "acklog-schedule": "tick",
        }
        assert got[0]["headers"]["acklog-schedule-time"].endswith("Z")
        assert (await client.delete(PATH)).status_code == 204
        assert (await client.delete(PATH)).status_code == 204
        assert (await client.delete(f"{PATH}%C2%B6")).json()["code"] == "INVALID_NAME"
        await asyncio.sleep(0.3)
        before = await received(client)
        await asyncio.sleep(3)
        assert (await received(client), len(before) < 2) == ([], True)
        answer = await client.get(PATH)
        assert (answer.status_code, answer.json()["code"]) == (404, "SCHEDULE_NOT_FOUND")

    with_client(test)


def test_to_make_it_again_is_to_make_it_once() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        assert (await client.put(PATH, json=EACH_SECOND)).status_code == 201
        for same in (EACH_SECOND, {"everySeconds": 1, "message": EACH_SECOND["message"], "paused": False}):
            assert (await client.put(PATH, json=same)).status_code == 200
        for other in (
            {"everySeconds": 2},
            {"message": {"body": 2}},
            {"missed": "all"},
            {"paused": True},
            {"endAt": 4_000_000_000_000},
        ):
            answer = await client.put(PATH, json={**EACH_SECOND, **other})
            assert (answer.status_code, answer.json()["code"]) == (409, "SCHEDULE_EXISTS"), other
            assert answer.json()["field"] == next(iter(other))
        assert (await client.get(PATH)).json()["everySeconds"] == 1

    with_client(test)


def test_it_is_changed_paused_and_let_go_on() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        assert (await client.put(PATH, json=EACH_SECOND)).status_code == 201
        paused = (await client.patch(PATH, json={"paused": True})).json()
        assert paused["paused"] is True
        assert "nextAt" not in paused
        await asyncio.sleep(3)
        assert await received(client) == []
        going = (await client.patch(PATH, json={"paused": None, "message": {"body": 2}})).json()
        assert "paused" not in going
        await asyncio.sleep(1.5)
        assert [each["body"] for each in await received(client)] == [2]
        changed = (await client.patch(PATH, json={"cron": "0 8 * * *", "timeZone": "Europe/Berlin"})).json()
        assert (changed["cron"], changed["timeZone"], "everySeconds" in changed) == (
            "0 8 * * *",
            "Europe/Berlin",
            False,
        )
        assert (await client.patch(PATH, json={"cron": None})).json()["code"] == "MISSING_FIELD"
        back = (await client.patch(PATH, json={"cron": None, "everySeconds": 600, "missed": "skip"})).json()
        assert (back["everySeconds"], back["missed"], back["graceSeconds"]) == (600, "skip", 60)
        other = await client.patch("/topics/orders/schedules/tock", json={"paused": True})
        assert (other.status_code, other.json()["code"], other.json()["near"]) == (404, "SCHEDULE_NOT_FOUND", ["tick"])

    with_client(test)


def test_they_are_listed_by_name() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        for number in range(5):
            assert (await client.put(f"/topics/orders/schedules/s{number}", json=EACH_SECOND)).status_code == 201
        page = (await client.get("/topics/orders/schedules?limit=3")).json()
        assert [each["schedule"] for each in page["schedules"]] == ["s0", "s1", "s2"]
        assert not any("message" in each for each in page["schedules"])
        page = (await client.get(f"/topics/orders/schedules?limit=3&after={page['next']}")).json()
        assert ([each["schedule"] for each in page["schedules"]], "next" in page) == (["s3", "s4"], False)

    with_client(test)


@pytest.mark.parametrize(
    ("body", "code", "field", "position"),
    [
        ({}, "MISSING_FIELD", "message", None),
        ({"message": {"body": 1}}, "MISSING_FIELD", "cron", None),
        ({"message": {"body": 1}, "cron": "0 25 * * *"}, "INVALID_CRON", "cron", 2),
        ({"message": {"body": 1}, "cron": "whenever"}, "INVALID_CRON", "cron", 8),
        ({"message": {"body": 1}, "cron": "* * * * *", "everySeconds": 5}, "INVALID_FIELD", "everySeconds", None),
        ({"message": {"body": 1}, "everySeconds": 0}, "INVALID_FIELD", "everySeconds", None),
        ({"message": {"body": 1}, "everySeconds": -5}, "INVALID_FIELD", "everySeconds", None),
        ({"message": {"body": 1}, "everySeconds": 5, "timeZone": "UTC"}, "INVALID_FIELD", "timeZone", None),
        ({"message": {"body": 1}, "cron": "* * * * *", "timeZone": "Mars"}, "INVALID_FIELD", "timeZone", None),
        ({"message": {"body": 1}, "everySeconds": 5, "missed": "some"}, "INVALID_FIELD", "missed", None),
        ({"message": {"body": 1}, "everySeconds": 5, "graceSeconds": -1}, "INVALID_FIELD", "graceSeconds", None),
        ({"message": {"body": 1}, "everySeconds": 5, "startAt": "soon"}, "INVALID_FIELD", "startAt", None),
        ({"message": {"body": 1}, "everySeconds": 5, "startAt": 5, "endAt": 5}, "INVALID_FIELD", "endAt", None),
        ({"message": {}, "everySeconds": 5}, "MISSING_FIELD", "message.body", None),
        ({"message": {"body": 1, "partition": 0}, "everySeconds": 5}, "INVALID_FIELD", "message.partition", None),
        ({"message": {"body": 1, "dedupId": "a"}, "everySeconds": 5}, "INVALID_FIELD", "message.dedupId", None),
        ({"message": {"body": 1, "delaySeconds": 1}, "everySeconds": 5}, "INVALID_FIELD", "message.delaySeconds", None),
        ({"message": {"body": 1, "colour": 1}, "everySeconds": 5}, "UNKNOWN_FIELD", "message.colour", None),
        (
            {"message": {"body": "x" * (RECURRING_BODY_BYTES_MAX - 1)}, "everySeconds": 5},
            "MESSAGE_TOO_LARGE",
            "message.body",
            None,
        ),
    ],
)
def test_wrong_ones_are_refused_and_change_nothing(
    body: dict[str, Any], code: str, field: str, position: int | None
) -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        answer = await client.put(PATH, json=body)
        assert answer.status_code == (413 if code == "MESSAGE_TOO_LARGE" else 400), answer.text
        problem = answer.json()
        assert (problem["code"], problem["field"], problem.get("position")) == (code, field, position)
        assert (await client.get("/topics/orders/schedules")).json() == {"schedules": []}

    with_client(test)


def test_names_and_limits() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        largest = {"body": "x" * (RECURRING_BODY_BYTES_MAX - 2)}
        assert (await client.put(PATH, json={"everySeconds": 1, "message": largest})).status_code == 201
        for name in ("s-akna6k7shy2ya-7-1-0", "a%20b"):
            answer = await client.put(f"/topics/orders/schedules/{name}", json=EACH_SECOND)
            assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_NAME")
        for method in ("GET", "PATCH", "DELETE"):
            answer = await client.request(
                method, "/topics/orders/schedules/a%20b", json={} if method == "PATCH" else None
            )
            assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_NAME"), method
        assert (await client.put("/topics/none/schedules/a", json=EACH_SECOND)).json()["code"] == "TOPIC_NOT_FOUND"
        [gateway] = cluster.gateways
        gateway.metadata.steering.membership.earlier_than = lambda _protocol: gateway.metadata.nodes()[:1]
        answer = await client.put("/topics/orders/schedules/other", json=EACH_SECOND)
        assert (answer.status_code, answer.json()["code"]) == (409, "NODES_TOO_OLD")

    with_client(test)


def test_over_a_failover_each_time_is_sent_once() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        view = (await client.put(PATH, json={**EACH_SECOND, "missed": "all"})).json()
        topic = cluster.gateways[0].metadata.topic("orders")
        assert topic is not None
        leader = cluster.gateways[0].metadata.partition(topic.id, view["partition"])
        assert leader is not None
        await asyncio.sleep(2.5)
        await cluster.stop(leader.leader)
        await asyncio.sleep(12)
        times = [each["headers"]["acklog-schedule-time"] for each in await received(client)]
        assert len(times) == len(set(times)) >= 14

    with_client(test)


def test_a_schedule_of_a_compacted_topic_needs_a_key() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        assert (await client.put("/topics/table", json={"config": {"cleanupPolicy": "compact"}})).status_code == 201
        path = "/topics/table/schedules/tick"
        refused = await client.put(path, json={"everySeconds": 60, "message": {"body": 1}})
        problem = refused.json()
        assert (refused.status_code, problem["code"], problem["field"]) == (400, "MISSING_FIELD", "message.key")
        assert (await client.get(path)).status_code == 404
        keyed = {"body": 1, "key": "a"}
        assert (await client.put(path, json={"everySeconds": 60, "message": keyed})).status_code == 201
        refused = await client.patch(path, json={"message": {"body": 2}})
        assert (refused.status_code, refused.json()["field"]) == (400, "message.key")
        assert (await client.get(path)).json()["message"] == keyed
        assert (await client.patch(path, json={"paused": True})).status_code == 200

    with_client(test)


def test_a_schedule_without_a_key_from_before_its_topic_was_compacted_goes_on() -> None:
    async def test(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        assert (await client.put(PATH, json={"everySeconds": 60, "message": {"body": 1}})).status_code == 201
        change = {"config": {"cleanupPolicy": "compact"}}
        assert (await client.patch("/topics/orders?allowDataLoss=true", json=change)).status_code == 200
        assert (await client.patch(PATH, json={"everySeconds": 30})).status_code == 200
        assert (await client.patch(PATH, json={"message": {"body": 1, "key": "a"}})).status_code == 200

    with_client(test)
