"""Exclusive groups as consumers with nothing but HTTP see them, on one node and on three. Virtual time."""

import asyncio
from collections import Counter
from typing import Any

import httpx2
import pytest

from app.calls.members import Subscription
from app.services.registry import Services
from cluster.catalog.group_admin import GroupAdmin
from cluster.model.internal_topics import coordinator_partition
from cluster.model.values import GroupMode, GroupSettings, Topic
from tests.sim.environment import SimEntropy
from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
PARTITIONS = 4
SETTINGS = GroupSettings(session_timeout_ms=6_000, rebalance_timeout_ms=5_000)


class ForEver:
    """The caller waits for the answer."""

    is_gone = False

    async def wait(self, work: Any) -> Any:
        return await work


async def made(cluster: Cluster, *, messages: int = 8, gateway: int = 0) -> tuple[httpx2.AsyncClient, Topic]:
    """A client, a topic with messages in every partition, and the exclusive group "workers"."""
    topic = await cluster.topic("orders", replicas=len(cluster.nodes), partitions=PARTITIONS)
    await cluster.in_sync(topic)
    view = cluster.gateways[gateway].metadata
    groups = GroupAdmin(cluster.store, view, clock=cluster.clock, entropy=SimEntropy("group"))
    await groups.create("workers", mode=GroupMode.EXCLUSIVE, settings=SETTINGS)
    client = client_of(cluster.gateways[gateway])
    await send(client, messages)
    return client, topic


async def send(client: httpx2.AsyncClient, messages: int) -> None:
    for number in range(messages):
        message = {"queue": "orders", "body": number, "partition": number % PARTITIONS}
        assert (await client.post("/messages", json=message)).status_code == 201


