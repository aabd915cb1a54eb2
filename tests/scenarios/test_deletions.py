"""Messages that are deleted on purpose, on three nodes: whoever leads, whoever is asked, whatever fails (rules R1, R9,
R16, R28, R32)."""

from collections.abc import Callable, Coroutine
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from acklog.wire.batch import DedupKey, encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.values import NO_LEADER, Group, PartitionState, Topic
from cluster.ports.coordination import Put, unchanged
from storage.node.partition.node_settings import NodeSettings
from storage.rpc import messages
from storage.rpc.deletion_messages import DeleteRequest, DeleteResponse
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.lagging_store import LaggingStore

Main = Callable[["Shop"], Coroutine[Any, Any, None]]
OFTEN = NodeSettings(retention_interval_ms=500)


class Shop:
    def __init__(self, cluster: Cluster, topic: Topic, group: Group) -> None:
        self.cluster = cluster
        self.topic = topic
        self.group = group

    async def send(self, *numbers: int) -> None:
        for number in numbers:
            await self.cluster.send(self.topic, b"%d" % number)

    async def delete(self, to: str, value: int = -1) -> DeleteResponse:
        request = DeleteRequest(self.topic.id, 0, to, value)
        found = await self.cluster.following(lambda: self.cluster.leader(self.topic).delete(request))
        assert isinstance(found, DeleteResponse)
        return found

    async def position(self) -> messages.PositionsResponse:
        request = messages.PositionsRequest(self.topic.id, 0)
        found = await self.cluster.following(lambda: self.cluster.leader(self.topic).positions(request))
        assert isinstance(found, messages.PositionsResponse)
        return found

    async def bodies(self) -> list[bytes]:
        """Of a group that has never read."""
        return [each.record.body for each in await self.cluster.receive(self.topic, self.group)]

    async def fail_over(self) -> None:
        leader = self.cluster.state(self.topic).leader
        await self.cluster.stop(leader)
        await self.cluster.until(lambda: self.cluster.state(self.topic).leader not in {leader, NO_LEADER})
        await self.cluster.start(leader)
        await self.cluster.in_sync(self.topic)

    def sizes(self) -> list[int]:
        """What each replica has of the messages on its disk."""
        return [self.cluster.replica(number, self.topic).logs[0].size_bytes for number in self.cluster.nodes]

    def starts(self) -> list[int]:
        return [self.cluster.replica(number, self.topic).logs[0].log_start for number in self.cluster.nodes]


def run(main: Main, **config: Any) -> None:
    async def whole(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2, **config)
        await cluster.in_sync(topic)
        await main(Shop(cluster, topic, await cluster.group()))

    ClusterBuilder().nodes(3).storing(OFTEN).gateway(request_timeout_ms=5_000).run(whole)


def test_everything_goes_on_every_node() -> None:
    async def main(shop: Shop) -> None:
        await shop.send(*range(10))
        assert len(await shop.bodies()) == 10
        answer = await shop.delete("end")
        assert (answer.log_start, answer.previous, answer.undone[0].undone) == (10, 0, 10)
        await shop.cluster.until(lambda: shop.starts() == [10, 10, 10] and shop.sizes() == [0, 0, 0])
        await shop.send(10, 11)
        for _ in range(3):
            position = await shop.position()
            assert (position.log_start, position.groups[0].lost) == (10, 10)
            await shop.fail_over()
        assert sorted(set(await shop.bodies())) == [b"10", b"11"]

    run(main)


def test_who_leads_next_goes_by_a_decision_of_which_no_file_tells() -> None:
    """The offset is in the middle of every replica's only file, and the keys of the window keep that."""

    async def main(shop: Shop) -> None:
        await shop.send(*range(10))
        await shop.delete("offset", 6)
        assert shop.starts() == [0, 0, 0]
        for _ in range(3):
            await shop.fail_over()
            assert (await shop.position()).log_start == 6
        assert await shop.bodies() == [b"6", b"7", b"8", b"9"]

    run(main)


