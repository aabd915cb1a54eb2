"""Groups of every mode where messages go from under them: done by everybody, deleted on purpose, compacted away, or
lost with the leader that had them. On one node and on three (rules R4, R32, R42)."""

import asyncio
from typing import Any

import httpx2
import pytest

from cluster.model.values import NO_LEADER, CleanupPolicy, RetentionMode, Topic
from storage.compaction.compaction_settings import CompactionSettings
from storage.node.partition.node_settings import NodeSettings
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.simulated_node import SMALL

NODES = [1, 3]
MODES = ["shared", "keyOrdered", "exclusive"]
LEASE_MS = 5_000
OFTEN = NodeSettings(
    log_store=SMALL.log_store,
    retention_interval_ms=500,
    projection_interval_ms=200,
    compaction=CompactionSettings(look_interval_ms=1_000, step_bytes=500, dirty_ratio_min=0.3),
)


class Shop:
    """The topic "orders" of one partition, and the group "workers" of the mode that a test is about."""

    def __init__(self, cluster: Cluster, client: httpx2.AsyncClient, topic: Topic) -> None:
        self.cluster = cluster
        self.client = client
        self.topic = topic

    async def send(self, *bodies: object, key: str | None = "a") -> None:
        for body in bodies:
            message = {"queue": "orders", "body": body, **({} if key is None else {"key": key})}
            assert (await self.client.post("/messages", json=message)).status_code == 201

    async def receive(self, count: int = 100, wait_s: float = 5) -> list[Any]:
        query = {"queue": "orders", "group": "workers", "consumer": "ada", "max": count, "waitSeconds": wait_s}
        answer = await self.client.get("/messages", params=query)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["messages"])

    async def settle(self, call: str, messages: list[Any], **fields: Any) -> None:
        """All of them are still in hand."""
        if messages:
            receipts = {"receipts": [each["receipt"] for each in messages], **fields}
            answer = await self.client.post(f"/{call}", json=receipts)
            assert answer.json()["failed"] == 0, answer.text

    async def drained(self) -> list[Any]:
        """Everything that comes until nothing does for longer than a lease, acknowledged."""
        found: list[Any] = []
        while new := await self.receive(wait_s=2 * LEASE_MS / 1_000):
            found += new
            await self.settle("ack", new)
        return found

    async def trim(self, call: str, **fields: Any) -> Any:
        answer = await self.client.post(f"/topics/orders/{call}", json=fields)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def position(self) -> Any:
        [found] = (await self.client.get("/groups/workers/offsets")).json()["offsets"]
        return found

    async def stored(self) -> list[Any]:
        """What a reader of the log finds."""
        found: list[Any] = []
        offset = 0
        while True:
            page = (await self.client.get(f"/topics/orders/partitions/0/records?offset={offset}")).json()
            found += bodies(page["records"])
            if page["nextOffset"] == offset:
                return found
            offset = page["nextOffset"]

    async def fail_over(self) -> None:
        """On three nodes; one has nobody to follow it, and starts anew."""
        leader = self.cluster.state(self.topic).leader
        await self.cluster.stop(leader)
        if self.cluster.nodes:
            await self.cluster.until(lambda: self.cluster.state(self.topic).leader not in {leader, NO_LEADER})
        await self.cluster.start(leader)
        await self.cluster.in_sync(self.topic)

    def sizes(self) -> list[int]:
        return [self.cluster.replica(number, self.topic).logs[0].size_bytes for number in self.cluster.nodes]


def bodies(messages: list[Any]) -> list[Any]:
    return [each["body"] for each in messages]


def run(main: Any, *, nodes: int, mode: str, **config: Any) -> None:
    async def whole(cluster: Cluster) -> None:
        topic = await cluster.topic(replicas=nodes, min_insync_replicas=min(nodes, 2), **config)
        await cluster.in_sync(topic)
        async with client_of(cluster.gateways[0]) as client:
            settings = {"visibilityMs": LEASE_MS}
            made = await client.put("/groups/workers", json={"mode": mode, "settings": settings})
            assert made.status_code == 201, made.text
            await main(Shop(cluster, client, topic))

    ClusterBuilder().nodes(nodes).storing(OFTEN).gateway(request_timeout_ms=10_000).run(whole)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("mode", MODES)
def test_what_is_kept_until_it_is_done_goes_when_the_group_has_done_it(nodes: int, mode: str) -> None:
    async def main(shop: Shop) -> None:
        await shop.send(*range(3), key="a")
        await shop.send(*range(3, 6), key="b")
        done: set[int] = set()
        while done < {0, 1, 3, 4, 5}:
            found = [each for each in await shop.receive() if each["body"] != 2]  # that one stays in hand
            await shop.settle("ack", found)
            done |= set(bodies(found))
        await shop.cluster.clock.sleep(3_000)
        assert min(shop.sizes()) > 0
        await shop.fail_over()
        assert min(shop.sizes()) > 0
        [again] = await shop.receive(wait_s=10)
        assert again["body"] == 2
        await shop.settle("ack", [again])
        await shop.cluster.until(lambda: shop.sizes() == [0] * nodes)
        assert (await shop.position())["lag"] == 0
        await shop.send(6)
        assert bodies(await shop.receive()) == [6]

    run(main, nodes=nodes, mode=mode, retention=RetentionMode.UNTIL_ACKED, dedup_window_ms=0)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("mode", MODES)
