"""What nodes ask of each other, over connections that are cut, slow and broken, on virtual time."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from acklog.wire.limits import BATCH_BYTES_MAX
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.replication.assignment import ReplicaIdentity
from storage.replication.divergence import Diverged, LogPosition, Restart
from storage.replication.messages import (
    FetchAnswer,
    FetchMode,
    FetchRequest,
    LogAnswer,
    PartitionAnswer,
    PartitionFetch,
    PartitionId,
    SnapshotAnswer,
    SnapshotRequest,
)
from storage.replication.replication_settings import ReplicationSettings
from storage.rpc import methods
from storage.rpc.framing import FRAME_BYTES_MAX, FrameKind, encode_frame
from storage.rpc.peer_api import ProbeAnswer, ProbeRequest
from storage.rpc.peer_client import RemotePeer
from storage.rpc.rpc_settings import RpcClientSettings, RpcServerSettings
from storage.rpc.server import NodeServer
from tests.sim.environment import MachineClock, SimClock, SimEntropy
from tests.sim.loop import SimLoop, simulate
from tests.support.fake_node import FakeNode
from tests.support.fake_peer import FakePeer
from tests.support.memory_transport import MemoryTransport

PARTITION = PartitionId("0123456789abc", 7)
REQUEST = FetchRequest(
    ReplicaIdentity(2, 5, "directory"),
    FetchMode.LIVE,
    3,
    4,
    [PartitionFetch(PARTITION, 6, [LogPosition(10, 2), LogPosition(0, -1)])],
    [PartitionId("0123456789abc", 8)],
    1000,
    500,
)
ANSWER = FetchAnswer(
    5,
    3,
    4,
    [
        PartitionAnswer(
            PARTITION,
            6,
            logs=[
                LogAnswer(LogPosition(10, 2), 1, 9, 12, size_bytes=100_000),
                LogAnswer(LogPosition(0, -1), 3, 4, 5, diverged=Diverged(1, 2), restart=Restart(3)),
            ],
        ),
        PartitionAnswer(PartitionId("t", 1), 9, "fencedEpoch"),
    ],
    bytes(range(250)) * 400,
    is_unknown=True,
)


class _World:
    def __init__(self, loop: SimLoop, *, is_cut: bool, settings: RpcClientSettings) -> None:
        self.loop = loop
        self.peer = FakePeer()
        self.transport = MemoryTransport(cuts=random.Random(1) if is_cut else None)
        self.server = NodeServer(FakeNode(), self.transport, settings=RpcServerSettings(), peer=self.peer)
        self.lost = 0
        self.client = RemotePeer(
            self.transport,
            "node",
            clock=SimClock(MachineClock(loop)),
            entropy=SimEntropy(1),
            settings=settings,
            on_lost=self._on_lost,
        )

    def _on_lost(self) -> None:
        self.lost += 1


def run(
    scenario: Callable[[_World], Awaitable[None]],
    *,
    is_cut: bool = False,
    settings: RpcClientSettings | None = None,
) -> None:
    async def main(loop: SimLoop) -> None:
        world = _World(loop, is_cut=is_cut, settings=settings or RpcClientSettings())
        await world.server.start("node")
        await scenario(world)
        await world.client.close()
        await world.server.close()
        await asyncio.sleep(1)
        assert len(asyncio.all_tasks()) == 1

    for seed in range(5):
        simulate(seed, main)


@pytest.mark.parametrize("is_cut", [False, True])
def test_everything_arrives_as_it_was_said(is_cut: bool) -> None:
    async def scenario(world: _World) -> None:
        world.peer.behave("fetch", lambda request: ANSWER)
        assert await world.client.fetch(REQUEST) == ANSWER
        assert world.peer.calls("fetch") == [REQUEST]
        snapshot = SnapshotAnswer(6, 10, bytes(range(256)) * 300, "notLeader")
        world.peer.behave("snapshot", lambda request: snapshot)
        assert await world.client.snapshot(SnapshotRequest(PARTITION, 1, 6)) == snapshot
        assert world.peer.calls("snapshot") == [SnapshotRequest(PARTITION, 1, 6)]
        world.peer.behave("probe", lambda request: ProbeAnswer(1, 9))
        assert await world.client.probe(ProbeRequest(2)) == ProbeAnswer(1, 9)

    run(scenario, is_cut=is_cut)


def test_bulk_has_a_connection_of_its_own() -> None:
    """A live fetch is answered while the stream of the bulk is stuck behind a large answer."""

    async def scenario(world: _World) -> None:
        bulk = FetchRequest(ReplicaIdentity(2, 5, "d"), FetchMode.CATCH_UP, 1, 0, [], [], 1, 1)
        world.peer.behave("fetch", lambda request: ANSWER)
        call = asyncio.create_task(world.client.fetch(bulk))
        await asyncio.sleep(0)
        while len(world.transport.streams) < 2:
            await asyncio.sleep(0)
        world.transport.streams[0].pause_reading()
        assert await world.client.fetch(REQUEST) == ANSWER
        assert not call.done()
        assert world.transport.dials == 2
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

    run(scenario)


def test_a_fetch_may_wait_at_the_leader_and_then_be_late() -> None:
    async def scenario(world: _World) -> None:
        world.peer.hold("fetch")
        with pytest.raises(ServerError) as caught:
            await world.client.fetch(REQUEST)
        assert caught.value.code is ProblemCode.TIMED_OUT
        assert world.loop.time() == pytest.approx(1.5)
        await asyncio.sleep(0.1)
        assert world.peer.cancelled == ["fetch"]

    run(scenario, settings=RpcClientSettings(request_timeout_ms=1_000))


def test_every_broken_connection_is_told_and_a_closed_one_is_not() -> None:
    async def scenario(world: _World) -> None:
        await world.client.probe(ProbeRequest(2))
        world.transport.streams[1].abort()
        await asyncio.sleep(0.1)
        assert world.lost == 1
        world.transport.is_cut = True
        with pytest.raises(ServerError):
            await world.client.probe(ProbeRequest(2))
        assert world.lost == 1  # there was none
        world.transport.is_cut = False
        await asyncio.sleep(1)
        await world.client.probe(ProbeRequest(2))
        await world.client.close()
        await asyncio.sleep(0.1)
        assert world.lost == 1

    run(scenario)


def test_an_answer_with_the_largest_batch_and_the_most_partitions_fits_into_a_frame() -> None:
    log = LogAnswer(LogPosition(2**62, 2**31), 2**62, 2**62, 2**62, 2**31, restart=Restart(2**62))
    partition = PartitionAnswer(PartitionId("0123456789abc", 1023), 2**31, logs=[log, log])
    partitions: list[Any] = [partition] * ReplicationSettings().session_partitions_max
    body, _ = methods.FETCH.response.encode(FetchAnswer(2**31, 2**31, 2**31, partitions))
    buffers = encode_frame(FrameKind.RESPONSE, request_id=1, body=body, attachment=bytes(BATCH_BYTES_MAX))
    assert sum(map(len, buffers)) <= FRAME_BYTES_MAX
