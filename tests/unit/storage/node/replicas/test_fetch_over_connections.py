"""Both sides of replication's transport, with everything between them: directory, connections, sessions, service.

Followers fetch growing logs from two nodes, while connections break, processes restart and answers get lost. Whatever
happens, every byte arrives, in order and once.
"""

import asyncio
import random

from storage.node.replicas.fetch_service import FetchService
from storage.node.replicas.fetch_sessions import FetchSessions
from storage.node.replicas.peer_directory import PeerDirectory
from storage.replication.assignment import ReplicaIdentity
from storage.replication.follower_events import Answered
from storage.replication.messages import FetchAnswer, FetchMode, FetchRequest, PartitionId
from storage.replication.replication_settings import ReplicationSettings
from tests.sim.environment import SimEntropy
from tests.sim.loop import SimLoop, simulate
from tests.support.fake_peer import FakePeer
from tests.support.led_logs import LedLogs, content, fetch_from, partition
from tests.support.memory_transport import MemoryTransport
from tests.support.wired_nodes import WiredNodes

SETTINGS = ReplicationSettings(
    fetch_bytes_max=2_000, partition_fetch_bytes_max=300, fetch_partitions_max=12, live_lag_records_max=500
)
PARTITIONS = 40
RECORDS = 2_000
LEADERS = (1, 2)


class _Leader(FakePeer):
    """A node that leads every second partition."""

    def __init__(self, world: "_World", node_id: int) -> None:
        super().__init__()
        self.node_id = node_id
        self.incarnation = 0
        self.logs = LedLogs()
        self.fetches = 0
        self._world = world

    async def start(self) -> None:
        self.incarnation += 1
        self.address = f"node-{self.node_id}:{self.incarnation}"
        self.service = FetchService(self.logs, clock=self._world.clock, settings=SETTINGS)
        self.server = await self._world.listen(self.address, peer=self)
        await self._world.register(self.node_id, self.incarnation, self.address)

    async def stop(self) -> None:
        self.service.stop()
        await self.server.close()

    async def fetch(self, request: FetchRequest) -> FetchAnswer:
        self.fetches += 1
        return await self.service.fetch(request)


class _World(WiredNodes):
    def __init__(self, loop: SimLoop, seed: int) -> None:
        super().__init__(loop, MemoryTransport(cuts=random.Random(seed) if seed % 2 else None))
        self.random = random.Random(f"fetches {seed}")
        self.leaders = {node_id: _Leader(self, node_id) for node_id in LEADERS}
        self.got: dict[PartitionId, bytearray] = {partition(number): bytearray() for number in range(PARTITIONS)}

    async def start(self) -> None:
        for leader in self.leaders.values():
            await leader.start()
        await super().start()
        self.directory = PeerDirectory(self.metadata, self.transport, clock=self.clock, entropy=SimEntropy(1))
        self.sessions = FetchSessions(
            ReplicaIdentity(3, 1, "d3"),
            self.directory,
            clock=self.clock,
            settings=SETTINGS,
            on_answered=self.take,
            on_crashed=self.crash,
        )
        for number in range(PARTITIONS):
            self.offer(number)

    async def close(self) -> None:
        await self.sessions.close()
        await self.directory.close()
        for leader in self.leaders.values():
            await leader.stop()
        await super().close()

    def leader_of(self, number: int) -> _Leader:
        return self.leaders[LEADERS[number % 2]]

    def crash(self, error: BaseException) -> None:
        raise AssertionError("crashed") from error

    def offer(self, number: int) -> None:
        at = len(self.got[partition(number)])
        lag = self.leader_of(number).logs.ends.get(partition(number), 0) - at
        mode = FetchMode.CATCH_UP if lag > SETTINGS.live_lag_records_max else FetchMode.LIVE
        self.sessions.offer(self.leader_of(number).node_id, mode, fetch_from(number, at))

    def take(self, answered: Answered) -> None:
        """As a follower's replica: what is not for its position is void."""
        answer = answered.answer
        got = self.got[answer.id]
        assert not answer.refusal
        if answer.logs[0].position.offset == len(got):
            got += answered.batches[0]
            assert len(got) <= self.leader_of(answer.id.partition).logs.ends[answer.id] or not answer.is_work
        if answer.is_work:
            self.offer(answer.id.partition)

    def grow(self, number: int, records: int) -> None:
        leader = self.leader_of(number)
        end = min(RECORDS, leader.logs.ends.get(partition(number), 0) + records)
        leader.logs.ends[partition(number)] = end
        leader.service.changed(partition(number))

    async def trouble(self) -> None:
        what = self.random.random()
        leader = self.random.choice(list(self.leaders.values()))
        if what < 0.3 and self.transport.streams:
            self.random.choice(self.transport.streams).abort()
        elif what < 0.4:
            await leader.stop()
            await asyncio.sleep(self.random.random())
            await leader.start()
        elif what < 0.5 and self.transport.streams:
            stream = self.random.choice(self.transport.streams)
            stream.pause_reading()
            await asyncio.sleep(self.random.choice([0.1, 1, 10]))
            stream.resume_reading()
        elif what < 0.6:
            self.transport.is_cut = True
            await asyncio.sleep(self.random.random())
            self.transport.is_cut = False

    @property
    def missing(self) -> int:
        return PARTITIONS * RECORDS - sum(map(len, self.got.values()))


