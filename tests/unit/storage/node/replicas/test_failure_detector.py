"""Nodes that die, are cut off, or come back, and what the others do about it, on virtual time."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import structlog

from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.values import ControllerClaim, NodeRegistration
from cluster.ports.coordination import CoordinationUnavailableError, Delete, OutcomeUnknownError, Put
from cluster.stores.memory_store import MemoryStore
from storage.node.replicas.failure_detector import FailureDetector, FailureDetectorSettings
from storage.node.replicas.suspicion import SuspicionSettings
from storage.rpc.peer_api import ProbeAnswer, ProbeRequest
from storage.rpc.rpc_settings import RpcServerSettings
from storage.rpc.server import NodeServer
from tests.sim.environment import MachineClock, SimClock, SimEntropy
from tests.sim.loop import SimLoop, simulate
from tests.support.fake_node import FakeNode
from tests.support.fake_peer import FakePeer
from tests.support.flaky_store import FlakyStore
from tests.support.memory_transport import MemoryTransport

DEATH_S = 0.4
"""How long it may take until a dead process's registration is gone."""

SILENT_S = SuspicionSettings().silent_ms / 1000


class _Node:
    """A process: its server, and its detector with a view of its own."""

    def __init__(self, world: "_World", node_id: int, incarnation: int) -> None:
        self.node_id = node_id
        self.incarnation = incarnation
        self.address = f"node-{node_id}"
        self.world = world
        self.peer = FakePeer()
        self.peer.behave("probe", self._answer)
        self.server = NodeServer(FakeNode(), world.transport, settings=RpcServerSettings(), peer=self.peer)
        self.store = FlakyStore(world.store)
        self.metadata = MetadataView(self.store, world.clock)
        self.detector = FailureDetector(
            node_id,
            incarnation,
            metadata=self.metadata,
            store=self.store,
            transport=world.transport,
            clock=world.clock,
            entropy=SimEntropy(node_id),
            on_crashed=world.crashes.append,
        )

    def _answer(self, request: ProbeRequest) -> ProbeAnswer:
        return ProbeAnswer(self.node_id, self.incarnation)

    async def start(self) -> None:
        await self.serve()
        await self.metadata.start()
        self.detector.start()

    async def serve(self) -> None:
        await self.server.start(self.address)

    async def register(self) -> None:
        value = encode(NodeRegistration(self.node_id, self.incarnation, f"d{self.node_id}", self.address))
        await self.world.store.transact([], [Put(keys.node(self.node_id), value)])

    def hang_up(self) -> None:
        """Every connection to it breaks."""
        for stream in self.world.transport.streams:
            if stream.peer == self.address:
                stream.abort()

    async def kill(self) -> None:
        """As the operating system ends a process."""
        self.world.transport.forget(self.address)
        self.hang_up()
        await self.detector.close()
        await self.metadata.close()


class _World:
    def __init__(self, loop: SimLoop) -> None:
        self.loop = loop
        self.clock = SimClock(MachineClock(loop))
        self.transport = MemoryTransport()
        self.store = MemoryStore(self.clock)
        self.nodes: dict[int, _Node] = {}
        self.crashes: list[BaseException] = []

    async def start(self, *node_ids: int) -> None:
        for node_id in node_ids:
            self.nodes[node_id] = _Node(self, node_id, 1)
            await self.nodes[node_id].start()
            await self.nodes[node_id].register()
        await asyncio.sleep(2)

    async def registered(self) -> dict[int, int]:
        nodes = [decode(NodeRegistration, item.value) for item in (await self.store.list(keys.NODES)).items]
        return {node.node_id: node.incarnation for node in nodes}

    @property
    def declared_dead(self) -> int:
        return sum(node.detector.declared_dead for node in self.nodes.values())


def run(scenario: Callable[[_World], Awaitable[None]], *node_ids: int) -> None:
    async def main(loop: SimLoop) -> None:
        world = _World(loop)
        await world.start(*(node_ids or (1, 2, 3)))
        await scenario(world)
        assert world.crashes == []
        for node in world.nodes.values():
            await node.detector.close()
            await node.metadata.close()
            await node.server.close()
        await asyncio.sleep(1)
        assert len(asyncio.all_tasks()) == 1

    for seed in range(5):
        simulate(seed, main)


def test_a_dead_process_is_gone_in_a_fraction_of_a_second_with_its_office() -> None:
    async def scenario(world: _World) -> None:
        await world.store.transact([], [Put(keys.CONTROLLER, encode(ControllerClaim(2, 1)))])
        await world.nodes[2].kill()
        began = world.loop.time()
        while 2 in await world.registered():
            assert world.loop.time() - began < DEATH_S
            await asyncio.sleep(0.01)
        assert await world.store.get(keys.CONTROLLER) is None
        await asyncio.sleep(30)
        assert await world.registered() == {1: 1, 3: 1}
        assert world.declared_dead == 1

    run(scenario)


def test_the_office_of_another_node_stays() -> None:
    async def scenario(world: _World) -> None:
        await world.store.transact([], [Put(keys.CONTROLLER, encode(ControllerClaim(3, 1)))])
        await world.nodes[2].kill()
        await asyncio.sleep(DEATH_S)
        assert await world.registered() == {1: 1, 3: 1}
        assert await world.store.get(keys.CONTROLLER) is not None

    run(scenario)


