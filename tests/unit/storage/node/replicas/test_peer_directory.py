"""Connections to the other nodes follow their registrations, on virtual time."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.node.replicas.peer_directory import PEER_CLIENT, PeerDirectory
from storage.replication.replication_settings import ReplicationSettings
from storage.rpc.peer_api import ProbeAnswer, ProbeRequest
from tests.sim.environment import SimEntropy
from tests.sim.loop import SimLoop, simulate
from tests.support.fake_peer import FakePeer
from tests.support.wired_nodes import WiredNodes


class _World(WiredNodes):
    def __init__(self, loop: SimLoop) -> None:
        super().__init__(loop)
        self.directory = PeerDirectory(self.metadata, self.transport, clock=self.clock, entropy=SimEntropy(1))

    async def serve(self, address: str, incarnation: int) -> FakePeer:
        peer = FakePeer()
        peer.behave("probe", lambda request: ProbeAnswer(1, incarnation))
        await self.listen(address, peer=peer)
        return peer

    async def incarnation(self) -> int:
        return (await self.directory.peer(1).probe(ProbeRequest(2))).incarnation


def run(scenario: Callable[[_World], Awaitable[None]]) -> None:
    async def main(loop: SimLoop) -> None:
        world = _World(loop)
        await world.start()
        await scenario(world)
        await world.directory.close()
        await world.close()
        await asyncio.sleep(1)
        assert len(asyncio.all_tasks()) == 1

    for seed in range(5):
        simulate(seed, main)


def test_a_node_that_is_not_registered_is_unavailable() -> None:
    async def scenario(world: _World) -> None:
        with pytest.raises(ServerError) as caught:
            world.directory.peer(1)
        assert caught.value.code is ProblemCode.UNAVAILABLE
        await world.serve("here:1", 1)
        await world.register(1, 1, "here:1")
        assert await world.incarnation() == 1

    run(scenario)


def test_one_connection_is_used_again_and_again() -> None:
    async def scenario(world: _World) -> None:
        await world.serve("here:1", 1)
        await world.register(1, 1, "here:1")
        assert world.directory.peer(1) is world.directory.peer(1)
        for _ in range(3):
            await world.incarnation()
        assert world.transport.dials == 1

    run(scenario)


@pytest.mark.parametrize("address", ["here:2", "here:1"])
def test_a_node_that_registers_anew_is_dialled_anew_and_calls_to_the_old_one_end(address: str) -> None:
    async def scenario(world: _World) -> None:
        old = await world.serve("here:1", 1)
        old.hold("probe")
        await world.register(1, 1, "here:1")
        call = asyncio.create_task(world.incarnation())
        await asyncio.sleep(0.1)
        await world.serve(address, 2)
        await world.register(1, 2, address)
        with pytest.raises(ServerError) as caught:
            await call
        assert caught.value.code is ProblemCode.UNAVAILABLE
        assert await world.incarnation() == 2

    run(scenario)


def test_a_registration_that_is_only_renewed_or_ends_changes_nothing() -> None:
    """The coordination store was away, and the leases ended: the node lives, and is fetched from."""

    async def scenario(world: _World) -> None:
        await world.serve("here:1", 1)
        await world.register(1, 1, "here:1")
        peer = world.directory.peer(1)
        await world.register(1, 1, "here:1")
        await world.unregister(1)
        assert world.directory.peer(1) is peer
        assert await world.incarnation() == 1
        await world.register(1, 1, "here:1")
        assert world.directory.peer(1) is peer
        assert world.transport.dials == 1

    run(scenario)


def test_a_node_that_was_away_is_found_within_a_second() -> None:
    async def scenario(world: _World) -> None:
        await world.register(1, 1, "here:1")
        for _ in range(100):
            with pytest.raises(ServerError):
                await world.incarnation()
            await asyncio.sleep(0.1)
        await world.serve("here:1", 1)
        began = world.loop.time()
        while True:
            try:
                await world.incarnation()
                break
            except ServerError:
                await asyncio.sleep(0.01)
        assert world.loop.time() - began <= 1.1

    run(scenario)


def test_after_close_nobody_is_there() -> None:
    async def scenario(world: _World) -> None:
        peer = await world.serve("here:1", 1)
        peer.hold("probe")
        await world.register(1, 1, "here:1")
        call = asyncio.create_task(world.incarnation())
        await asyncio.sleep(0.1)
        await world.directory.close()
        with pytest.raises(ServerError):
            await call
        with pytest.raises(ServerError) as caught:
            world.directory.peer(1)
        assert caught.value.code is ProblemCode.UNAVAILABLE

    run(scenario)


def test_a_silent_connection_is_given_up_before_the_fetch_session_is() -> None:
    assert PEER_CLIENT.request_timeout_ms < ReplicationSettings().fetch_answer_timeout_ms