async def receive(client: httpx2.AsyncClient, consumer: str, **query: Any) -> Any:
    params = {"queue": "orders", "group": "workers", "mode": "exclusive", "consumer": consumer, "max": 100, **query}
    answer = await client.get("/messages", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def ack(client: httpx2.AsyncClient, answer: Any) -> Any:
    receipts = [message["receipt"] for message in answer["messages"]]
    return (await client.post("/ack", json={"receipts": receipts})).json() if receipts else None


def partitions_of(answer: Any) -> set[int]:
    return {message["partition"] for message in answer["messages"]}


async def owned(client: httpx2.AsyncClient, consumers: list[str]) -> dict[str, set[int]]:
    """What each of them gets messages from, once everybody has heard of everybody and has nothing in hand."""
    for _ in range(3):
        for consumer in consumers:
            await ack(client, await receive(client, consumer, waitSeconds=1.5))
    await send(client, 4 * PARTITIONS)
    found: dict[str, set[int]] = {}
    for consumer in consumers:
        found[consumer] = set()
        while (answer := await receive(client, consumer, waitSeconds=0.5))["messages"]:
            found[consumer] |= partitions_of(answer)
            await ack(client, answer)
    return found


@pytest.mark.parametrize("nodes", NODES)
def test_asking_is_enough_to_take_part(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        alone = await receive(client, "ada", waitSeconds=5)
        assert alone["memberEpoch"] > 0
        await ack(client, alone)
        found = await owned(client, ["ada", "bob"])
        assert Counter(map(len, found.values())) == {PARTITIONS // 2: 2}
        assert found["ada"] | found["bob"] == set(range(PARTITIONS))

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_messages_of_a_partition_come_in_their_order_also_after_a_nack(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster, messages=0)
        for number in range(6):
            await client.post("/messages", json={"queue": "orders", "body": number, "partition": 0})
        first = (await receive(client, "ada", waitSeconds=5))["messages"]
        assert [each["body"] for each in first] == list(range(6))
        nacked = await client.post("/nack", json={"receipt": first[2]["receipt"], "delaySeconds": 2})
        assert nacked.status_code == 200
        await client.post("/ack", json={"receipts": [each["receipt"] for each in first[:2]]})
        assert (await receive(client, "ada"))["reason"] == "DELAYED"
        again = (await receive(client, "ada", waitSeconds=10))["messages"]
        assert [(each["body"], each["attempt"]) for each in again] == [(2, 2), (3, 1), (4, 1), (5, 1)]

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_who_waits_goes_on_with_what_became_its_own(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        held = await receive(client, "ada", waitSeconds=5)
        while len(partitions_of(held)) < PARTITIONS:
            held["messages"] += (await receive(client, "ada", waitSeconds=1))["messages"]
        waiting = asyncio.create_task(receive(client, "bob", waitSeconds=20))
        await cluster.clock.sleep(1_000)
        assert not waiting.done()  # the messages of what is bob's now are in ada's hand
        nacked = {"receipts": [each["receipt"] for each in held["messages"]], "delaySeconds": 0}
        assert (await client.post("/nack", json=nacked)).status_code == 200
        begun_ms = cluster.clock.monotonic_ms()
        assert partitions_of(await waiting)
        assert cluster.clock.monotonic_ms() - begun_ms < 1_000

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_a_consumer_that_is_not_heard_of_any_more_loses_its_partitions_after_its_session(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        held = await receive(client, "ada", waitSeconds=5)
        assert held["messages"]
        begun_ms = cluster.clock.monotonic_ms()
        found: set[int] = set()
        while found < set(range(PARTITIONS)):
            answer = await receive(client, "bob", waitSeconds=2)
            found |= partitions_of(answer)
            await ack(client, answer)
        took_ms = cluster.clock.monotonic_ms() - begun_ms
        assert took_ms <= SETTINGS.session_timeout_ms + 1_000
        deposed = await client.post("/ack", json={"receipts": [each["receipt"] for each in held["messages"]]})
        # What bob has done is done, whoever says so.
        assert deposed.status_code == 200

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_a_deposed_member_settles_nothing(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        held = await receive(client, "ada", waitSeconds=5)
        taken: list[Any] = []
        while not taken:
            await cluster.clock.sleep(2_000)
            answer = await receive(client, "bob", waitSeconds=2)
            offsets = {(each["partition"], each["offset"]) for each in answer["messages"]}
            taken = [each for each in held["messages"] if (each["partition"], each["offset"]) in offsets]
        for path in ("/ack", "/nack"):
            refused = await client.post(path, json={"receipt": taken[0]["receipt"]})
            assert (refused.status_code, refused.json()["code"]) == (409, "RECEIPT_STALE")
        refused = await client.post("/extend", json={"receipt": taken[0]["receipt"], "visibilitySeconds": 30})
        assert refused.json()["code"] == "RECEIPT_STALE"

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_wrong_use_is_refused_and_changes_nothing(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        refusals = {
            "queue=orders&group=workers": (400, "MISSING_FIELD", "consumer"),
            "queue=orders&group=workers&consumer=ada&mode=shared": (409, "WRONG_GROUP_MODE", "mode"),
            "queue=orders&group=shared&consumer=ada&mode=exclusive": (409, "WRONG_GROUP_MODE", "mode"),
            "queue=orders&group=workers&consumer=ada&memberEpoch=7": (404, "MEMBER_UNKNOWN", "member"),
            "queue=orders&group=shared&consumer=ada&memberEpoch=7": (409, "WRONG_GROUP_MODE", "memberEpoch"),
        }
        await client.put("/groups/shared")
        for query, expected in refusals.items():
            refused = await client.get(f"/messages?{query}")
            problem = refused.json()
            assert (refused.status_code, problem["code"], problem.get("field")) == expected
        got = await receive(client, "ada", waitSeconds=5)
        by_id = await client.post("/ack", json={"messageId": got["messages"][0]["messageId"], "group": "workers"})
        assert (by_id.status_code, by_id.json()["code"]) == (409, "WRONG_GROUP_MODE")
        assert {each["attempt"] for each in got["messages"]} == {1}

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_a_member_of_an_earlier_life_is_fenced_and_one_that_only_asks_joins_again(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        epoch = (await receive(client, "ada", waitSeconds=5))["memberEpoch"]
        again = await receive(client, "ada", memberEpoch=epoch)
        assert again["memberEpoch"] == epoch
        for _ in range(5):
            await receive(client, "bob", waitSeconds=2)
        gone = await client.get(f"/messages?queue=orders&group=workers&consumer=ada&memberEpoch={epoch}")
        assert gone.json()["code"] == "MEMBER_UNKNOWN"
        joined = await receive(client, "ada")
        assert joined["memberEpoch"] > epoch
        fenced = await client.get(f"/messages?queue=orders&group=workers&consumer=ada&memberEpoch={epoch}")
        assert (fenced.status_code, fenced.json()["code"]) == (409, "MEMBER_FENCED")

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_who_has_no_partition_is_told_so_and_gets_the_one_that_comes_free() -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster, messages=0)
        names = [f"c{number}" for number in range(PARTITIONS)]
        stop = asyncio.Event()

        async def stay(name: str) -> None:
            while not stop.is_set():
                await ack(client, await receive(client, name, waitSeconds=1))

        staying = [asyncio.create_task(stay(name)) for name in names]
        await cluster.clock.sleep(3_000)
        assert (await receive(client, "late"))["reason"] == "NO_PARTITIONS"
        waiting = asyncio.create_task(receive(client, "late", waitSeconds=20))
        staying[0].cancel()
        await cluster.clock.sleep(SETTINGS.session_timeout_ms + 500)
        await send(client, 2 * PARTITIONS)
        assert len(partitions_of(await waiting)) == 1
        stop.set()
        await asyncio.gather(*staying, return_exceptions=True)

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("whose", ["leader", "coordinator"])
def test_a_node_dies_and_every_message_comes_in_its_order(whose: str) -> None:
    async def main(cluster: Cluster) -> None:
        client, topic = await made(cluster, messages=40)
        first = await receive(client, "ada", waitSeconds=5, max=3)
        seen: dict[int, list[int]] = {}
        done: set[tuple[int, int]] = set()

        def note(answer: Any) -> None:
            for each in answer["messages"]:
                place = (each["partition"], each["offset"])
                assert place not in done, "it was acknowledged"
                if each["offset"] not in seen.setdefault(each["partition"], []):
                    seen[each["partition"]].append(each["offset"])

        async def settle(answer: Any) -> None:
            for each in answer["messages"]:
                acked = await client.post("/ack", json={"receipt": each["receipt"]})
                if acked.status_code == 200:
                    done.add((each["partition"], each["offset"]))

        note(first)
        await settle(first)
        if whose == "coordinator":
            groups_topic = cluster.gateways[0].metadata.topic("__groups")
            assert groups_topic is not None
            await cluster.in_sync(groups_topic)
            group = cluster.gateways[0].metadata.group("workers")
            assert group is not None
            number = coordinator_partition(group.id, groups_topic)
            await cluster.stop(cluster.state(groups_topic, number).leader)
        else:
            await cluster.stop(cluster.state(topic, first["messages"][0]["partition"]).leader)
        for _ in range(60):
            for name in ("ada", "bob"):
                answer = await receive(client, name, waitSeconds=1, max=4)
                note(answer)
                await settle(answer)
            if len(done) == 40:
                break
        assert len(done) == 40
        assert all(offsets == sorted(offsets) for offsets in seen.values())

    ClusterBuilder().nodes(3).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_a_members_commit_claims_its_partition_and_a_deposed_members_is_refused(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        groups = Services(cluster.gateways[0].gateway)
        group = cluster.gateways[0].metadata.group("workers")
        topic = cluster.gateways[0].metadata.topic("orders")
        assert group is not None
        assert topic is not None
        epoch = (await groups.membership.heartbeat(group, "ada", Subscription((topic.id,)))).member_epoch

        async def commit(member: str, member_epoch: int, partition: int, offset: int) -> tuple[int, Any]:
            position = {"topic": "orders", "partition": partition, "offset": offset}
            body = {"member": member, "memberEpoch": member_epoch, "offsets": [position]}
            answer = await client.put("/groups/workers/offsets", json=body)
            return answer.status_code, answer.json().get("code")

        assert (await commit("ada", epoch, 0, 1))[0] == 200
        rest = await receive(client, "ada", waitSeconds=1)
        assert 0 not in {each["offset"] for each in rest["messages"] if each["partition"] == 0}
        await ack(client, rest)
        await groups.membership.leave(group, "ada")
        bob = await receive(client, "bob", waitSeconds=1)
        assert await commit("ada", epoch, 0, 2) == (404, "MEMBER_UNKNOWN")
        assert await commit("bob", bob["memberEpoch"] + 1, 0, 2) == (409, "MEMBER_FENCED"), (
            "no such epoch was given out"
        )
        assert (await commit("bob", bob["memberEpoch"], 0, 2))[0] == 200

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_what_a_consumer_had_that_leaves_is_anothers_at_once(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        await owned(client, ["ada", "bob"])
        await ack(client, await receive(client, "ada", waitSeconds=1))
        waiting = asyncio.create_task(receive(client, "bob", waitSeconds=20))
        await cluster.clock.sleep(500)
        left = await client.delete("/groups/workers/members/ada")
        assert left.status_code == 204
        begun_ms = cluster.clock.monotonic_ms()
        await send(client, PARTITIONS)
        found = partitions_of(await waiting)
        while found < set(range(PARTITIONS)):
            answer = await receive(client, "bob", waitSeconds=1)
            found |= partitions_of(answer)
            await ack(client, answer)
        assert cluster.clock.monotonic_ms() - begun_ms < 1_000

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_a_group_is_made_in_the_mode_of_the_first_receive() -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        params = {"queue": "orders", "group": "others", "mode": "exclusive", "consumer": "ada", "waitSeconds": "1"}
        answer = (await client.get("/messages", params=params)).json()
        assert answer["groupCreated"]
        assert answer["messages"]
        assert (await client.get("/groups/others")).json()["mode"] == "exclusive"

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize(("leaves", "attempt"), [(True, 1), (False, 2)])
def test_what_a_member_had_that_leaves_was_not_tried_and_what_one_had_that_died_was(
    nodes: int, leaves: bool, attempt: int
) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster, messages=PARTITIONS)
        held: set[tuple[int, int]] = set()
        while len(held) < PARTITIONS:
            found = (await receive(client, "ada", waitSeconds=1))["messages"]
            held |= {(each["partition"], each["attempt"]) for each in found}
        assert held == {(number, 1) for number in range(PARTITIONS)}
        if leaves:
            assert (await client.delete("/groups/workers/members/ada")).status_code == 204
        found = []
        while len(found) < PARTITIONS:
            found += (await receive(client, "bob", waitSeconds=2))["messages"]
        assert {each["attempt"] for each in found} == {attempt}

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_an_owner_that_lives_is_waited_for_when_one_that_came_between_has_left(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster, messages=PARTITIONS)
        held: dict[int, Any] = {}
        while len(held) < PARTITIONS:
            held |= {each["partition"]: each for each in (await receive(client, "ada", waitSeconds=1))["messages"]}
        for member in ("bob", "eve"):  # they get partitions, and never ask for messages
            assert (await client.put(f"/groups/workers/members/{member}", json={"topics": ["orders"]})).is_success
        assert (await client.delete("/groups/workers/members/bob")).status_code == 204
        assert (await receive(client, "eve", waitSeconds=1))["messages"] == []
        assert (await receive(client, "eve"))["reason"] == "REBALANCING"
        acked = await client.post("/ack", json={"receipts": [each["receipt"] for each in held.values()]})
        assert acked.json()["failed"] == 0
        await send(client, PARTITIONS)
        assert (await receive(client, "eve", waitSeconds=1))["messages"]

    ClusterBuilder().nodes(nodes).gateway().run(main)
