"""What each part of a cluster may ask a node for, by what it has proved to be; and that whoever dials knows whom it has
reached."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.tls.peer_identity import GATEWAY, NOBODY, PeerIdentity, node_identity
from storage.replication.assignment import ReplicaIdentity
from storage.replication.messages import (
    FetchAnswer,
    FetchMode,
    FetchRequest,
    PartitionId,
    SnapshotAnswer,
    SnapshotRequest,
)
from storage.rpc.client import RemoteNode
from storage.rpc.methods import NODE_METHODS, PEER_METHODS
from storage.rpc.peer_api import ProbeAnswer, ProbeRequest
from storage.rpc.peer_client import RemotePeer
from storage.rpc.rpc_settings import RpcClientSettings, RpcServerSettings
from storage.rpc.server import NodeServer
from tests.sim.environment import MachineClock, SimClock, SimEntropy
from tests.sim.loop import SimLoop, simulate
from tests.support.fake_node import ANSWERS, REQUESTS, FakeNode
from tests.support.fake_peer import FakePeer
from tests.support.memory_transport import MemoryTransport

NODE_2, NODE_3 = node_identity(2), node_identity(3)
SERVING = node_identity(1)
FOLLOWER = ReplicaIdentity(2, 5, "directory")

PEER_REQUESTS: dict[str, Any] = {
    "fetch": FetchRequest(FOLLOWER, FetchMode.LIVE, 1, 0, [], [], 1, 1),
    "snapshot": SnapshotRequest(PartitionId("t", 1), 1, 6),
    "probe": ProbeRequest(2),
}
PEER_ANSWERS: dict[str, Any] = {
    "fetch": FetchAnswer(9, 1, 0, []),
    "snapshot": SnapshotAnswer(6, 10, b"state"),
    "probe": ProbeAnswer(1, 9),
}
SAYS_WHO_IT_IS = {"fetch", "probe"}


class _World:
    def __init__(self, loop: SimLoop, dialling: PeerIdentity | None, *, is_node: bool) -> None:
        self.node, self.peer = FakeNode(), FakePeer()
        for name, answer in PEER_ANSWERS.items():
            self.peer.behave(name, lambda _request, answer=answer: answer)
        self.transport = MemoryTransport(cuts=random.Random(1))
        self.transport.dialling = dialling
        self.transport.answering = None if dialling is None else SERVING
        self.server = NodeServer(self.node, self.transport, settings=RpcServerSettings(), peer=self.peer)
        clock, entropy = SimClock(MachineClock(loop)), SimEntropy(1)
        settings = replace(RpcClientSettings(), is_node=is_node)
        make = {"clock": clock, "entropy": entropy, "settings": settings, "expects": SERVING}
        self.as_gateway = RemoteNode(self.transport, "node", **make)  # type: ignore[arg-type]
        self.as_node = RemotePeer(self.transport, "node", **make)  # type: ignore[arg-type]

    async def call(self, name: str) -> object:
        if name in PEER_REQUESTS:
            return await getattr(self.as_node, name)(PEER_REQUESTS[name])
        return await getattr(self.as_gateway, name)(REQUESTS[name])

    @property
    def reached(self) -> bool:
        return bool(self.node.seen) or any(self.peer.calls(name) for name in PEER_REQUESTS)


def run(scenario: Callable[[_World], Awaitable[None]], dialling: PeerIdentity | None, *, is_node: bool = False) -> None:
    async def main(loop: SimLoop) -> None:
        world = _World(loop, dialling, is_node=is_node)
        await world.server.start("node")
        await scenario(world)
        await world.as_gateway.close()
        await world.as_node.close()
        await world.server.close()
        await asyncio.sleep(1)
        assert len(asyncio.all_tasks()) == 1

    simulate(1, main)


def is_allowed(name: str, dialling: PeerIdentity | None) -> bool:
    """The rights as a table would have them."""
    if dialling is None:
        return True
    if dialling == NOBODY:
        return False
    if name not in PEER_REQUESTS:
        return True
    return dialling == NODE_2 or (dialling == NODE_3 and name not in SAYS_WHO_IT_IS)


@pytest.mark.parametrize("dialling", [None, NOBODY, GATEWAY, NODE_2, NODE_3], ids=str)
@pytest.mark.parametrize("name", [method.name for method in (*NODE_METHODS.values(), *PEER_METHODS.values())])
def test_each_call_is_for_those_who_need_it(name: str, dialling: PeerIdentity | None) -> None:
    async def scenario(world: _World) -> None:
        if is_allowed(name, dialling):
            assert await world.call(name) == (PEER_ANSWERS | ANSWERS)[name]
            return
        with pytest.raises(ServerError) as caught:
            await world.call(name)
        assert caught.value.code in {ProblemCode.FORBIDDEN, ProblemCode.UNAVAILABLE}
        assert not world.reached

    run(scenario, dialling)


@pytest.mark.parametrize(("dialling", "is_let_in"), [(GATEWAY, False), (NOBODY, False), (NODE_2, True), (None, True)])
def test_who_says_that_it_is_a_node_has_to_be_one(dialling: PeerIdentity | None, is_let_in: bool) -> None:
    async def scenario(world: _World) -> None:
        if is_let_in:
            await world.call("positions")
            return
        with pytest.raises(ServerError) as caught:
            await world.call("positions")
        assert caught.value.code is ProblemCode.UNAVAILABLE
        assert not world.reached

    run(scenario, dialling, is_node=True)


@pytest.mark.parametrize("answering", [node_identity(7), GATEWAY, NOBODY])
@pytest.mark.parametrize("name", ["produce", "fetch"])
def test_nothing_is_said_to_somebody_else_at_the_address(name: str, answering: PeerIdentity) -> None:
    """An address that was another process's a moment ago, or that somebody has taken."""

    async def scenario(world: _World) -> None:
        world.transport.answering = answering
        with pytest.raises(ServerError) as caught:
            await world.call(name)
        assert caught.value.code is ProblemCode.UNAVAILABLE
        assert f"node 1 was to answer at node, and {answering} did" in caught.value.detail
        assert not world.reached

    run(scenario, NODE_2)