def test_a_purge_takes_what_is_in_hand_and_holds_up_nothing(nodes: int, mode: str) -> None:
    async def main(shop: Shop) -> None:
        await shop.send(*range(6))
        held = await shop.receive(3)
        assert bodies(held)[:1] == [0]
        answer = await shop.trim("purge")
        assert answer["deleted"] == 6
        assert answer["partitions"][0]["groups"] == [{"group": "workers", "lost": 6}]
        await shop.send(6)
        assert bodies(await shop.receive()) == [6], "neither its key nor its partition waits for what is gone"
        position = await shop.position()
        assert (position["progress"], position["lost"], position["deleted"]) == (6, 0, 6)
        late = {"receipts": [each["receipt"] for each in held], "delaySeconds": 0}
        assert (await shop.client.post("/nack", json=late)).status_code < 500
        await shop.fail_over()
        [again] = await shop.receive(wait_s=10)
        assert again["body"] == 6
        await shop.settle("ack", [again])
        assert (await shop.position())["lag"] == 0

    run(main, nodes=nodes, mode=mode)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("mode", MODES)
def test_what_is_deleted_before_an_offset_is_passed_over_in_its_order(nodes: int, mode: str) -> None:
    async def main(shop: Shop) -> None:
        await shop.send(*range(8))
        held = await shop.receive(6)
        assert bodies(held) == list(range(len(held)))
        answer = await shop.trim("delete-before", offsets=[{"partition": 0, "offset": 4}])
        assert (answer["deleted"], answer["partitions"][0]["logStart"]) == (4, 4)
        await shop.settle("nack", held[4:], delaySeconds=0)
        found = await shop.receive()
        assert bodies(found)[:1] == [4]
        await shop.settle("ack", found[:1])
        await shop.fail_over()
        assert bodies(await shop.drained()) == [5, 6, 7]
        position = await shop.position()
        assert (position["progress"], position["lost"], position["deleted"], position["lag"]) == (8, 0, 4, 0)

    run(main, nodes=nodes, mode=mode)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("mode", MODES)
def test_what_compaction_removed_is_passed_over_also_where_it_was_in_hand(nodes: int, mode: str) -> None:
    async def main(shop: Shop) -> None:
        for number in range(100):
            await shop.send(number, key=f"k{number % 5}")
        held = await shop.receive(10)
        assert bodies(held) == list(range(len(held)))
        left = list(range(100))
        while len(left) > 10:
            await shop.cluster.clock.sleep(500)
            left = await shop.stored()
        assert left[-5:] == [95, 96, 97, 98, 99]
        assert not set(left) & set(bodies(held)), "what is in hand is gone"
        found = await shop.drained()
        assert sorted(bodies(found)) == left
        assert mode == "shared" or bodies(found) == left
        position = await shop.position()
        assert (position["progress"], position["lag"]) == (100, 0)
        await shop.fail_over()
        await shop.send(100, key="k0")
        assert bodies(await shop.receive(wait_s=10)) == [100]

    config = {"cleanup_policy": CleanupPolicy.COMPACT, "segment_bytes": 600, "dedup_window_ms": 0}
    run(main, nodes=nodes, mode=mode, **config)


def test_a_position_in_what_was_lost_with_its_leader_is_told_where_the_logs_part() -> None:
    """The only replica that was in sync is gone for good, and another one is elected on an operator's word."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic()
        await cluster.in_sync(topic)
        await cluster.group()
        client = client_of(cluster.gateways[0])

        async def commit(offset: int, epoch: int, **fields: Any) -> httpx2.Response:
            position = {"topic": "orders", "partition": 0, "offset": offset, "leaderEpoch": epoch, **fields}
            return await client.put("/groups/workers/offsets", json={"offsets": [position]})

        for number in range(4):
            await client.post("/messages", json={"queue": "orders", "body": number})
        first = cluster.state(topic)
        others = [number for number in cluster.nodes if number != first.leader]
        await cluster.stop(*others)
        await cluster.until(lambda: cluster.state(topic).isr == (first.leader,))
        for number in range(4, 9):
            assert (await client.post("/messages", json={"queue": "orders", "body": number})).status_code == 201
        read_in = cluster.state(topic).leader_epoch
        assert (await commit(8, read_in)).status_code == 200
        await cluster.stop(first.leader)
        await cluster.start(*others)
        path = "/cluster/partitions/orders/0/unclean-election"
        plan: Any = {}
        while "order" not in plan:
            plan = (await client.post(f"{path}/plan", json={})).json()
            await asyncio.sleep(0.5)
        elected = await client.post(path, json=plan["order"])
        assert elected.status_code in {200, 202}, elected.text
        await cluster.until(lambda: cluster.state(topic).leader in others)
        await cluster.following(lambda: cluster.send(topic, b"8", b"9", b"10", b"11", b"12"))
        now = cluster.state(topic).leader_epoch
        for answer in (
            await commit(9, read_in),
            await client.get(f"/topics/orders/partitions/0/records?offset=9&epoch={read_in}"),
        ):
            assert (answer.status_code, answer.json()["code"]) == (409, "LOG_DIVERGED"), answer.text
            assert answer.json()["divergedAt"] == 4
        assert (await commit(4, read_in)).status_code == 200
        assert (await commit(9, now)).status_code == 200

    ClusterBuilder().nodes(3).gateway(request_timeout_ms=10_000).run(main)
