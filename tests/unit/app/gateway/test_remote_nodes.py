import asyncio

import pytest

from acklog.wire.problems import ProblemCode
from app.gateway.remote_nodes import RemoteNodes
from cluster.errors import ServerError
from storage.rpc.rpc_settings import RpcClientSettings
from tests.sim.environment import SimEntropy
from tests.sim.loop import SimLoop, simulate
from tests.support.fake_node import ANSWERS, REQUESTS, FakeNode
from tests.support.wired_nodes import WiredNodes


class World(WiredNodes):
    def __init__(self, loop: SimLoop) -> None:
        super().__init__(loop)
        self.nodes = RemoteNodes(
            self.metadata,
            self.transport,
            clock=self.clock,
            entropy=SimEntropy(1),
            settings=RpcClientSettings(backoff_min_ms=5_000),
        )

    async def serve(self, address: str) -> FakeNode:
        node = FakeNode()
        await self.listen(address, node)
        return node


def with_world(main: object) -> None:
    async def run(loop: SimLoop) -> None:
        world = World(loop)
        await world.start()
        try:
            await main(world)  # type: ignore[operator]
        finally:
            await world.nodes.close()
            await world.close()

    simulate(1, run)


async def ask(world: World, node_id: int) -> object:
    return await world.nodes.client(node_id).inspect(REQUESTS["inspect"])


async def code_of_asking(world: World, node_id: int) -> ProblemCode:
    with pytest.raises(ServerError) as caught:
        await ask(world, node_id)
    return caught.value.code


def test_a_node_is_reached_where_it_registered_over_one_connection() -> None:
    async def main(world: World) -> None:
        await world.serve("a:1")
        assert await code_of_asking(world, 1) is ProblemCode.UNAVAILABLE
        await world.register(1, 1, "a:1")
        for _ in range(3):
            assert await ask(world, 1) == ANSWERS["inspect"]
        await world.register(1, 1, "a:1", is_leaving=True)
        assert await ask(world, 1) == ANSWERS["inspect"]
        assert world.transport.dials == 1

    with_world(main)


def test_a_node_that_moved_is_followed_and_its_old_connection_ended() -> None:
    async def main(world: World) -> None:
        old, new = await world.serve("a:1"), await world.serve("b:1")
        old.hold("inspect")
        await world.register(1, 1, "a:1")
        waiting = asyncio.ensure_future(code_of_asking(world, 1))
        while not old.seen:
            await asyncio.sleep(0)
        await world.register(1, 2, "b:1")
        assert await waiting is ProblemCode.UNAVAILABLE
        assert await ask(world, 1) == ANSWERS["inspect"]
        assert len(new.seen) == 1

    with_world(main)


def test_a_node_that_started_again_is_dialled_without_a_pause() -> None:
    async def main(world: World) -> None:
        await world.register(1, 1, "a:1")
        assert await code_of_asking(world, 1) is ProblemCode.UNAVAILABLE
        await world.serve("a:1")
        assert await code_of_asking(world, 1) is ProblemCode.UNAVAILABLE, "it backs off from an address that failed"
        await world.register(1, 2, "a:1")
        assert await ask(world, 1) == ANSWERS["inspect"]

    with_world(main)


def test_a_node_whose_registration_ended_keeps_its_connection_until_it_registers_anew() -> None:
    async def main(world: World) -> None:
        await world.serve("a:1")
        await world.register(1, 1, "a:1")
        await ask(world, 1)
        await world.unregister(1)
        assert await ask(world, 1) == ANSWERS["inspect"]
        await world.register(1, 1, "a:1")
        assert await ask(world, 1) == ANSWERS["inspect"]
        assert world.transport.dials == 1

    with_world(main)


def test_closing_tells_who_waits_and_refuses_what_comes() -> None:
    async def main(world: World) -> None:
        node = await world.serve("a:1")
        node.hold("inspect")
        await world.register(1, 1, "a:1")
        waiting = asyncio.ensure_future(code_of_asking(world, 1))
        while not node.seen:
            await asyncio.sleep(0)
        await world.nodes.close()
        assert await waiting is ProblemCode.UNAVAILABLE
        assert await code_of_asking(world, 1) is ProblemCode.UNAVAILABLE

    with_world(main)