def test_names_in_the_window_are_remembered_over_failovers() -> None:
    """R28."""

    async def main(shop: Shop) -> None:
        batch = encode_batch([Record(b"a")], keys=[DedupKey(0, "a", b"a" * 8)])

        async def send() -> messages.ProduceResponse:
            request = messages.ProduceRequest(shop.topic.id, 0, bytearray(batch))
            found = await shop.cluster.following(lambda: shop.cluster.leader(shop.topic).produce(request))
            assert isinstance(found, messages.ProduceResponse)
            return found

        assert (await send()).base_offset == 0
        await shop.send(1)
        await shop.delete("end")
        for _ in range(2):
            assert [known.offset for known in (await send()).known] == [0]
            await shop.fail_over()
        assert await shop.bodies() == []
        await shop.cluster.clock.sleep(60_000)
        await shop.cluster.until(lambda: shop.sizes() == [0, 0, 0])

    run(main, dedup_window_ms=30_000)


def test_a_leader_that_was_deposed_deletes_nothing() -> None:
    """R16: its word would be under an epoch that is over."""

    async def main(shop: Shop) -> None:
        cluster = shop.cluster
        await shop.send(*range(5))
        deposed = cluster.state(shop.topic).leader
        store = LaggingStore(cluster.store)
        await cluster.stop(deposed)
        await cluster.node(deposed, connection=store)
        await cluster.in_sync(shop.topic)
        await cluster.until(lambda: cluster.state(shop.topic).leader == deposed)
        zombie = cluster.leader(shop.topic)
        store.news.shut()  # it does not hear that it is none any more
        item = await cluster.store.get(keys.partition(shop.topic.id, 0))
        assert item is not None
        state = decode(PartitionState, item.value)
        successor = next(number for number in cluster.nodes if number != deposed)
        life = cluster.nodes[successor].node.incarnation
        elected = replace(state, leader=successor, leader_incarnation=life, leader_epoch=state.leader_epoch + 1)
        assert (await cluster.store.transact([unchanged(item)], [Put(item.key, encode(elected))])).succeeded
        with pytest.raises(ServerError) as refused:
            await zombie.delete(DeleteRequest(shop.topic.id, 0, "end"))
        assert refused.value.code is ProblemCode.UNAVAILABLE
        store.news.open()
        assert (await shop.position()).log_start == 0
        assert len(await shop.bodies()) == 5

    run(main)


def test_a_reader_at_a_follower_begins_behind_it() -> None:
    async def main(shop: Shop) -> None:
        await shop.send(*range(10))
        await shop.delete("offset", 4)
        leader = shop.cluster.state(shop.topic).leader
        for number in set(shop.cluster.nodes) - {leader}:
            replica = shop.cluster.replica(number, shop.topic)
            await shop.cluster.until(lambda: replica.reads is not None and replica.reads.readable_start == 4)  # noqa: B023
            node = shop.cluster.nodes[number].node
            page = await node.records(messages.RecordsRequest(shop.topic.id, 0, 4, any_replica=True))
            assert page.log_start == 4
            with pytest.raises(ServerError) as refused:
                await node.records(messages.RecordsRequest(shop.topic.id, 0, 3, any_replica=True))
            assert refused.value.code is ProblemCode.UNAVAILABLE, "its leader says what is gone"

    run(main)


def test_a_gateways_calls() -> None:
    async def main(shop: Shop) -> None:
        async with client_of(shop.cluster.gateways[0]) as client:
            await shop.send(*range(10))
            await shop.bodies()
            planned = await post(client, "purge", dryRun=True)
            lost = [{"group": "workers", "lost": 10}]
            item = {"partition": 0, "logStart": 10, "previous": 0, "deleted": 10, "groups": lost}
            assert planned == {"topic": "orders", "dryRun": True, "deleted": 10, "partitions": [item], "failed": 0}
            before = await post(client, "delete-before", offsets=[{"partition": 0, "offset": 3}])
            assert (before["deleted"], before["partitions"][0]["logStart"]) == (3, 3)
            await shop.fail_over()
            await shop.cluster.following(lambda: shop.cluster.leader(shop.topic).positions(position_of(shop.topic)))
            answer = await post(client, "purge")
            assert (answer["deleted"], answer["partitions"][0]["previous"]) == (7, 3)
            assert (await post(client, "purge"))["deleted"] == 0

    run(main)


def position_of(topic: Topic) -> messages.PositionsRequest:
    return messages.PositionsRequest(topic.id, 0)


async def post(client: httpx2.AsyncClient, call: str, **fields: Any) -> Any:
    answer = await client.post(f"/topics/orders/{call}", json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()
