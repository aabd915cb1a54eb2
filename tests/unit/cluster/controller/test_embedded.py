import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from cluster.catalog.topic_admin import TopicAdmin
from cluster.controller.embedded import ControllerSettings, EmbeddedController
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.values import PartitionState, Tombstone, Topic, TopicConfig
from cluster.ports.coordination import CoordinationUnavailableError, OutcomeUnknownError, Put
from cluster.stores.memory_store import MemoryStore
from tests.support.counting_entropy import CountingEntropy
from tests.support.flaky_store import FlakyStore
from tests.support.manual_clock import ManualClock, settle


@dataclass
class Server:
    clock: ManualClock
    store: FlakyStore
    metadata: MetadataView
    topics: TopicAdmin
    controllers: list[EmbeddedController] = field(default_factory=list)

    async def start_controller(self, settings: ControllerSettings | None = None) -> int:
        controller = EmbeddedController(self.store, node_id=1, clock=self.clock, settings=settings)
        self.controllers.append(controller)
        return await controller.start()

    async def create(self, name: str, partitions: int = 3) -> Topic:
        return await self.topics.create(name, partitions=partitions, config=TopicConfig(), replication_factor=1)

    async def states(self) -> list[PartitionState]:
        return [decode(PartitionState, item.value) for item in (await self.store.list(keys.PARTITIONS)).items]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    clock = ManualClock()
    store = FlakyStore(MemoryStore(clock))
    metadata = MetadataView(store, clock)
    await metadata.start()
    server = Server(clock, store, metadata, TopicAdmin(store, metadata, clock=clock, entropy=CountingEntropy()))
    yield server
    for controller in server.controllers:
        await controller.close()
    await metadata.close()
    await store.close()


async def test_a_new_topic_gets_its_partitions(server: Server) -> None:
    assert await server.start_controller() == 1
    topic = await server.create("a")
    await settle()
    assert await server.states() == [PartitionState(topic.id, number, (1,), (1,), 1, 1, 1) for number in range(3)]
    assert server.metadata.partitions(topic.id) == await server.states()


async def test_a_large_topic_takes_several_transactions(server: Server) -> None:
    await server.start_controller()
    topic = await server.create("a", partitions=1024)
    await settle(50)
    assert len(server.metadata.partitions(topic.id)) == 1024


async def test_a_grown_topic_gets_the_new_ones_only(server: Server) -> None:
    await server.start_controller()
    topic = await server.create("a", partitions=2)
    await settle()
    before = await server.states()
    await server.topics.update("a", partitions=4)
    await settle()
    after = await server.states()
    assert after[:2] == before
    assert [state.partition for state in after] == [0, 1, 2, 3]
    assert server.metadata.partitions(topic.id) == after


async def test_a_deleted_topic_loses_its_partitions_and_offsets(server: Server) -> None:
    await server.start_controller()
    topic, other = await server.create("a"), await server.create("b")
    await settle()
    await server.store.transact([], [Put(keys.offsets("g", topic.id), b""), Put(keys.offsets("g", other.id), b"")])
    await server.topics.delete("a")
    await settle()
    assert {state.topic_id for state in await server.states()} == {other.id}
    assert [item.key for item in (await server.store.list(keys.OFFSETS)).items] == [keys.offsets("g", other.id)]
    await server.store.transact([], [Put(keys.offsets("g", topic.id), b"late")])
    await settle()
    assert await server.store.get(keys.offsets("g", topic.id)) is None


async def test_every_start_takes_a_new_epoch_of_what_it_leads(server: Server) -> None:
    await server.start_controller()
    await server.create("a", partitions=300)
    await settle(50)
    others = PartitionState("other", 0, (2,), (2,), 2, 9, 5)
    await server.store.transact([], [Put(keys.partition("other", 0), encode(others))])
    for incarnation in (2, 3):
        await server.controllers[-1].close()
        assert await server.start_controller() == incarnation
        states = await server.states()
        mine = [state for state in states if state.leader == 1]
        assert len(mine) == 300
        assert {(state.leader_incarnation, state.leader_epoch) for state in mine} == {(incarnation, incarnation)}
        assert others in states


