"""`readFrom=nearest`: any in-sync replica answers, and the leader where none can."""

from collections import Counter

import httpx2
import pytest

from acklog.wire.problems import ProblemCode
from app.processes.cluster_node import ClusterNode
from app.services.replica_reads import PASSED_OVER_MS
from cluster.errors import ServerError
from storage.rpc.messages import RecordsRequest, RecordsResponse
from tests.support.cluster import Cluster, ClusterBuilder, client_of

RACKS = ("a", "b", "b")
READS = 12
RECORDS = "/topics/orders/partitions/0/records?readFrom=nearest"


async def _watched(cluster: Cluster) -> Counter[int]:
    """Once there is a topic that is in sync: who is asked for records, and how often."""
    await cluster.in_sync(await cluster.topic(min_insync_replicas=2))
    asked: Counter[int] = Counter()
    for node_id, node in cluster.nodes.items():
        _count(asked, node_id, node)
    return asked


def _count(asked: Counter[int], node_id: int, node: ClusterNode) -> None:
    records = node.node.records

    async def counted(request: RecordsRequest) -> RecordsResponse:
        asked[node_id] += 1
        return await records(request)

    node.node.records = counted  # type: ignore[method-assign]


def _leader(cluster: Cluster) -> int:
    [topic] = cluster.gateways[0].metadata.topics()
    return cluster.state(topic).leader


async def _read(client: httpx2.AsyncClient) -> list[object]:
    answer = await client.get(RECORDS)
    assert answer.status_code == 200, answer.text
    return [record["body"] for record in answer.json()["records"]]


@pytest.mark.parametrize(("rack", "asked"), [("", {1, 2, 3}), ("b", {2, 3}), ("a", {1}), ("elsewhere", {1, 2, 3})])
def test_replicas_in_the_rack_of_the_gateway_are_asked_or_all_in_turn(rack: str, asked: set[int]) -> None:
    async def main(cluster: Cluster) -> None:
        seen = await _watched(cluster)
        async with client_of(cluster.gateways[0]) as client:
            assert (await client.post("/messages", json={"queue": "orders", "body": 7})).status_code == 201
            await cluster.clock.sleep(2_000)  # until followers know that it is committed
            for _ in range(READS):
                assert await _read(client) == [7]
        assert seen.keys() == asked
        assert max(seen.values()) - min(seen.values()) <= 1

    ClusterBuilder().racks(*RACKS).gateway(rack=rack).run(main)


def test_the_leader_answers_where_no_replica_can() -> None:
    async def main(cluster: Cluster) -> None:
        asked = await _watched(cluster)
        leader = _leader(cluster)

        async def refuse(request: RecordsRequest) -> RecordsResponse:
            raise ServerError(ProblemCode.UNAVAILABLE, "it is behind")

        for node_id, node in cluster.nodes.items():
            if node_id != leader:
                node.node.records = refuse  # type: ignore[method-assign]
        async with client_of(cluster.gateways[0]) as client:
            for _ in range(READS):
                assert await _read(client) == []
        assert asked == {leader: READS}

    ClusterBuilder().racks(*RACKS).gateway().run(main)


def test_a_replica_that_is_silent_has_little_time() -> None:
    async def main(cluster: Cluster) -> None:
        asked = await _watched(cluster)
        leader = _leader(cluster)

        async def hang(request: RecordsRequest) -> RecordsResponse:
            await cluster.clock.sleep(3_600_000)
            raise AssertionError("nobody waits so long")

        for node_id, node in cluster.nodes.items():
            if node_id != leader:
                node.node.records = hang  # type: ignore[method-assign]
        begin_ms = cluster.clock.monotonic_ms()
        async with client_of(cluster.gateways[0]) as client:
            for _ in range(3):
                assert await _read(client) == []
        timeout_ms = cluster.gateways[0].gateway.settings.replica_read_timeout_ms
        assert cluster.clock.monotonic_ms() - begin_ms < 3 * timeout_ms
        assert asked.keys() == {leader}

    ClusterBuilder().racks(*RACKS).gateway().run(main)


class _Silence:
    """A node that does not answer reads as long as it `is_silent`; `asked_in_vain` counts those."""

    def __init__(self, cluster: Cluster, node: ClusterNode) -> None:
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

    async def main(cluster: Cluster) -> None:
        await _watched(cluster)
        leader = _Silence(cluster, cluster.nodes[_leader(cluster)])
        async with client_of(cluster.gateways[0]) as client:
            assert (await client.post("/messages", json={"queue": "orders", "body": 7})).status_code == 201
            await cluster.clock.sleep(2_000)
            leader.is_silent = True
            for _ in range(READS):
                begin_ms = cluster.clock.monotonic_ms()
                assert await _read(client) == [7]
                assert cluster.clock.monotonic_ms() - begin_ms < 1_000
        assert leader.asked_in_vain == 1

    ClusterBuilder().racks(*RACKS).gateway(rack=rack).run(main)


def test_a_replica_that_is_heard_again_is_asked_again() -> None:
    async def main(cluster: Cluster) -> None:
        asked = await _watched(cluster)
        number = next(node_id for node_id in (2, 3) if node_id != _leader(cluster))
        follower = _Silence(cluster, cluster.nodes[number])
        async with client_of(cluster.gateways[0]) as client:
            assert (await client.post("/messages", json={"queue": "orders", "body": 7})).status_code == 201
            await cluster.clock.sleep(2_000)
            follower.is_silent = True
            for _ in range(4):
                assert await _read(client) == [7]
            assert follower.asked_in_vain == 1
            follower.is_silent = False
            await cluster.clock.sleep(PASSED_OVER_MS)
            asked.clear()
            for _ in range(2):
                assert await _read(client) == [7]
        assert asked[number] == 1

    ClusterBuilder().racks(*RACKS).gateway(rack="b").run(main)


def test_who_may_answer_is_one_of_two() -> None:
    async def main(cluster: Cluster) -> None:
        await _watched(cluster)
        async with client_of(cluster.gateways[0]) as client:
            answer = await client.get("/topics/orders/partitions/0/records?readFrom=anybody")
        assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "INVALID_FIELD", "readFrom")

    ClusterBuilder().racks(*RACKS).gateway().run(main)
