"""The latest value of a key, as clients of a cluster's gateway see it, on one node and on three. Virtual time."""

import dataclasses
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from msgspec.structs import replace

from acklog.wire.limits import KEY_BYTES_MAX
from acklog.wire.problems import ProblemCode
from app.gateway.partition_choice import partition_of_key
from cluster.errors import ServerError
from cluster.model.mapping_starts import ORDERED_MAPPINGS_MAX
from cluster.model.values import NO_LEADER, PartitionLife, Topic
from storage.compaction.compaction_settings import CompactionSettings
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.memory_gateway import MemoryWorld
from tests.support.simulated_node import SMALL

NODES = [1, 3]
QUICK = dataclasses.replace(SMALL, compaction=CompactionSettings(look_interval_ms=1_000, dirty_ratio_min=0.1))
ODD_KEYS = ["a/b", "/a", "a//b", "ä ö", "%2F", "?x=1#y", "..", ".", "", "a+b", "鍵", "\ufffd", "{key}", "keys"]


class Table:
    def __init__(self, cluster: Cluster, client: httpx2.AsyncClient) -> None:
        self.cluster = cluster
        self.client = client

    @property
    def topic(self) -> Topic:
        topic = self.cluster.gateways[0].metadata.topic("table")
        assert topic is not None
        return topic

    async def send(self, key: str, body: object = None, **fields: Any) -> Any:
        """No body is a tombstone."""
        message = {"queue": "table", "key": key, **fields, **({"bodyBase64": ""} if body is None else {"body": body})}
        answer = await self.client.post("/messages", json=message)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def get(self, key: str) -> httpx2.Response:
        encoded = quote(key, safe="").replace(".", "%2E")
        return await self.client.get(f"/topics/table/keys/{encoded}")

    async def value(self, key: str) -> Any:
        """None where there is none."""
        answer = await self.get(key)
        if answer.status_code == 404:
            assert answer.json()["code"] == "KEY_NOT_FOUND"
            return None
        assert answer.status_code == 200, answer.text
        assert answer.json()["key"] == key
        return answer.json()["body"]

    async def grow(self, partitions: int) -> None:
        answer = await self.client.patch("/topics/table", json={"partitions": partitions})
        assert answer.status_code == 200, answer.text

    async def compact(self) -> None:
        await self.client.post("/topics/table/compact")
        while True:
            state = (await self.client.get("/topics/table/compaction")).json()
            if {each["state"] for part in state["partitions"] for each in part["replicas"]} == {"idle"}:
                return
            await self.cluster.clock.sleep(100)


