"""`readFrom=nearest`: any in-sync replica answers, and the leader where none can."""

from collections import Counter
from dataclasses import dataclass, field

import httpx2
import pytest

from acklog.wire.problems import ProblemCode
from app.processes.cluster_gateway import ClusterGateway
from app.processes.cluster_node import ClusterNode
from app.services.replica_reads import PASSED_OVER_MS
from cluster.errors import ServerError
from cluster.model.values import TopicConfig
from storage.rpc.messages import RecordsRequest, RecordsResponse
from tests.support.memory_cluster import MemoryCluster, client_of, with_cluster

RACKS = {1: "a", 2: "b", 3: "b"}
READS = 12
RECORDS = "/topics/orders/partitions/0/records?readFrom=nearest"


@dataclass
class _World:
    nodes: dict[int, ClusterNode]
    gateway: ClusterGateway
    asked: Counter[int] = field(default_factory=Counter)

    def watch(self) -> None:
        """Count who is asked for records."""
        for node_id, node in self.nodes.items():
            self._count(node_id, node)

    def _count(self, node_id: int, node: ClusterNode) -> None:
        records = node.node.records

        async def counted(request: RecordsRequest) -> RecordsResponse:
            self.asked[node_id] += 1
            return await records(request)

        node.node.records = counted  # type: ignore[method-assign]

    @property
    def leader(self) -> int:
        topic = self.gateway.metadata.topic("orders")
        assert topic is not None
        state = self.gateway.metadata.partition(topic.id, 0)
        assert state is not None
        return state.leader


async def _begin(cluster: MemoryCluster, rack: str) -> _World:
    nodes = {number: await cluster.node(number, rack=each) for number, each in RACKS.items()}
    gateway = await cluster.gateway(rack=rack)
    topics = gateway.gateway.topics
    config = TopicConfig(min_insync_replicas=2)
    topic = await topics.create("orders", partitions=1, config=config, replication_factor=3)

    def is_in_sync() -> bool:
        return [len(state.isr) for state in gateway.metadata.partitions(topic.id)] == [3]

    await cluster.until(is_in_sync)
    world = _World(nodes, gateway)
    world.watch()
    return world


async def _read(client: httpx2.AsyncClient) -> list[object]:
    answer = await client.get(RECORDS)
    assert answer.status_code == 200, answer.text
    return [record["body"] for record in answer.json()["records"]]


async def _end(cluster: MemoryCluster, world: _World) -> None:
    await world.gateway.close()
    for node in world.nodes.values():
        await cluster.stop(node)


@pytest.mark.parametrize(("rack", "asked"), [("", {1, 2, 3}), ("b", {2, 3}), ("a", {1}), ("elsewhere", {1, 2, 3})])
def test_replicas_in_the_rack_of_the_gateway_are_asked_or_all_in_turn(rack: str, asked: set[int]) -> None:
    async def main(cluster: MemoryCluster) -> None:
        world = await _begin(cluster, rack)
        async with client_of(world.gateway) as client:
            assert (await client.post("/messages", json={"queue": "orders", "body": 7})).status_code == 201
            await cluster.clock.sleep(2_000)  # until followers know that it is committed
            for _ in range(READS):
                assert await _read(client) == [7]
        assert world.asked.keys() == asked
        assert max(world.asked.values()) - min(world.asked.values()) <= 1
        await _end(cluster, world)

    with_cluster(main)


def test_the_leader_answers_where_no_replica_can() -> None:
    async def main(cluster: MemoryCluster) -> None:
        world = await _begin(cluster, "")
        leader = world.leader

        async def refuse(request: RecordsRequest) -> RecordsResponse:
            raise ServerError(ProblemCode.UNAVAILABLE, "it is behind")

        for node_id, node in world.nodes.items():
            if node_id != leader:
                node.node.records = refuse  # type: ignore[method-assign]
        async with client_of(world.gateway) as client:
            for _ in range(READS):
                assert await _read(client) == []
        assert world.asked == {leader: READS}
        await _end(cluster, world)

    with_cluster(main)


def test_a_replica_that_is_silent_has_little_time() -> None:
    async def main(cluster: MemoryCluster) -> None:
        world = await _begin(cluster, "")
        leader = world.leader

        async def hang(request: RecordsRequest) -> RecordsResponse:
            await cluster.clock.sleep(3_600_000)
            raise AssertionError("nobody waits so long")

        for node_id, node in world.nodes.items():
            if node_id != leader:
                node.node.records = hang  # type: ignore[method-assign]
        begin_ms = cluster.clock.monotonic_ms()
        async with client_of(world.gateway) as client:
            for _ in range(3):
                assert await _read(client) == []
        timeout_ms = world.gateway.gateway.settings.replica_read_timeout_ms
        assert cluster.clock.monotonic_ms() - begin_ms < 3 * timeout_ms
        assert world.asked.keys() == {leader}
        await _end(cluster, world)

    with_cluster(main)


class _Silence:
    """A node that does not answer reads as long as it `is_silent`; `asked_in_vain` counts those."""

    def __init__(self, cluster: MemoryCluster, node: ClusterNode) -> None:
        self.is_silent = False
        self.asked_in_vain = 0
        records = node.node.records

        async def answer(request: RecordsRequest) -> RecordsResponse:
            if self.is_silent:
                self.asked_in_vain += 1
                await cluster.clock.sleep(3_600_000)
            return await records(request)

        node.node.records = answer  # type: ignore[method-assign]


@pytest.mark.parametrize("rack", ["", "a"])
def test_a_leader_that_is_silent_is_no_reason_to_wait_where_a_replica_can_answer(rack: str) -> None:
    """As one that this gateway is cut off from: one read is late, and then it is passed over for a while."""

    async def main(cluster: MemoryCluster) -> None:
        world = await _begin(cluster, rack)
        leader = _Silence(cluster, world.nodes[world.leader])
        async with client_of(world.gateway) as client:
            assert (await client.post("/messages", json={"queue": "orders", "body": 7})).status_code == 201
            await cluster.clock.sleep(2_000)
            leader.is_silent = True
            for _ in range(READS):
                begin_ms = cluster.clock.monotonic_ms()
                assert await _read(client) == [7]
                assert cluster.clock.monotonic_ms() - begin_ms < 1_000
        assert leader.asked_in_vain == 1
        await _end(cluster, world)

    with_cluster(main)


def test_a_replica_that_is_heard_again_is_asked_again() -> None:
    async def main(cluster: MemoryCluster) -> None:
        world = await _begin(cluster, "b")
        number = next(node_id for node_id in (2, 3) if node_id != world.leader)
        follower = _Silence(cluster, world.nodes[number])
        async with client_of(world.gateway) as client:
            assert (await client.post("/messages", json={"queue": "orders", "body": 7})).status_code == 201
            await cluster.clock.sleep(2_000)
            follower.is_silent = True
            for _ in range(4):
                assert await _read(client) == [7]
            assert follower.asked_in_vain == 1
            follower.is_silent = False
            await cluster.clock.sleep(PASSED_OVER_MS)
            world.asked.clear()
            for _ in range(2):
                assert await _read(client) == [7]
        assert world.asked[number] == 1
        await _end(cluster, world)

    with_cluster(main)


def test_who_may_answer_is_one_of_two() -> None:
    async def main(cluster: MemoryCluster) -> None:
        world = await _begin(cluster, "")
        async with client_of(world.gateway) as client:
            answer = await client.get("/topics/orders/partitions/0/records?readFrom=anybody")
        assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "INVALID_FIELD", "readFrom")
        await _end(cluster, world)

    with_cluster(main)
