import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from cluster.catalog.cluster_admin import ClusterAdmin
from cluster.controller.figures import ControllerFigures
from cluster.controller.loop import ControllerLoop
from cluster.controller.progress import progress
from cluster.controller.steps import DecisionKind
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import PartitionState, Topic
from cluster.ports.coordination import Changed, CoordinationUnavailableError, Put, WatchBatch
from tests.support.controlled_cluster import SETTINGS, ControlledCluster
from tests.support.data_leader import isr_with
from tests.support.manual_clock import settle


@pytest.fixture
async def cluster() -> AsyncIterator[ControlledCluster]:
    cluster = await ControlledCluster.open()
    yield cluster
    await cluster.close()


async def catch_up(cluster: ControlledCluster, topic: Topic) -> None:
    """Every follower of a living leader is in sync at once."""
    for item in (await cluster.store.list(keys.partitions_of(topic.id))).items:
        state = decode(PartitionState, item.value)
        for node in state.replicas:
            registration = await cluster.store.get(keys.node(node))
            if state.leader in cluster.nodes and registration is not None:
                change = isr_with(
                    await cluster.item(item.key),
                    registration,
                    incarnation=cluster.nodes[node].registration.incarnation,
                )
                if change is not None:
                    await cluster.store.transact(change.compares, [change.put])
    await settle(50)


async def test_a_dead_node_is_followed_at_once(cluster: ControlledCluster) -> None:
    for node_id in (1, 2, 3):
        await cluster.start_node(node_id)
    topic = await cluster.create("orders", partitions=6)
    await cluster.stop_node(3)
    for number in range(6):
        state = await cluster.state(topic, number)
        assert state.leader in (1, 2)
        assert 3 not in state.isr
    figures = cluster.nodes[1].host.figures
    assert figures.decisions[DecisionKind.LEADER_ELECTED] == 2
    assert figures.is_controller
    assert figures.terms == 1


async def test_when_the_controller_dies_another_goes_on(cluster: ControlledCluster) -> None:
    for node_id in (1, 2, 3):
        await cluster.start_node(node_id)
    topic = await cluster.create("orders", partitions=6)
    assert cluster.nodes[2].host.image is None
    for call in ("keep_alive", "get", "list", "transact", "grant_lease", "revoke_lease"):
        cluster.nodes[1].store.before[call] = [CoordinationUnavailableError("cut off")] * 1_000
    await cluster.clock.advance_ms(3_100)
    [controller] = cluster.controllers()
    assert controller != 1
    await cluster.clock.advance_ms(8_000)
    for number in range(6):
        assert (await cluster.state(topic, number)).leader != 1
    image = cluster.nodes[controller].host.image
    assert image is not None
    assert progress(image).without_leader == 0


async def test_a_clean_stop_of_the_controller_needs_no_waiting(cluster: ControlledCluster) -> None:
    for node_id in (1, 2):
        await cluster.start_node(node_id)
    await cluster.stop_node(1)
    assert cluster.controllers() == [2]


async def test_a_planned_stop_hands_over_first(cluster: ControlledCluster) -> None:
    for node_id in (1, 2, 3):
        await cluster.start_node(node_id)
    topic = await cluster.create("orders", partitions=3)
    await cluster.nodes[2].registrar.announce_leaving()
    await settle(50)
    for number in range(3):
        state = await cluster.state(topic, number)
        assert state.leader != 2
        assert 2 in state.isr


async def test_a_node_is_drained_to_the_end(cluster: ControlledCluster) -> None:
    for node_id in (1, 2, 3, 4):
        await cluster.start_node(node_id)
    topic = await cluster.create("orders", partitions=8, replicas=2)
    await ClusterAdmin(cluster.store, cluster.metadata, clock=cluster.clock).drain(2)
    for _ in range(20):
        await cluster.clock.advance_ms(1_000)
        await catch_up(cluster, topic)
    for number in range(8):
        state = await cluster.state(topic, number)
        assert 2 not in state.replicas
        assert not state.is_moving
        assert len(state.isr) == 2