async def test_what_was_cut_short_is_completed_at_the_start(server: Server) -> None:
    grown, deleted = Topic("t1", "grown", 3, 1, 0), PartitionState("t2", 0, (1,), (1,), 1, 1, 4)
    await server.store.transact(
        [],
        [
            Put(keys.topic("grown"), encode(grown)),
            Put(keys.partition("t1", 1), encode(PartitionState("t1", 1, (1,), (1,), 1, 1, 6))),
            Put(keys.partition("t2", 0), encode(deleted)),
            Put(keys.tombstone("t2"), encode(Tombstone("t2", "deleted", 0))),
            Put(keys.partition("t3", 0), encode(PartitionState("t3", 0, (1,), (1,), 1, 1, 1))),
        ],
    )
    await server.store.transact([], [Put(keys.incarnation(1), b"1")])
    assert await server.start_controller() == 2
    assert [(state.topic_id, state.partition, state.leader_epoch) for state in await server.states()] == [
        ("t1", 0, 1),
        ("t1", 1, 7),
        ("t1", 2, 1),
        ("t3", 0, 1),  # without topic or tombstone: not touched
    ]


async def test_an_unreachable_store_delays_and_an_unknown_outcome_does_no_harm(server: Server) -> None:
    await server.start_controller()
    topic = await server.create("a")  # the controller has not run yet, or its write fails below
    await settle()
    server.store.before["transact"] = []
    server.store.after["transact"] = []
    server.store.calls.clear()

    def fail_the_controller(call: str) -> None:
        if call == "transact" and server.store.calls.count("transact") == 2:
            server.store.before["transact"] = [CoordinationUnavailableError("down")]
        if call == "transact" and server.store.calls.count("transact") == 3:
            server.store.after["transact"] = [OutcomeUnknownError("?")]

    server.store.on_call = fail_the_controller
    await server.topics.update("a", partitions=6)
    await settle()
    assert len(server.metadata.partitions(topic.id)) == 3
    await server.clock.advance_ms(100)
    await server.clock.advance_ms(200)
    assert [state.leader_epoch for state in server.metadata.partitions(topic.id)] == [1] * 6
    await server.clock.advance_ms(10_000)
    calls = len(server.store.calls)
    await server.clock.advance_ms(10_000)
    assert len(server.store.calls) == calls, "nothing is left to do"


async def test_many_changes_at_once(server: Server) -> None:
    await server.start_controller()
    topics = await asyncio.gather(*(server.create(f"t{number}", partitions=2) for number in range(20)))
    for topic in topics[::2]:
        await server.topics.delete(topic.name)
    await asyncio.gather(*(server.topics.update(topic.name, partitions=5) for topic in topics[1::2]))
    await settle(100)
    states = await server.states()
    assert len(states) == 10 * 5
    assert {state.topic_id for state in states} == {topic.id for topic in topics[1::2]}
    assert {state.leader_epoch for state in states} == {1}


async def test_old_tombstones_are_forgotten(server: Server) -> None:
    settings = ControllerSettings(tombstone_retention_ms=10_000, forgetting_interval_ms=1_000)
    await server.start_controller(settings)
    await server.create("a")
    await settle()
    await server.topics.delete("a")
    await server.clock.advance_ms(10_000)
    assert (await server.store.list(keys.TOMBSTONES)).items
    await server.clock.advance_ms(1_001)
    assert (await server.store.list(keys.TOMBSTONES)).items == ()


async def test_a_start_without_a_store_fails(server: Server) -> None:
    server.store.before["get"] = [CoordinationUnavailableError("down")] * 100
    starting = asyncio.ensure_future(server.start_controller())
    await server.clock.advance_ms(200_000)
    with pytest.raises(CoordinationUnavailableError):
        await starting


async def test_closing_while_it_starts_lets_go_of_who_waits(server: Server) -> None:
    server.store.before["list"] = [CoordinationUnavailableError("down")] * 100
    starting = asyncio.ensure_future(server.start_controller())
    await settle()
    await server.controllers[0].close()
    with pytest.raises(CoordinationUnavailableError):
        await starting
    server.store.before["list"] = []
