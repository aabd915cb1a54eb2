"""A controller that was replaced without noticing changes nothing: its writes come late, and fail (rules R16, R17)."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.steering import NodeSteering
from cluster.model.values import ControllerClaim
from cluster.ports.coordination import Compare, CompareTarget, Operation, OutcomeUnknownError, Put, TransactionResult
from tests.support.controlled_cluster import ControlledCluster
from tests.support.manual_clock import settle


@pytest.fixture
async def cluster() -> AsyncIterator[ControlledCluster]:
    cluster = await ControlledCluster.open()
    yield cluster
    await cluster.close()


class HeldWrites:
    """A connection whose transactions are held back until they are let through, however late."""

    def __init__(self, cluster: ControlledCluster, node_id: int) -> None:
        store = cluster.nodes[node_id].store
        self._transact = store.transact
        self.waiting: list[asyncio.Event] = []
        self.results: list[TransactionResult] = []
        self._under_way: list[asyncio.Task[TransactionResult]] = []
        store.transact = self.transact  # type: ignore[method-assign]

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        gate = asyncio.Event()
        self.waiting.append(gate)
        try:
            await gate.wait()
        except asyncio.CancelledError:
            # The process was told to stop, but what it had sent is under way.
            self._under_way.append(asyncio.create_task(self._arrive(gate, compares, then, otherwise)))
            raise
        return await self._arrive(gate, compares, then, otherwise)

    async def _arrive(
        self,
        gate: asyncio.Event,
        compares: Sequence[Compare],
        then: Sequence[Operation],
        otherwise: Sequence[Operation],
    ) -> TransactionResult:
        await gate.wait()
        result = await self._transact(compares, then, otherwise)
        self.results.append(result)
        return result

    async def let_through(self) -> None:
        for gate in self.waiting:
            gate.set()
        await settle(50)


async def test_writes_that_arrive_after_the_next_election_fail(cluster: ControlledCluster) -> None:
    for node_id in (1, 2, 3):
        await cluster.start_node(node_id)
    assert cluster.controllers() == [1]
    topic = await cluster.create("orders")
    before = await cluster.state(topic)
    held = HeldWrites(cluster, 1)
    await cluster.stop_node(before.leader if before.leader != 1 else 3)
    await settle(50)
    assert held.waiting, "the controller has decided something, and its write is under way"
    token = (await cluster.item(keys.CONTROLLER)).create_revision
    await cluster.store.revoke_lease((await cluster.item(keys.CONTROLLER)).lease_id)
    await settle(50)
    claim = await cluster.item(keys.CONTROLLER)
    assert decode(ControllerClaim, claim.value).node_id != 1
    assert claim.create_revision > token
    after_the_next_one = await cluster.state(topic)
    await held.let_through()
    assert held.results
    assert not any(result.succeeded for result in held.results)
    assert await cluster.state(topic) == after_the_next_one
    await cluster.clock.advance_ms(1_000)
    assert not cluster.nodes[1].host.is_controller


async def test_a_paused_controller_writes_nothing_when_it_wakes(cluster: ControlledCluster) -> None:
    for node_id in (1, 2):
        await cluster.start_node(node_id)
    topic = await cluster.create("orders", partitions=2, replicas=2)
    host = cluster.nodes[1].host
    assert host.is_controller
    before = host.figures.transactions
    cluster.clock._monotonic_ms += 2_500  # nothing runs while the process stands still
    assert not host.is_controller, "it knows before anything else happens"
    cluster.nodes[1].store.calls.clear()
    await cluster.store.transact([], [Put(keys.node_steering(1), encode(NodeSteering(1, 0)))])
    await settle(50)
    assert "transact" not in cluster.nodes[1].store.calls
    assert host.figures.transactions == before
    assert (await cluster.state(topic)).leader_epoch == 1


async def test_two_controllers_at_once_do_no_harm(cluster: ControlledCluster) -> None:
    """The first cannot be told that it is over, and goes on as long as it believes in its term."""
    for node_id in (1, 2, 3):
        await cluster.start_node(node_id)
    topics = [await cluster.create(f"t{number}", partitions=4) for number in range(3)]
    first = cluster.nodes[1].host
    await cluster.store.revoke_lease((await cluster.item(keys.CONTROLLER)).lease_id)
    await settle(50)
    assert len(cluster.controllers()) == 2, "for a moment two believe in themselves"
    await cluster.stop_node(3)
    await cluster.clock.advance_ms(2_000)
    assert first.figures.fenced >= 1 or not first.is_controller
    assert cluster.controllers() == [2]
    for topic in topics:
        for number in range(4):
            state = await cluster.state(topic, number)
            assert state.leader in (1, 2)
            assert state.isr == tuple(node for node in state.replicas if node != 3)
            assert state.leader_epoch <= 2, "each was elected once"


async def test_a_write_of_unknown_outcome_is_never_done_twice(cluster: ControlledCluster) -> None:
    for node_id in (1, 2, 3):
        await cluster.start_node(node_id)
    topic = await cluster.create("orders", partitions=6)
    store = cluster.nodes[1].store
    store.after["transact"] = [OutcomeUnknownError("?")]
    victim = 2
    led = [number for number in range(6) if (await cluster.state(topic, number)).leader == victim]
    assert led
    await cluster.stop_node(victim)
    await cluster.clock.advance_ms(5_000)
    for number in range(6):
        state = await cluster.state(topic, number)
        assert state.leader_epoch == (2 if number in led else 1)
        assert victim not in state.isr
    assert cluster.nodes[1].host.figures.store_failures == 1


async def test_every_write_of_a_controller_is_fenced(cluster: ControlledCluster) -> None:
    await cluster.start_node(1)
    store = cluster.nodes[1].store
    seen: list[tuple[Compare, ...]] = []
    real = store.transact

    async def watched(
        compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        seen.append(tuple(compares))
        return await real(compares, then, otherwise)

    store.transact = watched  # type: ignore[method-assign]
    topic = await cluster.create("orders", partitions=300, replicas=1)
    await settle(50)
    await cluster.topics.delete("orders")
    await settle(50)
    token = (await cluster.item(keys.CONTROLLER)).create_revision
    assert len(seen) >= 6
    assert all(Compare(keys.CONTROLLER, CompareTarget.CREATE_REVISION, token) in compares for compares in seen)
    assert await cluster.store.get(keys.partition(topic.id, 0)) is None