async def test_an_unreachable_store_delays_only(cluster: ControlledCluster) -> None:
    await cluster.start_node(1)
    cluster.nodes[1].store.before["transact"] = [CoordinationUnavailableError("down")] * 2
    topic = await cluster.create("orders", replicas=1)
    await cluster.clock.advance_ms(1_000)
    assert (await cluster.state(topic)).leader == 1
    assert cluster.nodes[1].host.figures.store_failures == 2


async def test_one_step_out_of_date_does_not_hold_up_the_others(cluster: ControlledCluster) -> None:
    for node_id in (1, 2, 3):
        await cluster.start_node(node_id)
    topic = await cluster.create("orders", partitions=8)
    store = cluster.nodes[1].store
    spoilt = await cluster.item(keys.partition(topic.id, 5))
    real = store.transact
    spoiling = [Put(spoilt.key, spoilt.value)]

    async def late(*arguments: Any) -> Any:
        """Just before the controller's first write, somebody else changes one of the partitions."""
        while spoiling:
            await cluster.store.transact([], [spoiling.pop()])
        return await real(*arguments)

    store.transact = late  # type: ignore[method-assign]
    await cluster.stop_node(3)
    await cluster.clock.advance_ms(10)
    for number in range(8):
        assert 3 not in (await cluster.state(topic, number)).isr
    figures = cluster.nodes[1].host.figures
    assert 0 < figures.conflicts <= 4, "halved until only the one is left"


async def test_news_can_be_gathered(cluster: ControlledCluster) -> None:
    cluster.settings = replace(SETTINGS, debounce_ms=50)
    await cluster.start_node(1)
    plans = cluster.nodes[1].host.figures.plans
    for number in range(10):
        await cluster.create(f"t{number}", replicas=1)
    await cluster.clock.advance_ms(49)
    assert cluster.nodes[1].host.figures.plans <= plans + 1
    await cluster.clock.advance_ms(200)
    assert len((await cluster.store.list(keys.PARTITIONS)).items) == 10
    assert cluster.nodes[1].host.figures.plans <= plans + 5


class LateWatch:
    """Only what is put into `batches` comes of it."""

    def __init__(self) -> None:
        self.batches: asyncio.Queue[WatchBatch] = asyncio.Queue()

    def __aiter__(self) -> "LateWatch":
        return self

    async def __anext__(self) -> WatchBatch:
        return await self.batches.get()

    async def aclose(self) -> None:
        pass


async def test_own_writes_that_do_not_show_are_waited_for_only_so_long(cluster: ControlledCluster) -> None:
    node = await cluster.start_node(1)
    await node.host.close()
    topic = await cluster.create("orders", replicas=1)
    watch = LateWatch()
    node.store.watch = lambda prefix, start_revision: watch  # type: ignore[method-assign,assignment]
    figures = ControllerFigures()
    loop = ControllerLoop(node.store, clock=cluster.clock, settings=SETTINGS, figures=figures)
    running = asyncio.create_task(loop.run())
    await settle(50)
    assert figures.transactions == 1
    item = await cluster.item(keys.topic("orders"))
    watch.batches.put_nowait(WatchBatch(item.mod_revision, (Changed(item),)))
    await cluster.clock.advance_ms(SETTINGS.own_writes_timeout_ms - 1)
    assert figures.plans == 1, "what it wrote does not show yet"
    await cluster.clock.advance_ms(1)
    assert (figures.plans, figures.conflicts) == (2, 1), "it goes by what it sees, and its guards refuse it"
    assert (await cluster.item(keys.partition(topic.id, 0))).version == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_value_that_is_not_understood_is_left_alone(cluster: ControlledCluster) -> None:
    await cluster.start_node(1)
    topic = await cluster.create("orders", replicas=1)
    await cluster.store.transact([], [Put(keys.partition(topic.id, 0), b"?"), Put(keys.STEERING_CLUSTER, b"?")])
    await cluster.start_node(2)
    await cluster.clock.advance_ms(60_000)
    assert (await cluster.item(keys.partition(topic.id, 0))).value == b"?"
    image = cluster.nodes[1].host.image
    assert image is not None
    assert sorted(image.undecodable) == [keys.partition(topic.id, 0), keys.STEERING_CLUSTER]
    assert not image.steering.automatic_moves
