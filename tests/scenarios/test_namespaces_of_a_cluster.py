"""Namespaces on a cluster, over its gateways: limits hold exactly, quotas are all gateways' together. Virtual time."""

import asyncio
import json

import pytest

from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.quota_users import QuotaUsers, received, send_of, sent, tokens_of, with_users

HELD_TO = 0.10


@pytest.mark.parametrize("nodes", [1, 3])
def test_what_gateways_make_at_the_same_time_keeps_to_the_limits(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        first, second = cluster.gateways
        async with client_of(first) as one, client_of(second) as two:
            limits = {"settings": {"topicsMax": 3, "groupsMax": 2}}
            assert (await one.put("/namespaces/shop", json=limits)).status_code == 201
            answers = await asyncio.gather(
                *(
                    client.put(f"/topics/shop%2Ft{number}-{index}", json={"partitions": 1})
                    for number in range(4)
                    for index, client in enumerate((one, two))
                )
            )
            statuses = [each.status_code for each in answers]
            assert statuses.count(201) == 3
            refused = {each.json()["code"] for each in answers if each.status_code != 201}
            assert refused <= {"NAMESPACE_FULL", "CONFLICT"}
            groups = await asyncio.gather(
                *(
                    client.put(f"/groups/shop%2Fg{number}-{index}", json={})
                    for number in range(3)
                    for index, client in enumerate((one, two))
                )
            )
            assert [each.status_code for each in groups].count(201) == 2
            # What goes at one gateway is free at the other at once.
            shown = (await two.get("/namespaces/shop")).json()
            assert (shown["topics"], shown["groups"]) == (3, 2)
            name = (await one.get("/topics")).json()["topics"][0]["name"].replace("/", "%2F")
            assert (await one.delete(f"/topics/{name}")).status_code == 204
            assert (await two.put("/topics/shop%2Fagain", json={"partitions": 1})).status_code == 201

    ClusterBuilder().nodes(nodes).gateway().gateway().run(main)


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize(
    ("setting", "per_second"), [("messagesPerSecond", 30), ("requestsPerSecond", 15), ("bytesPerSecond", 60)]
)
def test_the_quota_of_a_namespace_is_for_all_that_is_done_in_it(nodes: int, setting: str, per_second: int) -> None:
    async def main(users: QuotaUsers) -> None:
        await users.admin("PUT", "/namespaces/shop", {})
        for name in ("orders", "letters"):
            await users.admin("PUT", f"/topics/shop%2F{name}", {"partitions": 1})
        await users.admin("PATCH", "/namespaces/shop", {"settings": {setting: per_second}})
        await users.cluster.clock.sleep(1_000)
        units = {"messagesPerSecond": sent, "requestsPerSecond": lambda _answer: 1}.get(
            setting, lambda answer: 2 * sent(answer)
        )
        for gateway in range(3):
            queue = "shop/orders" if gateway else "shop/letters"
            users.begin("all", gateway, send_of(10, 20, queue=queue), units=units)
        assert (await users.per_second())["all"] == pytest.approx(per_second, rel=HELD_TO)
        assert users.users["all"].refused_by == {f"namespace/shop/{setting}"}

    with_users(main, nodes=nodes, tokens=tokens_of())


def test_schedules_and_producers_are_limited() -> None:
    async def main(cluster: Cluster) -> None:
        [gateway] = cluster.gateways
        async with client_of(gateway) as client:
            limits = {"settings": {"schedulesMax": 1, "producersMax": 1}}
            assert (await client.put("/namespaces/shop", json=limits)).status_code == 201
            for topic in ("shop%2Forders", "orders"):
                assert (await client.put(f"/topics/{topic}", json={"partitions": 1})).status_code == 201
            schedule = {"everySeconds": 60, "message": {"body": 1}}
            for kind, setting, body in (("schedules", "schedulesMax", schedule), ("producers", "producersMax", {})):
                for _ in range(2):
                    answer = await client.put(f"/topics/shop%2Forders/{kind}/one", json=body)
                    assert answer.status_code < 300, answer.text
                refused = await client.put(f"/topics/shop%2Forders/{kind}/two", json=body)
                assert (refused.status_code, refused.json()["code"]) == (409, "NAMESPACE_FULL")
                assert (refused.json()["limit"], refused.json()["max"]) == (setting, 1)
                assert (await client.put(f"/topics/orders/{kind}/two", json=body)).status_code < 300
            shown = (await client.get("/namespaces/shop")).json()
            assert (shown["schedules"], shown["producers"]) == (1, 1)

    ClusterBuilder().nodes(1).gateway().run(main)


def test_what_who_may_everything_is_told_of_a_namespace_that_is_not_there() -> None:
    async def main(cluster: Cluster) -> None:
        [gateway] = cluster.gateways
        async with client_of(gateway) as client:
            making = [
                await client.put("/topics/none%2Fx", json={"partitions": 1}),
                await client.put("/groups/none%2Fg", json={}),
                await client.post("/messages", json={"queue": "none/x", "body": 1}),
            ]
            assert [each.json()["code"] for each in making] == ["NAMESPACE_NOT_FOUND"] * 3
            looking = [
                await client.get("/messages?queue=none/x"),
                await client.get("/topics/none%2Fx"),
                await client.get("/groups/none%2Fg"),
            ]
            found = [each.json()["code"] for each in looking]
            assert found == ["TOPIC_NOT_FOUND", "TOPIC_NOT_FOUND", "GROUP_NOT_FOUND"]

    ClusterBuilder().nodes(1).gateway().run(main)


def test_what_is_delivered_counts_beside_what_is_sent() -> None:
    async def main(users: QuotaUsers) -> None:
        await users.admin("PUT", "/namespaces/shop", {})
        await users.admin("PUT", "/topics/shop%2Forders", {"partitions": 1})
        batch = [{"body": number} for number in range(500)]
        await users.admin("POST", "/messages", {"queue": "shop/orders", "messages": batch})
        await users.admin("PATCH", "/namespaces/shop", {"settings": {"messagesPerSecond": 40}})
        await users.cluster.clock.sleep(1_000)
        users.begin("sends", 0, send_of(1, queue="shop/orders"), units=sent)
        path = "/messages?queue=shop%2Forders&group=shop%2Fworkers&max=5"
        users.begin("receives", 1, lambda client: client.get(path), units=received)
        found = await users.per_second()
        assert sum(found.values()) == pytest.approx(40, rel=HELD_TO)
        assert all(found.values()), json.dumps(found)

    with_users(main, nodes=3, tokens=tokens_of())


@pytest.mark.parametrize("nodes", [1, 3])
def test_recurring_schedules_share_the_quota_with_those_who_send(nodes: int) -> None:
    async def main(users: QuotaUsers) -> None:
        await users.admin("PUT", "/namespaces/shop", {"settings": {"messagesPerSecond": 20}})
        await users.admin("PUT", "/topics/shop%2Forders", {"partitions": 3})
        for number in range(60):
            wish = {"everySeconds": 1, "message": {"body": 1, "key": f"k{number}"}}
            await users.admin("PUT", f"/topics/shop%2Forders/schedules/s{number}", wish)
        await users.cluster.clock.sleep(2_000)
        users.begin("shop", 0, send_of(2, queue="shop/orders"), units=sent, pause_ms=20)
        before = await _stored(users)
        done = (await users.per_second(during_ms=10_000))["shop"]
        stored = (await _stored(users) - before) / 12
        assert stored == pytest.approx(20, rel=HELD_TO + 0.05)
        assert 8 <= done <= 12  # half: schedules are one claimant, and so is the token

    with_users(main, nodes=nodes, tokens=tokens_of("shop"))


async def _stored(users: QuotaUsers) -> int:
    topic = await users.admin("GET", "/topics/shop%2Forders")
    return sum(each["highWatermark"] for each in topic["partitionStates"])
