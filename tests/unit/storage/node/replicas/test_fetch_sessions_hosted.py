"""A follower's side of the fetch sessions, hosted, on virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import pytest
import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.node.replicas.fetch_sessions import RETRY_GROWTH_MAX, FetchSessions
from storage.replication.assignment import ReplicaIdentity
from storage.replication.divergence import LogPosition
from storage.replication.follower_events import Answered
from storage.replication.messages import FetchAnswer, FetchMode, FetchRequest, LogAnswer, PartitionAnswer
from storage.replication.replication_settings import ReplicationSettings
from storage.rpc.peer_api import PeerApi
from tests.sim.environment import MachineClock, SimClock
from tests.sim.loop import SimLoop, simulate
from tests.support.fake_peer import FakePeer
from tests.support.led_logs import EPOCH, fetch_from, partition

SETTINGS = ReplicationSettings(fetch_partitions_max=50)
ME = ReplicaIdentity(2, 4, "d2")
LIVE, CATCH_UP = FetchMode.LIVE, FetchMode.CATCH_UP


@dataclass
class _Request:
    """What a leader got, and how it is answered in the end."""

    leader: int
    request: FetchRequest
    answer: "asyncio.Future[FetchAnswer]"

    @property
    def named(self) -> list[int]:
        return [each.id.partition for each in self.request.partitions]

    @property
    def place(self) -> tuple[int, int]:
        return self.request.session, self.request.sequence

    def say(self, *numbers: int, is_unknown: bool = False) -> None:
        """A byte of each of these partitions."""
        log = LogAnswer(LogPosition(0, 1), 0, 0, 1, size_bytes=1)
        empty = LogAnswer(LogPosition(0, -1), 0, 0, 0)
        answers = [PartitionAnswer(partition(number), EPOCH, logs=[log, empty]) for number in numbers]
        self.answer.set_result(FetchAnswer(ME.incarnation, *self.place, answers, bytes(numbers), is_unknown=is_unknown))


class _Leader(FakePeer):
    def __init__(self, node_id: int, requests: list[_Request]) -> None:
        super().__init__()
        self._node_id = node_id
        self._requests = requests

    async def fetch(self, request: FetchRequest) -> FetchAnswer:
        answer: asyncio.Future[FetchAnswer] = asyncio.get_running_loop().create_future()
        self._requests.append(_Request(self._node_id, request, answer))
        return await answer


@dataclass
class _World:
    loop: SimLoop
    settings: ReplicationSettings
    requests: list[_Request] = field(default_factory=list)
    answered: list[tuple[int, bytes]] = field(default_factory=list)
    crashes: list[BaseException] = field(default_factory=list)
    unknown_nodes: list[int] = field(default_factory=list)
    sessions: FetchSessions = field(init=False)

    def __post_init__(self) -> None:
        self.sessions = FetchSessions(
            ME,
            self,
            clock=SimClock(MachineClock(self.loop)),
            settings=self.settings,
            on_answered=self.take,
            on_crashed=self.crashes.append,
        )

    def peer(self, node_id: int) -> PeerApi:
        if node_id in self.unknown_nodes:
            raise ServerError(ProblemCode.UNAVAILABLE, "who?")
        return _Leader(node_id, self.requests)

    def take(self, answered: Answered) -> None:
        self.answered.append((answered.answer.id.partition, bytes(answered.batches[0])))

    def offer(self, *numbers: int, leader: int = 1, mode: FetchMode = LIVE) -> None:
        for number in numbers:
            self.sessions.offer(leader, mode, fetch_from(number))

    async def settle(self) -> None:
        await asyncio.sleep(0.001)

    @property
    def named(self) -> list[list[int]]:
        return [request.named for request in self.requests]


def run(scenario: Callable[[_World], Awaitable[None]], settings: ReplicationSettings = SETTINGS) -> None:
    async def main(loop: SimLoop) -> None:
        world = _World(loop, settings)
        await scenario(world)
        before = len(world.answered)
        await world.sessions.close()
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1
        assert not [timer for timer in loop._scheduled if not timer.cancelled()]
        assert len(world.answered) == before

    for seed in range(5):
        simulate(seed, main)


# --- asking ---


def test_everything_that_is_offered_at_one_moment_goes_into_one_request() -> None:
    async def scenario(world: _World) -> None:
        world.offer(*range(30))
        await world.settle()
        assert world.named == [list(range(30))]
        world.offer(30, 31)
        await world.settle()
        assert world.named[1:] == [[30, 31]]
        world.offer(32)
        await world.settle()
        assert len(world.requests) == 2  # as many as may be under way

    run(scenario)


def test_there_is_a_session_for_each_leader_and_mode() -> None:
    async def scenario(world: _World) -> None:
        world.offer(0, leader=1)
        world.offer(1, leader=1, mode=CATCH_UP)
        world.offer(2, leader=3)
        await world.settle()
        found = {(each.leader, each.request.mode): each.named for each in world.requests}
        assert found == {(1, LIVE): [0], (1, CATCH_UP): [1], (3, LIVE): [2]}
        assert all(each.request.follower == ME for each in world.requests)

    run(scenario)


def test_answers_are_handed_out_and_asked_behind() -> None:
    async def scenario(world: _World) -> None:
        world.offer(7, 8)
        await world.settle()
        world.requests[0].say(7)
        await world.settle()
        assert world.answered == [(7, b"\x07")]
        assert len(world.requests) == 1, "as soon as 7 is durable there is something to say"
        await asyncio.sleep(world.settings.fetch_gather_ms / 1000)
        assert [each.place for each in world.requests] == [(1, 0), (1, 1)]
        assert world.requests[1].named == []

    run(scenario)


def test_what_was_written_is_said_at_once_with_everything_else() -> None:
    async def scenario(world: _World) -> None:
        world.offer(7, 8, 9)
        await world.settle()
        world.requests[0].say(7, 8)
        await world.settle()
        world.offer(7, 8)
        await world.settle()
        assert world.named == [[7, 8, 9], [7, 8]]

    run(scenario)


def test_answers_are_taken_in_the_order_of_their_requests() -> None:
    async def scenario(world: _World) -> None:
        world.offer(0)
        await world.settle()
        world.offer(1)
        await world.settle()
        first, second = sorted(world.requests, key=lambda each: each.place)
        second.say(1)
        await world.settle()
        assert world.answered == []
        first.say(0)
        await world.settle()
        assert world.answered == [(0, b"\x00"), (1, b"\x01")]
        assert world.sessions.sessions_begun == 1

    run(scenario)


# --- moving ---


def test_a_partition_leaves_the_session_that_it_was_in() -> None:
    async def scenario(world: _World) -> None:
        world.offer(0, 1)
        await world.settle()
        world.offer(0, mode=CATCH_UP)
        await world.settle()
        _, *later = world.requests
        assert {each.request.mode: (each.named, each.request.forgotten) for each in later} == {
            LIVE: ([], [partition(0)]),
            CATCH_UP: ([0], []),
        }

    run(scenario)


def test_a_withdrawn_partition_is_forgotten_and_its_answer_dropped() -> None:
    async def scenario(world: _World) -> None:
        world.offer(0, 1)
        await world.settle()
        world.sessions.withdraw(partition(0))
        world.sessions.withdraw(partition(99))
        await world.settle()
        assert world.requests[1].request.forgotten == [partition(0)]
        world.requests[0].say(0, 1)
        await world.settle()
        assert world.answered == [(1, b"\x01")]

    run(scenario)


def test_a_session_without_partitions_is_silent() -> None:
    async def scenario(world: _World) -> None:
        world.offer(0)
        await world.settle()
        world.requests[0].say(0)
        await asyncio.sleep(60)
        assert len(world.requests) == 1

    run(scenario)


# --- failing ---


def test_a_failure_begins_the_session_anew_with_growing_pauses() -> None:
    async def scenario(world: _World) -> None:
        world.offer(0, 1)
        pauses = []
        for number in range(7):
            await world.settle()
            assert len(world.requests) == number + 1
            failed = world.requests[-1]
            assert (failed.place, failed.named) == ((number + 1, 0), [0, 1])
            began = world.loop.time()
            failed.answer.set_exception(ServerError(ProblemCode.UNAVAILABLE, "gone"))
            while len(world.requests) == number + 1:
                await asyncio.sleep(0.005)
            pauses.append(world.loop.time() - began)
        retry_s = SETTINGS.retry_ms / 1000
        assert pauses == pytest.approx([retry_s * min(2**n, RETRY_GROWTH_MAX) for n in range(7)], abs=0.02)
        await world.settle()
        world.requests[-1].say()  # all is well
        await world.settle()
        world.requests[-1].answer.set_exception(ServerError(ProblemCode.UNAVAILABLE, "gone"))
        began, before = world.loop.time(), len(world.requests)
        while len(world.requests) == before:
            await asyncio.sleep(0.005)
        assert world.loop.time() - began == pytest.approx(retry_s, abs=0.02)

    run(scenario)


def test_a_node_that_is_not_known_is_tried_again() -> None:
    async def scenario(world: _World) -> None:
        world.unknown_nodes = [1]
        world.offer(0)
        await asyncio.sleep(0.1)
        world.unknown_nodes = []
        await asyncio.sleep(0.2)
        assert world.named == [[0]]

    run(scenario)


def test_a_failure_gives_up_the_other_request_of_the_session() -> None:
    async def scenario(world: _World) -> None:
        world.offer(0)
        await world.settle()
        world.offer(1)
        await world.settle()
        first, second = sorted(world.requests, key=lambda each: each.place)
        first.answer.set_exception(ServerError(ProblemCode.TIMED_OUT, "late"))
        await world.settle()
        assert second.answer.cancelled()
        await asyncio.sleep(0.3)
        assert world.requests[2].named == [0, 1]

    run(scenario)


def test_a_session_that_the_leader_does_not_know_is_begun_anew() -> None:
    async def scenario(world: _World) -> None:
        world.offer(0, 1)
        await world.settle()
        world.requests[0].say(is_unknown=True)
        await asyncio.sleep(0.1)
        assert len(world.requests) == 1
        await asyncio.sleep(0.2)
        assert (world.requests[1].place, world.requests[1].named) == ((2, 0), [0, 1])

    run(scenario)


def test_an_overdue_answer_begins_the_session_anew() -> None:
    async def scenario(world: _World) -> None:
        world.offer(0)
        overdue_s = (SETTINGS.fetch_wait_ms + SETTINGS.fetch_answer_timeout_ms) / 1000
        await asyncio.sleep(overdue_s - 0.01)
        assert len(world.requests) == 1
        with structlog.testing.capture_logs() as logs:
            await asyncio.sleep(0.02)
        assert [entry["event"] for entry in logs] == ["fetch_answer_overdue"]
        assert world.requests[0].answer.cancelled()
        assert world.requests[1].place == (2, 0)

    run(scenario)


def test_a_session_that_everybody_left_forgets_its_failures_and_not_its_number() -> None:
    async def scenario(world: _World) -> None:
        world.offer(0)
        for _ in range(5):
            await asyncio.sleep(2)
            world.requests[-1].answer.set_exception(ServerError(ProblemCode.UNAVAILABLE, "gone"))
        await world.settle()
        world.offer(0, leader=3)
        await world.settle()
        world.offer(0, leader=1)  # elected again
        await world.settle()
        assert [each.place for each in world.requests if each.leader == 1][-1] == (6, 0)

    run(scenario)


def test_what_nobody_expects_is_a_crash() -> None:
    async def scenario(world: _World) -> None:
        world.offer(0, 1)
        await world.settle()
        world.requests[0].answer.set_exception(ZeroDivisionError("peer"))
        await world.settle()
        assert [repr(crash) for crash in world.crashes] == ["ZeroDivisionError('peer')"]
        await asyncio.sleep(0.3)

        def fail(answered: Answered) -> None:
            raise ZeroDivisionError("host")

        world.sessions._on_answered = fail
        world.requests[1].say(0)
        await world.settle()
        assert [repr(crash) for crash in world.crashes[1:]] == ["ZeroDivisionError('host')"]

    run(scenario)


def test_catching_up_is_throttled() -> None:
    async def scenario(world: _World) -> None:
        world.offer(0, mode=CATCH_UP)
        await world.settle()
        world.requests[0].say(0)
        world.offer(1, mode=CATCH_UP)
        await asyncio.sleep(0.9)
        assert len(world.requests) == 1 + 1  # the second was under way already
        world.requests[1].say(1)
        await world.settle()
        world.offer(2, mode=CATCH_UP)
        await asyncio.sleep(0.9)
        assert len(world.requests) == 2
        await asyncio.sleep(0.3)
        assert world.named[2:] == [[2]]

    run(scenario, replace(SETTINGS, catch_up_bytes_per_second=1))


def test_after_close_nothing_is_asked_or_handed_out() -> None:
    async def scenario(world: _World) -> None:
        world.offer(0)
        await world.settle()
        world.requests[0].say(0)
        await world.sessions.close()
        world.offer(1)
        world.sessions.withdraw(partition(0))
        await asyncio.sleep(10)
        assert len(world.requests) == 1

    run(scenario)
