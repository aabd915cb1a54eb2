import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from acklog.wire.problems import ProblemCode
from cluster.catalog.cluster_admin import ClusterAdmin
from cluster.catalog.group_admin import GroupAdmin
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.projected_offsets import ProjectedOffsets, ProjectedPartition
from cluster.model.steering import OrderKind, PartitionOrder
from cluster.model.values import GroupMode, GroupSettings, PartitionLife, Topic
from cluster.ports.coordination import CoordinationUnavailableError, OutcomeUnknownError, Put
from tests.sim.environment import SimEntropy
from tests.support.controlled_cluster import ControlledCluster
from tests.support.flaky_store import FlakyStore
from tests.support.manual_clock import settle


@pytest.fixture
async def cluster() -> AsyncIterator[ControlledCluster]:
    """Its controller is not running, so that what is written stays to be looked at."""
    cluster = await ControlledCluster.open()
    for node_id in (1, 2, 3):
        await cluster.start_node(node_id)
    await cluster.create("orders", partitions=2, replicas=2)
    for node in cluster.nodes.values():
        await node.host.close()
    yield cluster
    await cluster.close()


@pytest.fixture
def store(cluster: ControlledCluster) -> FlakyStore:
    return FlakyStore(cluster.store)


@pytest.fixture
def admin(cluster: ControlledCluster, store: FlakyStore) -> ClusterAdmin:
    return ClusterAdmin(store, cluster.metadata, clock=cluster.clock)


def orders(cluster: ControlledCluster) -> Topic:
    topic = cluster.metadata.topic("orders")
    assert topic is not None
    return topic


async def test_draining_and_no_more(cluster: ControlledCluster, admin: ClusterAdmin) -> None:
    await admin.drain(2)
    first = await cluster.item(keys.node_steering(2))
    await admin.drain(2)
    assert await cluster.item(keys.node_steering(2)) == first
    await admin.stop_draining(2)
    await admin.stop_draining(2)
    assert await cluster.store.get(keys.node_steering(2)) is None
    with pytest.raises(ServerError, match="registered are: 1, 2, 3") as caught:
        await admin.drain(9)
    assert (caught.value.code, caught.value.field) == (ProblemCode.INVALID_FIELD, "node")


async def test_a_dead_node_can_be_drained_as_long_as_it_holds_something(
    cluster: ControlledCluster, admin: ClusterAdmin
) -> None:
    held = [node for state in cluster.metadata.partitions(orders(cluster).id) for node in state.replicas]
    await cluster.stop_node(held[0])
    await admin.drain(held[0])


async def test_progress_that_cannot_be_read_hides_no_others(
    cluster: ControlledCluster, store: FlakyStore, admin: ClusterAdmin
) -> None:
    topic = orders(cluster)
    groups = GroupAdmin(cluster.store, cluster.metadata, clock=cluster.clock, entropy=SimEntropy(1))
    for name in ("damaged", "read"):
        group = await groups.create(name, mode=GroupMode.SHARED, settings=GroupSettings())
        key = keys.offsets(group.id, topic.id)
        progress = ProjectedOffsets({"1": ProjectedPartition(7, 0, 1, 1)})
        await cluster.store.transact([], [Put(key, b"{" if name == "damaged" else encode(progress))])
    with capture_logs() as logs:
        assert await admin.progress_of(topic.id, 1) == {"read": 7}
    assert [(each["event"], each["group"]) for each in logs] == [("group_progress_unreadable", "damaged")]


async def test_an_order_says_what_is_wanted(cluster: ControlledCluster, admin: ClusterAdmin) -> None:
    order = await admin.reassign("orders", 1, [3, 1])
    stored = decode(PartitionOrder, (await cluster.item(keys.partition_order(orders(cluster).id, 1))).value)
    assert stored == order
    assert (order.kind, order.replicas) == (OrderKind.MOVE, (3, 1))
    await admin.cancel("orders", 1)
    stored = decode(PartitionOrder, (await cluster.item(keys.partition_order(orders(cluster).id, 1))).value)
    assert stored.kind is OrderKind.CANCEL