@pytest.mark.parametrize("how", ["hang", "is_cut"])
def test_a_node_that_is_silent_after_the_break_has_time_to_notice_that_it_is_cut_off(how: str) -> None:
    async def scenario(world: _World) -> None:
        setattr(world.transport, how, True)
        world.nodes[2].hang_up()
        await asyncio.sleep(SILENT_S - 0.1)
        assert 2 in await world.registered()
        await asyncio.sleep(0.1 + DEATH_S)
        assert 2 not in await world.registered()
        setattr(world.transport, how, False)

    run(scenario)


def test_a_process_that_ends_behind_links_that_break_is_gone_when_they_are_mended() -> None:
    async def scenario(world: _World) -> None:
        world.transport.is_cut = True
        await world.nodes[2].kill()
        await asyncio.sleep(1)
        world.transport.is_cut = False
        await asyncio.sleep(2 * DEATH_S)
        assert await world.registered() == {1: 1, 3: 1}

    run(scenario)


def test_a_process_whose_connections_broke_lives_on() -> None:
    async def scenario(world: _World) -> None:
        for _ in range(5):
            world.nodes[2].hang_up()
            await asyncio.sleep(2)
        assert await world.registered() == {1: 1, 2: 1, 3: 1}
        await world.nodes[2].kill()  # it is watched still
        await asyncio.sleep(DEATH_S)
        assert await world.registered() == {1: 1, 3: 1}

    run(scenario)


def test_a_process_that_stands_still_is_left_to_its_lease() -> None:
    async def scenario(world: _World) -> None:
        world.nodes[2].peer.hold("probe")
        await asyncio.sleep(60)
        assert await world.registered() == {1: 1, 2: 1, 3: 1}

    run(scenario)


def test_a_process_that_was_started_again_at_once_registers_itself() -> None:
    async def scenario(world: _World) -> None:
        await world.nodes[2].kill()
        world.nodes[2] = _Node(world, 2, 2)
        await world.nodes[2].serve()
        await asyncio.sleep(1)
        assert await world.registered() == {1: 1, 2: 1, 3: 1}
        await world.nodes[2].register()
        await world.nodes[2].metadata.start()
        world.nodes[2].detector.start()
        await asyncio.sleep(2)
        assert await world.registered() == {1: 1, 2: 2, 3: 1}
        await world.nodes[2].kill()
        await asyncio.sleep(DEATH_S)
        assert await world.registered() == {1: 1, 3: 1}

    run(scenario)


def test_another_node_at_the_address_is_nobody() -> None:
    async def scenario(world: _World) -> None:
        await world.nodes[2].kill()
        stranger = _Node(world, 7, 1)
        stranger.address = "node-2"
        await stranger.serve()
        await asyncio.sleep(DEATH_S)
        assert await world.registered() == {1: 1, 3: 1}
        await stranger.server.close()

    run(scenario)


def test_a_node_that_is_not_registered_declares_nobody_dead() -> None:
    async def scenario(world: _World) -> None:
        await world.store.transact([], [Delete(keys.node(1))])
        await world.nodes[2].kill()
        await asyncio.sleep(10)
        assert await world.registered() == {2: 1}

    run(scenario, 1, 2)


def test_of_two_nodes_that_take_each_other_for_dead_one_stays() -> None:
    async def scenario(world: _World) -> None:
        world.transport.is_cut = True
        for node in world.nodes.values():
            node.hang_up()
        await asyncio.sleep(10)
        assert len(await world.registered()) == 1
        assert world.declared_dead == 1

    run(scenario, 1, 2)


def test_when_nobody_reaches_anybody_nobody_is_declared_dead() -> None:
    async def scenario(world: _World) -> None:
        world.transport.is_cut = True
        for node in world.nodes.values():
            node.hang_up()
        await asyncio.sleep(10)
        assert await world.registered() == {1: 1, 2: 1, 3: 1}
        world.transport.is_cut = False
        await asyncio.sleep(10)
        await world.nodes[2].kill()
        await asyncio.sleep(DEATH_S)
        assert await world.registered() == {1: 1, 3: 1}

    run(scenario)


def test_who_registers_again_is_watched_again() -> None:
    async def scenario(world: _World) -> None:
        await world.store.transact([], [Delete(keys.node(2))])
        await asyncio.sleep(1)
        await world.nodes[2].register()
        await asyncio.sleep(2)
        assert world.declared_dead == 0
        await world.nodes[2].kill()
        await asyncio.sleep(DEATH_S)
        assert await world.registered() == {1: 1, 3: 1}

    run(scenario)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_store_that_does_not_answer_is_asked_again_a_few_times(when: str) -> None:
    async def scenario(world: _World) -> None:
        for node in world.nodes.values():
            if when == "before":
                node.store.before["transact"] = [
                    CoordinationUnavailableError("away"),
                    CoordinationUnavailableError("a"),
                ]
            else:
                node.store.after["transact"] = [OutcomeUnknownError("late")]
        await world.nodes[2].kill()
        await asyncio.sleep(DEATH_S)
        assert await world.registered() == {1: 1, 3: 1}

    run(scenario)


def test_a_store_that_is_away_leaves_the_dead_to_their_leases() -> None:
    async def scenario(world: _World) -> None:
        for node in world.nodes.values():
            node.store.before["get"] = [CoordinationUnavailableError("away") for _ in range(1000)]
        await world.nodes[2].kill()
        with structlog.testing.capture_logs() as logs:
            await asyncio.sleep(60)
        assert await world.registered() == {1: 1, 2: 1, 3: 1}
        attempts = FailureDetectorSettings().declare_attempts_max
        assert [node.store.calls.count("get") for node in world.nodes.values()] == [attempts, 0, attempts]
        assert [entry["event"] for entry in logs].count("dead_node_left_to_its_lease") == 2
        for node in world.nodes.values():
            node.store.before.clear()

    run(scenario)
