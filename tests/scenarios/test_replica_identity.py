"""The ISR names replicas as they were: a restart or an empty disk in between makes them others (rules R7, R8)."""

from collections.abc import AsyncIterator

import pytest

from cluster.model import keys
from cluster.model.values import NO_LEADER, Topic
from cluster.ports.coordination import Put
from tests.support.controlled_cluster import ControlledCluster
from tests.support.data_leader import isr_with, isr_without


@pytest.fixture
async def cluster() -> AsyncIterator[ControlledCluster]:
    cluster = await ControlledCluster.open()
    for node_id in (1, 2, 3):
        await cluster.start_node(node_id)
    yield cluster
    await cluster.close()


async def remove_from_isr(cluster: ControlledCluster, topic: Topic, node_id: int) -> None:
    change = isr_without(await cluster.item(keys.partition(topic.id, 0)), (node_id,), min_insync_replicas=1)
    assert change is not None
    assert (await cluster.store.transact(change.compares, [change.put])).succeeded


async def follower_of(cluster: ControlledCluster, topic: Topic) -> int:
    """One that is not the controller, so that its end is nobody's but its own."""
    state = await cluster.state(topic)
    return next(node for node in state.replicas if node not in {state.leader, 1})


async def test_an_add_that_races_a_restart_fails(cluster: ControlledCluster) -> None:
    """The follower caught up, the leader is about to say so, and the follower starts again with an empty disk."""
    topic = await cluster.create("orders")
    follower = await follower_of(cluster, topic)
    await remove_from_isr(cluster, topic, follower)
    as_read = await cluster.item(keys.partition(topic.id, 0))
    late = isr_with(as_read, await cluster.item(keys.node(follower)), incarnation=1)
    assert late is not None
    await cluster.stop_node(follower)
    await cluster.start_node(follower, incarnation=2, directory="a new disk")
    assert not (await cluster.store.transact(late.compares, [late.put])).succeeded
    state = await cluster.state(topic)
    assert follower not in state.isr
    assert state.directory_of(follower) == "a new disk", "the controller knows it as what it is now"
    again = isr_with(
        await cluster.item(keys.partition(topic.id, 0)), await cluster.item(keys.node(follower)), incarnation=1
    )
    assert again is None, "what caught up was its earlier life"
    now = isr_with(
        await cluster.item(keys.partition(topic.id, 0)), await cluster.item(keys.node(follower)), incarnation=2
    )
    assert now is not None
    assert (await cluster.store.transact(now.compares, [now.put])).succeeded


async def test_an_add_that_races_a_restart_fails_even_if_the_partition_did_not_change(
    cluster: ControlledCluster,
) -> None:
    topic = await cluster.create("orders")
    follower = await follower_of(cluster, topic)
    await remove_from_isr(cluster, topic, follower)
    partition = await cluster.item(keys.partition(topic.id, 0))
    late = isr_with(partition, await cluster.item(keys.node(follower)), incarnation=1)
    assert late is not None
    await cluster.start_node(follower, incarnation=2)  # the same disk, so the partition stays as it is
    assert await cluster.item(keys.partition(topic.id, 0)) == partition
    assert not (await cluster.store.transact(late.compares, [late.put])).succeeded


async def test_a_follower_with_an_empty_disk_is_out_before_anybody_is_elected(cluster: ControlledCluster) -> None:
    topic = await cluster.create("orders")
    state = await cluster.state(topic)
    follower = await follower_of(cluster, topic)
    other = next(node for node in state.replicas if node not in {state.leader, follower})
    await cluster.stop_node(follower)
    await cluster.start_node(follower, incarnation=2, directory="a new disk")
    assert follower not in (await cluster.state(topic)).isr
    await cluster.stop_node(other)
    await cluster.stop_node(state.leader)
    await cluster.clock.advance_ms(10_000)
    after = await cluster.state(topic)
    assert after.isr != (follower,)
    assert after.leader != follower, "the only node that lives has nothing"


async def test_the_wiped_leader_itself_is_not_elected_again(cluster: ControlledCluster) -> None:
    topic = await cluster.create("orders", replicas=1)
    state = await cluster.state(topic)
    await cluster.stop_node(state.leader)
    await cluster.clock.advance_ms(5_000)
    assert (await cluster.state(topic)).leader == state.leader, "nobody can follow it, and it may come back"
    await cluster.start_node(state.leader, incarnation=2, directory="a new disk")
    await cluster.clock.advance_ms(5_000)
    lost = await cluster.state(topic)
    assert (lost.leader, lost.isr) == (NO_LEADER, ())
    assert lost.replicas == state.replicas, "the partition is not given away as if it were empty"


async def test_a_leader_that_comes_back_in_the_same_life_goes_on(cluster: ControlledCluster) -> None:
    """All registrations lapse at once, as after a long absence of the store: nothing was lost, nothing changes."""
    topic = await cluster.create("orders", replicas=1)
    before = await cluster.item(keys.partition(topic.id, 0))
    registration = await cluster.item(keys.node((await cluster.state(topic)).leader))
    await cluster.store.revoke_lease(registration.lease_id)
    await cluster.clock.advance_ms(5_000)
    assert await cluster.item(keys.partition(topic.id, 0)) == before
    assert (await cluster.item(keys.node((await cluster.state(topic)).leader))).value == registration.value


async def test_the_last_replicas_standing_stay_electable(cluster: ControlledCluster) -> None:
    """Below min ISR nothing is acknowledged, so who was in sync then still has everything that was."""
    topic = await cluster.create("orders", min_isr=2)
    first = await cluster.state(topic)
    others = [node for node in first.replicas if node != first.leader]
    await cluster.stop_node(others[0])
    await cluster.stop_node(others[1])
    await cluster.clock.advance_ms(5_000)
    alone = await cluster.state(topic)
    assert alone.leader == first.leader
    assert len(alone.isr) == 2
    await cluster.stop_node(first.leader)
    kept = next(node for node in alone.isr if node != first.leader)
    await cluster.start_node(kept, incarnation=2)
    await cluster.clock.advance_ms(5_000)
    after = await cluster.state(topic)
    assert after.leader == kept
    assert after.leader_epoch > first.leader_epoch


async def test_a_foreign_partition_is_left_alone(cluster: ControlledCluster) -> None:
    """Without topic or tombstone nothing is decided about it (rule R13)."""
    value = (await cluster.item(keys.partition((await cluster.create("orders")).id, 0))).value
    await cluster.store.transact([], [Put(keys.partition("unknown", 0), value)])
    await cluster.clock.advance_ms(100_000)
    assert (await cluster.item(keys.partition("unknown", 0))).version == 1