@pytest.mark.parametrize(
    ("topic", "partition", "replicas", "code", "detail"),
    [
        ("order", 0, [1, 2], ProblemCode.TOPIC_NOT_FOUND, "Similar: orders"),
        ("orders", 2, [1, 2], ProblemCode.INVALID_FIELD, "partitions 0 to 1"),
        ("orders", 0, [1, 9], ProblemCode.INVALID_FIELD, "node 9 is not registered"),
        ("orders", 0, [1, 1], ProblemCode.INVALID_FIELD, "twice"),
        ("orders", 0, [1, 2, 3], ProblemCode.INVALID_FIELD, "must name 2 nodes"),
        ("orders", 0, [], ProblemCode.INVALID_FIELD, "must name 2 nodes"),
    ],
)
async def test_what_is_refused(
    admin: ClusterAdmin, topic: str, partition: int, replicas: list[int], code: ProblemCode, detail: str
) -> None:
    with pytest.raises(ServerError, match=detail) as caught:
        await admin.reassign(topic, partition, replicas)
    assert caught.value.code is code


async def test_an_order_of_unknown_outcome_is_given_again(
    cluster: ControlledCluster, admin: ClusterAdmin, store: FlakyStore
) -> None:
    store.after["transact"] = [OutcomeUnknownError("?")]
    giving = admin.reassign("orders", 0, [3, 1])
    task = asyncio.ensure_future(giving)
    await cluster.clock.advance_ms(1_000)
    order = await task
    assert decode(PartitionOrder, (await cluster.item(keys.partition_order(orders(cluster).id, 0))).value) == order


async def test_pausing_and_resuming(cluster: ControlledCluster, admin: ClusterAdmin) -> None:
    await admin.pause_moves()
    first = await cluster.item(keys.STEERING_CLUSTER)
    await admin.pause_moves()
    assert await cluster.item(keys.STEERING_CLUSTER) == first
    await admin.resume_moves()
    await admin.resume_moves()
    await settle()
    assert await cluster.store.get(keys.STEERING_CLUSTER) is None


async def test_one_node_at_least_must_be_able_to_take_replicas(cluster: ControlledCluster, admin: ClusterAdmin) -> None:
    await admin.drain(1)
    await cluster.stop_node(2)
    with pytest.raises(ServerError, match="no node but node 3 could take replicas now: start another one") as caught:
        await admin.drain(3)
    assert (caught.value.code, caught.value.field) == (ProblemCode.INVALID_FIELD, "node")
    assert await cluster.store.get(keys.node_steering(3)) is None
    await admin.drain(1)


async def test_a_partition_that_is_gone_does_not_move(cluster: ControlledCluster, admin: ClusterAdmin) -> None:
    topic = orders(cluster)
    gone = replace(await cluster.state(topic), replicas=(), isr=(), directories=(), life=PartitionLife.GONE)
    await cluster.store.transact([], [Put(keys.partition(topic.id, 0), encode(gone))])
    await settle()
    with pytest.raises(ServerError, match="was decommissioned, and is gone"):
        await admin.reassign("orders", 0, [1, 2])


async def test_an_order_is_checked_without_being_given(cluster: ControlledCluster, admin: ClusterAdmin) -> None:
    assert admin.order("orders", 1, [3, 1]).replicas == (3, 1)
    assert await cluster.store.get(keys.partition_order(orders(cluster).id, 1)) is None


async def test_whether_the_store_answers(admin: ClusterAdmin, store: FlakyStore) -> None:
    assert await admin.store_answers(within_ms=1_000)
    store.before["get"] = [CoordinationUnavailableError("gone")]
    assert not await admin.store_answers(within_ms=1_000)
