"""Whether a node is in sync, and whether it may be stopped, in a cluster whose nodes come and go."""

import asyncio

import httpx2
import pytest

from app.processes.cluster_node import ClusterNode
from app.processes.node_http import STOP_WAIT_SECONDS_MAX, create_node_app
from app.processes.node_standing import why_not_in_sync, why_not_stoppable
from cluster.model.partition_standing import is_expected, is_in_sync, is_needed
from cluster.model.values import PartitionLife, PartitionState
from tests.support.cluster import Cluster, ClusterBuilder


def http_of(node: ClusterNode) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=create_node_app(node, metric_names_max=10), raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url="http://node", timeout=None)


def test_a_node_that_comes_back_says_when_it_is_in_sync_again() -> None:
    """Of idle partitions, too."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(partitions=4, replicas=3, min_insync_replicas=2)
        await cluster.in_sync(topic)
        await cluster.until(lambda: all(why_not_in_sync(each) is None for each in cluster.nodes.values()))
        assert [why_not_stoppable(each) for each in cluster.nodes.values()] == [None] * 3
        await cluster.stop(3)
        await cluster.until(lambda: why_not_stoppable(cluster.nodes[1]) is not None)
        assert why_not_in_sync(cluster.nodes[1]) is None, "what others lack is theirs"
        back = await cluster.node(3)
        reasons: list[str | None] = []
        await cluster.until(lambda: reasons.append(why_not_in_sync(back)) or reasons[-1] is None)
        assert reasons[0] == "the node is not registered in etcd, so it may not know how things are"
        lacking = "the node is not in sync in orders/0, orders/1, orders/2 and 1 other partitions"
        assert lacking in reasons
        await cluster.until(lambda: why_not_stoppable(cluster.nodes[1]) is None)

    ClusterBuilder().nodes(3).run(main)


def test_a_node_with_a_new_disk_is_not_in_sync_by_what_the_old_one_had() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(partitions=1, replicas=3)
        await cluster.in_sync(topic)
        await cluster.stop(3)
        await cluster.wipe(3)
        back = await cluster.node(3)
        assert why_not_in_sync(back) is not None
        await cluster.until(lambda: why_not_in_sync(back) is None)
        assert cluster.state(topic).directories[cluster.state(topic).replicas.index(3)] == back.node.logs.directory_id

    ClusterBuilder().nodes(3).run(main)


def test_who_has_not_heard_from_its_leader_yet_is_not_in_sync() -> None:
    """By etcd's word alone it is: nobody has noticed that it was away."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(partitions=1, replicas=2)
        await cluster.in_sync(topic)
        follower = next(each for each in cluster.nodes.values() if each.settings.node_id != cluster.state(topic).leader)
        await cluster.until(lambda: why_not_in_sync(follower) is None)
        following = cluster.replica(follower.settings.node_id, topic)._replica.follower
        assert following is not None
        following.agreed.clear()
        assert why_not_in_sync(follower) == "the node is not in sync in orders/0"

    ClusterBuilder().nodes(2).run(main)


def test_two_of_three_are_not_to_be_stopped_at_a_time() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(partitions=2, replicas=3, min_insync_replicas=2)
        await cluster.in_sync(topic)
        first, second = cluster.nodes[1], cluster.nodes[2]
        async with http_of(second) as client:
            assert (await client.get("/stoppable")).json() == {"status": "stoppable"}
            await first.leave()
            await cluster.until(lambda: why_not_stoppable(second) is not None)
            refused = await client.get("/stoppable?waitSeconds=1")
            assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE")
            assert "orders/0, orders/1" in refused.json()["detail"]
            assert (await client.get("/in-sync")).json() == {"status": "in sync"}
            await cluster.stop(1)
            waiting = asyncio.create_task(client.get("/stoppable?waitSeconds=60"))
            await cluster.clock.sleep(500)
            assert not waiting.done()
            await cluster.node(1)
            assert (await waiting).status_code == 200

    ClusterBuilder().nodes(3).run(main)