def run(main: Any, nodes: int, *, partitions: int = 1, **config: Any) -> None:
    async def whole(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            settings = {"cleanupPolicy": "compact", "maxCompactionLagMs": 1_000, **config}
            body = {"partitions": partitions, "replicationFactor": nodes, "config": settings}
            assert (await client.put("/topics/table", json=body)).status_code == 201
            await main(Table(cluster, client))

    ClusterBuilder().nodes(nodes).storing(QUICK).gateway().run(whole)


@pytest.mark.parametrize("nodes", NODES)
def test_the_last_message_of_a_key_is_there_as_soon_as_it_is_sent(nodes: int) -> None:
    async def main(table: Table) -> None:
        assert await table.value("a") is None
        for number in range(5):
            sent = await table.send("a", {"n": number}, headers={"h": "v"}, tags=["t"])
            await table.send("b", number)
            found = (await table.get("a")).json()
            assert (found["messageId"], found["offset"], found["body"]) == (
                sent["messageId"],
                sent["offset"],
                {"n": number},
            )
            assert (found["queue"], found["key"], found["headers"], found["tags"]) == ("table", "a", {"h": "v"}, ["t"])
            assert (await table.client.get(f"/messages/{found['messageId']}")).json()["body"] == {"n": number}
        await table.compact()
        assert [await table.value(key) for key in "abc"] == [{"n": 4}, 4, None]
        await table.send("a")
        assert await table.value("a") is None
        await table.send("a", "again")
        assert await table.value("a") == "again"

    run(main, nodes, partitions=3)


@pytest.mark.parametrize("nodes", NODES)
def test_every_text_is_a_key(nodes: int) -> None:
    async def main(table: Table) -> None:
        for key in ODD_KEYS:
            assert await table.value(key) is None
            await table.send(key, key)
        assert [await table.value(key) for key in ODD_KEYS] == ODD_KEYS

    run(main, nodes, partitions=2)


def test_a_leader_that_begins_knows_what_was_before_it() -> None:
    async def main(table: Table) -> None:
        cluster = table.cluster
        for number in range(20):
            await table.send(f"k{number % 3}", number)
        await cluster.in_sync(table.topic)
        for _ in range(3):
            leader = cluster.state(table.topic).leader
            await cluster.stop(leader)
            await cluster.until(lambda: cluster.state(table.topic).leader not in {leader, NO_LEADER})  # noqa: B023
            assert [await table.value(f"k{number}") for number in range(4)] == [18, 19, 17, None]
            await cluster.start(leader)
            await cluster.in_sync(table.topic)

    run(main, 3)


@pytest.mark.parametrize("nodes", NODES)
def test_a_key_that_moved_is_found_where_it_was_until_there_is_something_later(nodes: int) -> None:
    """Also when that says that it has no value, for good: what the key had before stays where it was."""

    async def main(table: Table) -> None:
        keys = [f"k{number}" for number in range(12)]
        for key in keys:
            await table.send(key, "first")
        homes = {key: {partition_of_key(key, table.topic)} for key in keys}
        for partitions in (2, 3, 5):
            await table.grow(partitions)
            assert {await table.value(key) for key in keys} == {"first"}
            for key in keys:
                homes[key].add(partition_of_key(key, table.topic))
        assert await table.value("never") is None
        moved = [key for key in keys if partition_of_key(key, table.topic) != 0]
        assert len(moved) > 2
        await table.send(moved[0])
        await table.send(moved[1], "second")
        for _ in range(3):
            assert [await table.value(key) for key in moved[:3]] == [None, "second", "first"]
            await table.compact()
            await table.cluster.clock.sleep(20_000)
        await table.grow(7)
        assert [await table.value(key) for key in moved[:3]] == [None, "second", "first"]
        assert any(len(each) > 2 for each in homes.values())

    run(main, nodes, tombstoneRetentionMs=1_000)


def test_a_gateway_that_has_not_heard_of_a_growth_does_not_tell_what_was_before() -> None:
    async def main(table: Table) -> None:
        cluster = table.cluster
        late = cluster.gateways[0]
        other = await cluster.gateway()
        keys = [f"k{number}" for number in range(8)]
        for key in keys:
            await table.send(key, "first")
        before = late.metadata.topic("table")
        assert before is not None
        async with client_of(other) as client:
            assert (await client.patch("/topics/table", json={"partitions": 4})).status_code == 200
            for key in keys:
                message = {"queue": "table", "key": key, "body": "second"}
                assert (await client.post("/messages", json=message)).status_code == 201
        real = late.metadata.topic
        late.metadata.topic = lambda name: before if late_looks.pop(0) else real(name)  # type: ignore[method-assign]
        late_looks = [True, *[False] * 1000]
        assert await table.value(keys[-1]) == "second"

    run(main, 1)


MOVED = [f"k{number}" for number in range(12)]


async def with_moved_keys(table: Table, second: object = None) -> list[str]:
    """A value of each key before the topic grows to 3, and after it `second` (none: a tombstone) of those that belong
    elsewhere since, which are returned."""
    for key in MOVED:
        await table.send(key, "first")
    await table.grow(3)
    moved = [key for key in MOVED if partition_of_key(key, table.topic) != 0]
    for key in moved:
        await table.send(key, second)
    return moved


@pytest.mark.parametrize("second", [None, "second"])
@pytest.mark.parametrize("nodes", NODES)
def test_what_was_before_something_that_was_deleted_is_not_told(nodes: int, second: object) -> None:
    """Whoever leads by then, and with an index of before the deletion or one that is made after it."""

    async def main(table: Table) -> None:
        cluster = table.cluster
        moved = await with_moved_keys(table, second)
        assert {await table.value(key) for key in moved[:2]} == {second}
        purged = await table.client.post("/topics/table/purge", json={"partitions": [1, 2]})
        assert purged.status_code == 200, purged.text
        assert {await table.value(key) for key in moved} == {None}
        assert {await table.value(key) for key in MOVED if key not in moved} == {"first"}
        await table.send(moved[0], "third")
        for node in range(1, nodes + 1):
            await cluster.stop(node)
            await cluster.start(node)
            await cluster.in_sync(table.topic)
            assert [await table.value(key) for key in moved[:3]] == ["third", None, None]
        await table.grow(4)
        assert [await table.value(key) for key in moved[:3]] == ["third", None, None]
        assert {await table.value(key) for key in MOVED if key not in moved} == {"first"}

    run(main, nodes)


def test_what_was_before_something_that_retention_removed_is_not_told() -> None:
    async def main(table: Table) -> None:
        moved = await with_moved_keys(table)
        for number in range(90):
            for partition in (1, 2):
                await table.send(f"n{number}", "x" * 30_000, partition=partition)
        await table.cluster.clock.sleep(120_000)
        states = (await table.client.get("/topics/table")).json()["partitionStates"]
        assert [each["logStart"] > 0 for each in states] == [False, True, True]
        assert {await table.value(key) for key in moved} == {None}
        assert {await table.value(key) for key in MOVED if key not in moved} == {"first"}

    run(main, 1, cleanupPolicy="compact,delete", retentionBytes=1_000_000, segmentBytes=1_048_576)


def test_what_is_deleted_of_before_a_growth_takes_nothing_of_other_partitions() -> None:
    """Only what came behind the growth was later than what its keys had elsewhere."""

    async def main(table: Table) -> None:
        keys = [f"k{number}" for number in range(24)]
        for key in keys:
            await table.send(key, "first")
        before = {key: partition_of_key(key, table.topic) for key in keys}
        await table.grow(3)
        came = [key for key in keys if before[key] == 1 and partition_of_key(key, table.topic) == 0]
        assert came
        assert (await table.client.post("/topics/table/purge", json={"partitions": [0]})).status_code == 200
        assert {await table.value(key) for key in came} == {"first"}
        assert {await table.value(key) for key in keys if before[key] == 0} == {None}

    run(main, 1, partitions=2)


def test_a_partition_that_is_gone_took_what_its_keys_had_before_elsewhere_with_it() -> None:
    async def main(table: Table) -> None:
        moved = await with_moved_keys(table, "second")
        gone = partition_of_key(moved[0], table.topic)
        there = [key for key in moved if partition_of_key(key, table.topic) == gone]
        path = "/topics/table/decommissioned"
        assert (await table.client.put(path, json={"partitions": [gone]})).status_code == 200
        assert {await table.value(key) for key in there} == {"second"}
        assert (await table.client.post("/topics/table/purge", json={"partitions": [gone]})).status_code == 200
        assert {await table.value(key) for key in there} == {None}
        view = table.cluster.gateways[0].metadata
        await table.cluster.until(lambda: view.partition(table.topic.id, gone).life is PartitionLife.GONE)
        assert {await table.value(key) for key in there} == {None}
        assert {await table.value(key) for key in MOVED if key not in there} == {"first", "second"}

    run(main, 1)


def test_a_table_is_changed_as_often_as_its_latest_values_can_be_told() -> None:
    async def main(table: Table) -> None:
        keys = [f"k{number}" for number in range(40)]
        for partitions in range(2, ORDERED_MAPPINGS_MAX + 2):
            for key in keys:
                await table.send(key, partitions)
            await table.grow(partitions)
        for key in keys:
            await table.send(key, "last")
        for path, body in (("", {"partitions": 20}), ("/decommissioned", {"partitions": [1]})):
            call = table.client.put if path else table.client.patch
            refused = await call(f"/topics/table{path}", json=body)
            assert (refused.status_code, refused.json()["code"]) == (409, "TOO_MANY_CHANGES")
        assert table.topic.partitions == ORDERED_MAPPINGS_MAX + 1
        assert {await table.value(key) for key in keys} == {"last"}

    run(main, 1)


def test_a_log_whose_partitions_were_changed_more_often_becomes_a_table_by_time() -> None:
    async def main(table: Table) -> None:
        keys = [f"k{number}" for number in range(40)]
        await table.client.patch("/topics/table?allowDataLoss=true", json={"config": {"cleanupPolicy": "delete"}})
        for partitions in range(2, ORDERED_MAPPINGS_MAX + 4):
            for key in keys:
                await table.send(key, partitions)
            await table.grow(partitions)
            await table.cluster.clock.sleep(10)
        for key in keys:
            await table.send(key, "last")
        body = {"config": {"cleanupPolicy": "compact"}}
        assert (await table.client.patch("/topics/table?allowDataLoss=true", json=body)).status_code == 200
        assert {await table.value(key) for key in keys} == {"last"}

    run(main, 1)


@pytest.mark.parametrize("nodes", NODES)
def test_what_has_outlived_its_time_is_not_there(nodes: int) -> None:
    async def main(table: Table) -> None:
        await table.send("a", 1)
        await table.send("a", 2, ttlSeconds=5)
        found = (await table.get("a")).json()
        assert (found["body"], found["expiresAt"]) == (2, found["appendTime"] + 5_000)
        await table.cluster.clock.sleep(6_000)
        assert await table.value("a") is None

    run(main, nodes)


@pytest.mark.parametrize(
    ("path", "status", "code", "field"),
    [
        ("/topics/table/keys/none", 404, "KEY_NOT_FOUND", "key"),
        ("/topics/none/keys/a", 404, "TOPIC_NOT_FOUND", "topic"),
        ("/topics/plain/keys/a", 409, "TOPIC_NOT_COMPACTED", "topic"),
        ("/topics/__groups/keys/a", 400, "INVALID_NAME", "topic"),
        (f"/topics/table/keys/{'ä' * (KEY_BYTES_MAX // 2)}x", 400, "INVALID_FIELD", "key"),
        ("/topics/table/keys/%ff", 400, "INVALID_FIELD", "key"),
        ("/topics/table/keys/a?partition=1", 400, "UNKNOWN_FIELD", "partition"),
    ],
)
async def test_wrong_use_is_named(serve: Any, path: str, status: int, code: str, field: str) -> None:
    world = MemoryWorld()
    async with serve(world) as client:
        await client.put("/topics/table", json={"partitions": 2, "config": {"cleanupPolicy": "compact"}})
        await client.put("/topics/plain", json={"partitions": 2})
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (status, code, field), answer.text
        assert len(world.node.calls("latest")) == (code == "KEY_NOT_FOUND")


async def test_who_cannot_vouch_for_an_earlier_place_says_so(serve: Any) -> None:
    """R35: the partition that could not be asked may hold the key's value."""
    world = MemoryWorld()
    async with serve(world) as client:
        await client.put("/topics/table", json={"partitions": 1, "config": {"cleanupPolicy": "compact"}})
        await client.patch("/topics/table", json={"partitions": 3})
        key = next(key for key in "abcdef" if partition_of_key(key, world.metadata.topics()[0]) != 0)
        absent = await client.get(f"/topics/table/keys/{key}")
        assert absent.status_code == 404
        home, earlier = world.node.calls("latest")
        assert (home.partition != 0, earlier.partition, home.mapping, earlier.mapping) == (True, 0, 1, 1)
        [topic] = world.metadata.topics()
        world.metadata.topics_by_name["table"] = replace(topic, earlier_mappings=())
        await client.get(f"/topics/table/keys/{key}")
        asked = [each.partition for each in world.node.calls("latest")[2:]]
        assert sorted(asked) == [0, 1, 2], "what the mapping was before is forgotten, so it may be anywhere"
        original = world.node.latest

        async def damaged(request: Any) -> Any:
            if request.partition != home.partition:
                raise ServerError(ProblemCode.RECORDS_CORRUPT, "damaged")
            return await original(request)

        world.node.latest = damaged  # type: ignore[method-assign]
        answer = await client.get(f"/topics/table/keys/{key}")
        assert (answer.status_code, answer.json()["code"]) == (503, "RECORDS_CORRUPT")