async def _run(loop: SimLoop, seed: int) -> None:
    world = _World(loop, seed)
    await world.start()
    for _ in range(60):
        for _ in range(world.random.randint(1, 10)):
            world.grow(world.random.randrange(PARTITIONS), world.random.choice([1, 10, 700]))
        await asyncio.sleep(world.random.random() / 4)
        await world.trouble()
    for number in range(PARTITIONS):
        world.grow(number, RECORDS)
    end = loop.time() + 30
    while world.missing and loop.time() < end:
        await asyncio.sleep(0.1)
    assert not world.missing, f"{world.missing} bytes are missing after 30 s without trouble"
    for number in range(PARTITIONS):
        assert bytes(world.got[partition(number)]) == content(number, 0, RECORDS)
    await world.close()
    await asyncio.sleep(1)
    assert len(asyncio.all_tasks()) == 1


def test_whatever_happens_every_byte_arrives() -> None:
    for seed in range(6):
        simulate(seed, lambda loop, seed=seed: _run(loop, seed))  # type: ignore[misc]


def test_without_trouble_no_session_is_begun_twice() -> None:
    """Also when tasks take turns in every order that they may."""

    async def main(loop: SimLoop) -> None:
        world = _World(loop, 0)
        await world.start()
        for round_ in range(30):
            for number in range(PARTITIONS):
                world.grow(number, 10 + round_)
            await asyncio.sleep(0.01)
        await asyncio.sleep(1)
        assert world.sessions.sessions_begun == len(LEADERS)
        await world.close()

    for seed in range(5):
        simulate(seed, main)


def test_an_idle_pair_of_nodes_exchanges_two_fetches_a_second() -> None:
    async def main(loop: SimLoop) -> None:
        world = _World(loop, 0)
        world.leaders[1].logs.ends = {}
        await world.start()
        await asyncio.sleep(1)
        judged = [leader.logs.judged for leader in world.leaders.values()]
        viewed = [leader.logs.viewed for leader in world.leaders.values()]
        await asyncio.sleep(10)
        assert sum(leader.fetches for leader in world.leaders.values()) <= 2 * 2 * 11 + 4
        assert [leader.logs.judged for leader in world.leaders.values()] == judged
        assert [leader.logs.viewed for leader in world.leaders.values()] == viewed
        assert sum(judged) == PARTITIONS
        await world.close()

    simulate(1, main)