def test_what_nobody_can_take_over_holds_up_no_stop() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(partitions=2, replicas=1)
        await cluster.in_sync(topic)
        assert [why_not_stoppable(each) for each in cluster.nodes.values()] == [None] * 2

    ClusterBuilder().nodes(2).run(main)


def test_a_node_that_leaves_or_is_not_registered_is_not_in_sync() -> None:
    async def main(cluster: Cluster) -> None:
        node = cluster.nodes[1]
        await cluster.until(lambda: why_not_in_sync(node) is None)
        is_registered, node.node.is_registered = node.node.is_registered, lambda: False
        async with http_of(node) as client:
            refused = await client.get("/in-sync")
            assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE")
            assert "not registered" in refused.json()["detail"]
            assert (await client.get("/stoppable")).status_code == 503
            assert (await client.get("/readyz")).status_code == 200, "it serves all the same"
            assert (await client.get("/healthz")).status_code == 200, "and nobody should end it for that"
        node.node.is_registered = is_registered
        node.begin_shutdown()
        assert why_not_in_sync(node) == "the node is leaving"

    ClusterBuilder().nodes(1).run(main)


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("waitSeconds=soon", "INVALID_FIELD", "waitSeconds"),
        ("waitSeconds=-1", "INVALID_FIELD", "waitSeconds"),
        (f"waitSeconds={STOP_WAIT_SECONDS_MAX + 1}", "INVALID_FIELD", "waitSeconds"),
        ("wait=1", "UNKNOWN_FIELD", "wait"),
    ],
)
def test_a_wait_that_cannot_be_is_refused(query: str, code: str, field: str) -> None:
    async def main(cluster: Cluster) -> None:
        async with http_of(cluster.nodes[1]) as client:
            refused = await client.get(f"/stoppable?{query}")
            assert (refused.status_code, refused.json()["code"], refused.json()["field"]) == (400, code, field)
            accepted = await client.get(f"/stoppable?waitSeconds={STOP_WAIT_SECONDS_MAX}")
            assert accepted.status_code == 200

    ClusterBuilder().nodes(1).run(main)


def state(**changes: object) -> PartitionState:
    values = {"replicas": (1, 2, 3), "isr": (1, 2), "leader": 1, "leader_incarnation": 1, "leader_epoch": 1} | changes
    return PartitionState("t", 0, **values)  # type: ignore[arg-type]


def test_who_is_expected_to_have_a_partition() -> None:
    assert is_expected(state(), 3)
    assert not is_expected(state(), 4)
    assert not is_expected(state(adding=(3,)), 3), "a move is under way, which may take long"
    assert is_expected(state(removing=(3,)), 3), "until the move is done"
    assert not is_expected(state(life=PartitionLife.GONE), 3)


def test_who_is_in_sync_by_which_directory() -> None:
    assert is_in_sync(state(), 2, "b")
    assert not is_in_sync(state(), 3, "c")
    assert not is_in_sync(state(damaged=(2,)), 2, "b")
    assert is_in_sync(state(directories=("a", "b", "c")), 2, "b")
    assert is_in_sync(state(directories=("a", "", "c")), 2, "b"), "not known by which"
    assert not is_in_sync(state(directories=("a", "b", "c")), 2, "another")


def test_who_is_needed() -> None:
    everybody = {1, 2, 3}
    assert is_needed(state(), 1, staying=everybody, min_insync_replicas=2)
    assert not is_needed(state(), 3, staying=everybody, min_insync_replicas=2), "not in sync anyway"
    assert not is_needed(state(), 1, staying=everybody, min_insync_replicas=1)
    assert is_needed(state(), 1, staying={1, 3}, min_insync_replicas=1), "the other one is about to stop"
    assert not is_needed(state(), 1, staying=everybody, min_insync_replicas=3), "never without it, however long"
    assert not is_needed(state(replicas=(1,), isr=(1,)), 1, staying=everybody, min_insync_replicas=1)
    assert not is_needed(state(life=PartitionLife.GONE), 1, staying=everybody, min_insync_replicas=2)
    assert not is_needed(state(isr=(1, 2, 3), removing=(3,)), 1, staying=everybody, min_insync_replicas=2), (
        "only 2 are left"
    )
