"""Members of exclusive groups, as clients of a cluster's gateway see them. Whole nodes on virtual time."""

import asyncio
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from acklog.wire.batch import decode_records, read_header
from cluster.model.internal_topics import GROUPS_TOPIC, coordinator_partition
from storage.groups.records import GroupGone, decode_record
from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
MEMBERS = "/groups/workers/members"


async def made(cluster: Cluster, partitions: int = 6, **settings: Any) -> httpx2.AsyncClient:
    """A client, the topic `orders`, and an exclusive group."""
    await cluster.in_sync(await cluster.topic(partitions=partitions, replicas=len(cluster.nodes)))
    client = client_of(cluster.gateways[0])
    body = {"mode": "exclusive", "settings": settings}
    assert (await client.put("/groups/workers", json=body)).status_code == 201
    return client


async def join(client: httpx2.AsyncClient, member: str, **fields: Any) -> Any:
    answer = await client.put(f"{MEMBERS}/{member}", json={"topics": ["orders"], **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def beat(client: httpx2.AsyncClient, member: str, epoch: int, **fields: Any) -> Any:
    answer = await client.post(f"{MEMBERS}/{member}/heartbeat", json={"memberEpoch": epoch, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def partitions(answer: Any) -> list[int]:
    return [each["partition"] for each in answer["assignment"]]


async def refused(call: Any, status: int, code: str, field: str | None = None) -> None:
    answer = await call
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem.get("field")) == (status, code, field), problem


@pytest.mark.parametrize("nodes", NODES)
def test_members_share_the_partitions_and_hear_of_changes(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        one = await join(client, "one")
        assert partitions(one) == [0, 1, 2, 3, 4, 5]
        assert (one["sessionTimeoutMs"], one["heartbeatIntervalMs"]) == (15_000, 5_000)
        waiting = asyncio.create_task(beat(client, "one", one["memberEpoch"], waitSeconds=20))
        await cluster.clock.sleep(500)
        assert not waiting.done()
        two = await join(client, "two")
        told = await waiting
        assert sorted(partitions(told) + partitions(two)) == [0, 1, 2, 3, 4, 5]
        assert len(partitions(two)) == 3
        assert (await client.delete(f"{MEMBERS}/two")).status_code == 204
        assert len(partitions(await beat(client, "one", told["memberEpoch"]))) == 6

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_a_topic_that_was_made_a_moment_ago_is_assigned_at_once(nodes: int) -> None:
    """Its coordinator looks at the metadata now and then; who names a topic is not told that there is none."""

    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        await join(client, "one")
        for name in ("new-1", "new-2", "new-3"):
            assert (await client.put(f"/topics/{name}", json={"partitions": 2})).status_code == 201
            assert partitions(await join(client, f"reader-of-{name}", topics=[name])) == [0, 1]

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_the_group_shows_its_members(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, 2)
        described = (await client.get("/groups/workers")).json()
        assert (described["mode"], described["groupEpoch"], described["members"]) == ("exclusive", 0, [])
        await join(client, "one", rack="a", sessionTimeoutMs=20_000, static=True, instanceId="first")
        await cluster.clock.sleep(300)
        shown = (await client.get(MEMBERS)).json()
        assert shown == {
            "group": "workers",
            "groupEpoch": 2,
            "members": [
                {
                    "member": "one",
                    "memberEpoch": 2,
                    "joinedEpoch": 1,
                    "topics": ["orders"],
                    "patterns": [],
                    "rack": "a",
                    "sessionTimeoutMs": 20_000,
                    "static": True,
                    "instanceId": "first",
                    "silentMs": shown["members"][0]["silentMs"],
                    "assignment": [{"topic": "orders", "partition": number, "ownership": 2} for number in range(2)],
                }
            ],
        }
        assert 300 <= shown["members"][0]["silentMs"] < 1_000
        described = (await client.get("/groups/workers")).json()
        assert [each["member"] for each in described["members"]] == ["one"]

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_who_is_silent_goes_after_its_session_timeout(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, sessionTimeoutMs=2_000)
        one = await join(client, "one")
        two = await join(client, "two", sessionTimeoutMs=60_000)
        begun_ms = cluster.clock.monotonic_ms()
        told = await beat(client, "two", two["memberEpoch"], waitSeconds=20)
        assert len(partitions(told)) == 6
        assert 1_500 < cluster.clock.monotonic_ms() - begun_ms < 2_200
        call = client.post(f"{MEMBERS}/one/heartbeat", json={"memberEpoch": one["memberEpoch"]})
        await refused(call, 404, "MEMBER_UNKNOWN", "member")

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_what_a_process_has_in_hand_is_not_its_own_once_another_has_taken_its_static_name(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, 1, sessionTimeoutMs=6_000)
        for number in range(6):
            await client.post("/messages", json={"queue": "orders", "body": number})
        first = await join(client, "one", static=True, instanceId="first")
        asked = {"queue": "orders", "group": "workers", "consumer": "one", "max": 3}
        held = (await client.get("/messages", params={**asked, "memberEpoch": first["memberEpoch"]})).json()["messages"]
        receipts = [each["receipt"] for each in held]
        assert [each["body"] for each in held] == [0, 1, 2]
        await cluster.clock.sleep(4_000)
        second = await join(client, "one", static=True, instanceId="second")
        answer = await client.get("/messages", params={**asked, "memberEpoch": second["memberEpoch"]})
        again = answer.json()["messages"]
        assert [each["body"] for each in again] == [0, 1, 2]
        assert [each["attempt"] for each in again] == [2, 1, 1]  # the first one may be what the process hangs in
        for call, fields in (("ack", {}), ("nack", {}), ("extend", {"visibilitySeconds": 3_600})):
            results = (await client.post(f"/{call}", json={"receipts": receipts, **fields})).json()
            assert [each["code"] for each in results["results"]] == ["RECEIPT_STALE"] * 3, (call, results)
        assert (await client.post("/ack", json={"receipts": [each["receipt"] for each in again]})).status_code == 200

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_a_heartbeat_on_its_way_does_not_take_back_a_static_name_that_was_left(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        first = await join(client, "one", static=True, instanceId="first")
        assert (await client.delete(f"{MEMBERS}/one?instanceId=first&comesBack=true")).status_code == 204
        late = {"memberEpoch": first["memberEpoch"], "instanceId": "first"}
        await refused(client.post(f"{MEMBERS}/one/heartbeat", json=late), 404, "MEMBER_UNKNOWN", "member")
        await join(client, "one", static=True, instanceId="second")

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_two_processes_of_one_static_name(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        first = await join(client, "one", static=True, instanceId="first")
        second = {"topics": ["orders"], "static": True, "instanceId": "second"}
        await refused(client.put(f"{MEMBERS}/one", json=second), 409, "MEMBER_EXISTS", "member")
        assert (await client.delete(f"{MEMBERS}/one?instanceId=first&comesBack=true")).status_code == 204
        taken = await join(client, "one", static=True, instanceId="second")
        assert partitions(taken) == partitions(first)
        newest = max(each["ownership"] for each in first["assignment"])
        assert all(each["ownership"] > newest for each in taken["assignment"])
        late = {"memberEpoch": first["memberEpoch"], "instanceId": "first"}
        await refused(client.post(f"{MEMBERS}/one/heartbeat", json=late), 409, "MEMBER_FENCED", "memberEpoch")
        await refused(client.delete(f"{MEMBERS}/one?instanceId=first"), 409, "MEMBER_FENCED", "instanceId")

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_a_members_name_is_text(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        for path in (f"{MEMBERS}/%ff%fe", f"{MEMBERS}/o%c3"):
            await refused(client.put(path, json={"topics": ["orders"]}), 400, "INVALID_FIELD", "member")
            await refused(client.delete(path), 400, "INVALID_FIELD", "member")
        assert (await client.put(f"{MEMBERS}/%ef%bf%bd", json={"topics": ["orders"]})).status_code == 200
        assert (await client.delete(f"{MEMBERS}/%ef%bf%bd")).status_code == 204

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_wrong_use_is_told_and_changes_nothing(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, 2)
        await join(client, "one")
        before = (await client.get(MEMBERS)).json()["groupEpoch"]
        await client.put("/groups/shared")
        topics = {"topics": ["orders"]}
        await refused(client.put("/groups/shared/members/one", json=topics), 409, "WRONG_GROUP_MODE", "group")
        await refused(client.get("/groups/shared/members"), 409, "WRONG_GROUP_MODE", "group")
        await refused(client.put("/groups/none/members/one", json=topics), 404, "GROUP_NOT_FOUND", "group")
        await refused(client.put(f"{MEMBERS}/two", json={}), 400, "MISSING_FIELD", "topics")
        await refused(client.put(f"{MEMBERS}/two", json={"topics": ["none"]}), 404, "TOPIC_NOT_FOUND", "topics")
        await refused(client.put(f"{MEMBERS}/two", json={"topics": ["__groups"]}), 400, "INVALID_NAME", "topics")
        await refused(client.put(f"{MEMBERS}/{'x' * 129}", json=topics), 400, "INVALID_FIELD", "member")
        short = {**topics, "sessionTimeoutMs": 999}
        await refused(client.put(f"{MEMBERS}/two", json=short), 400, "INVALID_FIELD", "sessionTimeoutMs")
        await refused(client.delete(f"{MEMBERS}/two"), 404, "MEMBER_UNKNOWN", "member")
        unknown = client.post(f"{MEMBERS}/two/heartbeat", json={"memberEpoch": 1})
        await refused(unknown, 404, "MEMBER_UNKNOWN", "member")
        ahead = client.post(f"{MEMBERS}/one/heartbeat", json={"memberEpoch": 999})
        await refused(ahead, 409, "MEMBER_FENCED", "memberEpoch")
        dynamic = client.delete(f"{MEMBERS}/one?comesBack=true")
        await refused(dynamic, 400, "INVALID_FIELD", "member")
        assert (await client.get(MEMBERS)).json()["groupEpoch"] == before
        shared = client.put("/groups/other", json={"settings": {"assignor": "lag"}})
        await refused(shared, 400, "INVALID_FIELD", "settings.assignor")

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_a_deleted_group_is_gone_with_its_members() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, 2)
        group = cluster.gateways[0].metadata.group("workers")
        assert group is not None
        epoch = (await join(client, "one"))["memberEpoch"]
        assert (await client.delete("/groups/workers")).status_code == 204
        assert (await client.put("/groups/workers", json={"mode": "exclusive"})).status_code == 201
        assert (await client.get(MEMBERS)).json()["members"] == []
        call = client.post(f"{MEMBERS}/one/heartbeat", json={"memberEpoch": epoch})
        await refused(call, 404, "MEMBER_UNKNOWN", "member")
        places = cluster.gateways[0].metadata.topic(GROUPS_TOPIC)
        assert places is not None
        log = cluster.replica(1, places, coordinator_partition(group.id, places)).logs[0]
        await cluster.until(lambda: log.log_end == 3, patience_ms=120_000)
        [*_, last] = await cluster.records(1, places, coordinator_partition(group.id, places))
        [record] = decode_records(last, read_header(last))
        assert decode_record(record.body) == GroupGone(group.id)

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_another_assignor_takes_effect_at_once(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        for member in ("one", "two", "three"):
            await join(client, member)
        await client.patch("/groups/workers", json={"settings": {"assignor": "range"}})
        await cluster.clock.sleep(500)
        shown = (await client.get(MEMBERS)).json()["members"]
        assert [partitions(each) for each in shown] == [[0, 1], [2, 3], [4, 5]]

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_the_topic_with_the_groups_state_is_nobodys_to_read_or_change() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, 2)
        await join(client, "one")
        names = [each["name"] for each in (await client.get("/topics")).json()["topics"]]
        assert names == ["orders"]
        body = {"queue": "__groups", "body": 1}
        await refused(client.post("/messages", json=body), 400, "INVALID_NAME", "queue")
        batch = {"queue": "__groups", "messages": [{"body": 1}]}
        await refused(client.post("/messages", json=batch), 400, "INVALID_NAME", "queue")
        await refused(client.get("/messages?queue=__groups&group=any"), 400, "INVALID_NAME", "queue")
        await refused(client.patch("/topics/__groups", json={}), 400, "INVALID_NAME", "topic")
        await refused(client.put("/topics/__groups", json={}), 400, "INVALID_NAME", "topic")
        await refused(client.put("/topics/__mine", json={}), 400, "INVALID_NAME", "topic")
        records = client.get("/topics/__groups/partitions/0/records?offset=0")
        await refused(records, 400, "INVALID_NAME", "topic")
        seek = client.put("/groups/workers/offsets", json={"topic": "__groups", "to": "latest"})
        await refused(seek, 400, "INVALID_NAME", "topic")
        described = (await client.get("/topics/__groups")).json()
        assert (described["partitions"], described["config"]["retentionMs"]) == (16, -1)
        assert (await client.get("/groups/workers/offsets")).json()["offsets"] == []

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_partitions_are_assigned_by_what_is_left_to_read(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, 4, assignor="lag")
        for partition, count in enumerate([40, 30, 10, 1]):
            messages = [{"body": number, "partition": partition} for number in range(count)]
            sent = await client.post("/messages", json={"queue": "orders", "messages": messages})
            assert sent.status_code == 201
        await cluster.clock.sleep(2_000)
        one, two = await join(client, "one"), await join(client, "two")
        one = await beat(client, "one", one["memberEpoch"])
        assert sorted([partitions(one), partitions(two)]) == [[0, 3], [1, 2]]

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_the_groups_state_gets_replicas_when_there_are_nodes_for_them() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, 2)
        one = await join(client, "one")
        await cluster.start(2, 3)
        view = cluster.gateways[0].metadata
        await cluster.until(lambda: len(view.nodes()) == 3)

        def replicated() -> tuple[int, int]:
            topic = view.topic(GROUPS_TOPIC)
            assert topic is not None
            return topic.replication_factor, topic.config.min_insync_replicas

        def is_in_sync() -> bool:
            topic = view.topic(GROUPS_TOPIC)
            assert topic is not None
            return all(len(state.isr) == 3 for state in view.partitions(topic.id))

        assert replicated() == (1, 1)
        assert (await client.put("/groups/more", json={"mode": "exclusive"})).status_code == 201
        assert replicated() == (3, 1)
        await cluster.until(is_in_sync)
        assert (await client.put("/groups/and-more", json={"mode": "exclusive"})).status_code == 201
        assert replicated() == (3, 2)
        assert (await beat(client, "one", one["memberEpoch"]))["assignment"] == one["assignment"]

    ClusterBuilder().nodes(1).gateway().run(main)


@pytest.mark.parametrize("name", ["host-3/4711", "a/heartbeat", "/", "a b?c#d%2F", "ä/ö"])
def test_a_name_may_have_what_parts_paths(name: str) -> None:
    """A receive alone makes a member of any name, which has to be able to leave."""

    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        path = quote(name, safe="")
        joined = await join(client, path)
        assert (joined["member"], len(joined["assignment"])) == (name, 6)
        assert (await beat(client, path, joined["memberEpoch"]))["member"] == name
        query = {"queue": "orders", "group": "workers", "mode": "exclusive", "consumer": name}
        assert (await client.get("/messages", params=query)).status_code == 200
        assert (await client.delete(f"{MEMBERS}/{path}")).status_code == 204
        assert (await client.get(MEMBERS)).json()["members"] == []

    ClusterBuilder().nodes(1).gateway().run(main)
