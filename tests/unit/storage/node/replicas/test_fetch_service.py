"""A leader's side of the fetch sessions, hosted, on virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.node.replicas.fetch_service import FetchService
from storage.replication.assignment import ReplicaIdentity
from storage.replication.followers import NEVER
from storage.replication.leader_events import FetchRefusal, FetchVerdict
from storage.replication.messages import FetchAnswer, FetchMode, FetchRequest, PartitionFetch, PartitionId
from storage.replication.replication_settings import ReplicationSettings
from tests.sim.environment import MachineClock, SimClock
from tests.sim.loop import SimLoop, simulate
from tests.support.led_logs import EPOCH, LedLogs, content, fetch_from, partition

SETTINGS = ReplicationSettings(fetch_bytes_max=100, partition_fetch_bytes_max=40)
ME = ReplicaIdentity(2, 1, "d2")
NOT_LEADER = FetchVerdict(ME, EPOCH + 1, FetchRefusal.NOT_LEADER)


class _World:
    def __init__(self, loop: SimLoop) -> None:
        self.loop = loop
        self.clock = SimClock(MachineClock(loop))
        self.logs = LedLogs()
        self.service = FetchService(self.logs, clock=self.clock, settings=SETTINGS)

    def fetch(
        self,
        sequence: int,
        *fetches: PartitionFetch,
        follower: ReplicaIdentity = ME,
        mode: FetchMode = FetchMode.LIVE,
        session: int = 1,
        forgotten: list[PartitionId] | None = None,
    ) -> "asyncio.Task[FetchAnswer]":
        request = FetchRequest(follower, mode, session, sequence, list(fetches), forgotten or [], 100, 500)
        return asyncio.get_running_loop().create_task(self.service.fetch(request))

    def grow(self, number: int, end: int) -> None:
        self.logs.ends[partition(number)] = end
        self.service.changed(partition(number))

    def now_ms(self) -> int:
        return self.clock.monotonic_ms()


def run(scenario: Callable[[_World], Awaitable[None]]) -> None:
    """The scenario under a few orders of events; afterwards nothing runs and no timer is set."""

    async def main(loop: SimLoop) -> None:
        world = _World(loop)
        await scenario(world)
        world.service.stop()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1
        assert not [timer for timer in loop._scheduled if not timer.cancelled()]

    for seed in range(5):
        simulate(seed, main)


async def _batches(task: "asyncio.Task[FetchAnswer]") -> dict[int, bytes]:
    """What came of each partition's first log; the second one's is empty."""
    answer = await task
    found, at = {}, 0
    for each in answer.partitions:
        if each.logs:
            found[each.id.partition] = answer.batches[at : at + each.logs[0].size_bytes]
            at += each.logs[0].size_bytes
    assert at == len(answer.batches)
    return found


# --- waiting ---


def test_a_fetch_waits_for_news_and_everything_of_one_moment_goes_together() -> None:
    async def scenario(world: _World) -> None:
        task = world.fetch(0, fetch_from(0), fetch_from(1), fetch_from(2))
        await asyncio.sleep(0.1)
        assert not task.done()
        world.grow(1, 3)
        world.grow(2, 4)
        world.grow(2, 5)
        assert await _batches(task) == {1: content(1, 0, 3), 2: content(2, 0, 5), 0: b""}
        assert world.loop.time() == pytest.approx(0.1)

    run(scenario)


def test_what_is_there_is_answered_at_once() -> None:
    async def scenario(world: _World) -> None:
        world.logs.ends[partition(0)] = 9
        assert await _batches(world.fetch(0, fetch_from(0, 4))) == {0: content(0, 4, 9)}
        assert world.loop.time() == 0

    run(scenario)


def test_a_fetch_without_news_is_answered_when_its_time_is_over() -> None:
    async def scenario(world: _World) -> None:
        world.logs.high_watermark = 7
        answer = await world.fetch(0, fetch_from(0))
        assert world.loop.time() == pytest.approx(0.5)
        assert answer.partitions[0].logs[0].high_watermark == 7
        assert (await world.fetch(1)).partitions == []
        assert world.loop.time() == pytest.approx(1)

    run(scenario)


def test_a_newer_fetch_ends_the_wait_of_the_one_before() -> None:
    async def scenario(world: _World) -> None:
        first = world.fetch(0, fetch_from(0))
        await asyncio.sleep(0.1)
        second = world.fetch(1, fetch_from(1))
        await first
        await asyncio.sleep(0.1)
        assert not second.done()
        world.grow(0, 1)
        assert await _batches(second) == {0: content(0, 0, 1)}

    run(scenario)


def test_partitions_without_news_cost_nothing() -> None:
    async def scenario(world: _World) -> None:
        await world.fetch(0, *(fetch_from(number) for number in range(1000)))
        costs = (world.logs.judged, world.logs.viewed)
        assert costs == (1000, 1000)
        for sequence in range(1, 11):
            task = world.fetch(sequence, fetch_from(3, sequence - 1))
            world.grow(3, sequence)
            await task
        assert world.logs.judged - costs[0] == 10
        assert world.logs.viewed - costs[1] <= 20
        world.grow(5_000, 1)  # nobody follows it
        await asyncio.sleep(0.1)
        assert world.logs.viewed - costs[1] <= 20

    run(scenario)


# --- the order of fetches ---


def test_a_fetch_that_overtook_its_predecessor_waits_for_it() -> None:
    async def scenario(world: _World) -> None:
        for session in (1, 2):
            second = world.fetch(1, fetch_from(session), session=session)
            await asyncio.sleep(0.05)
            first = world.fetch(0, fetch_from(0), session=session)
            assert not (await first).is_unknown
            world.grow(session, 3)
            assert (await _batches(second))[session] == content(session, 0, 3)

    run(scenario)


def test_a_fetch_without_its_predecessor_is_of_no_known_session_after_a_moment() -> None:
    async def scenario(world: _World) -> None:
        assert (await world.fetch(1)).is_unknown
        assert world.loop.time() == pytest.approx(SETTINGS.retry_ms / 1000)
        assert (await world.fetch(2)).is_unknown  # too far ahead to be waited for
        assert world.loop.time() == pytest.approx(SETTINGS.retry_ms / 1000)

    run(scenario)


def test_a_new_session_replaces_the_old_one_and_whoever_waits_there_is_told() -> None:
    async def scenario(world: _World) -> None:
        old = world.fetch(0, fetch_from(0))
        await asyncio.sleep(0.1)
        new = world.fetch(0, fetch_from(1), session=2)
        assert (await old).is_unknown
        world.grow(0, 1)
        await asyncio.sleep(0.1)
        assert not new.done()
        assert world.service.followers_heard(partition(0)) == {}
        world.grow(1, 1)
        assert await _batches(new) == {1: content(1, 0, 1)}
        assert (await world.fetch(1, session=1)).is_unknown

    run(scenario)


def test_more_fetches_than_may_wait_end_the_session() -> None:
    async def scenario(world: _World) -> None:
        world.logs.gate = asyncio.Event()  # the first is being answered for as long as that
        world.logs.ends[partition(0)] = 1
        tasks = []
        for sequence in range(4):
            tasks.append(world.fetch(sequence, *([fetch_from(0)] if not sequence else [])))
            await asyncio.sleep(0.01)
        assert [task.done() for task in tasks] == [False, True, True, True]
        assert [(await task).is_unknown for task in tasks[1:]] == [True] * 3
        assert world.service.followers_heard(partition(0)) == {}
        world.logs.gate.set()
        assert await _batches(tasks[0]) == {0: content(0, 0, 1)}

    run(scenario)


def test_a_mode_that_is_not_known() -> None:
    async def scenario(world: _World) -> None:
        request = FetchRequest(ME, 9, 1, 0, [], [], 1, 1)
        with pytest.raises(ServerError) as caught:
            await world.service.fetch(request)
        assert caught.value.code is ProblemCode.UNSUPPORTED

    run(scenario)


# --- leaders ---


def test_who_waits_is_told_that_the_leadership_is_over() -> None:
    async def scenario(world: _World) -> None:
        task = world.fetch(0, fetch_from(0), fetch_from(1))
        await asyncio.sleep(0.1)
        world.grow(0, 5)
        world.service.refused(partition(0), NOT_LEADER)
        refusals = {each.id.partition: each.refusal for each in (await task).partitions}
        assert refusals[0] == "notLeader"
        assert world.service.followers_heard(partition(0)) == {}
        assert world.service.followers_heard(partition(1)) == {2: 0}

    run(scenario)


def test_a_refusal_at_the_fetch_is_answered_at_once() -> None:
    async def scenario(world: _World) -> None:
        world.logs.refusals[partition(0)] = FetchRefusal.FENCED_EPOCH
        answer = await world.fetch(0, fetch_from(0), fetch_from(1))
        assert [(each.id.partition, each.refusal) for each in answer.partitions if each.refusal] == [(0, "fencedEpoch")]
        assert world.service.followers_heard(partition(0)) == {}

    run(scenario)


def test_a_leader_that_steps_down_at_a_fetch() -> None:
    """The later epoch of a fetch ends a leadership, while others wait for it, and the host says so at once."""

    async def scenario(world: _World) -> None:
        other = ReplicaIdentity(3, 1, "d3")
        waiting = world.fetch(0, fetch_from(0), follower=other)
        await asyncio.sleep(0.1)

        def step_down(partition_id: PartitionId) -> None:
            world.logs.refusals[partition_id] = FetchRefusal.UNKNOWN_EPOCH
            world.service.refused(partition_id, NOT_LEADER)

        world.logs.on_judge = step_down
        answers = await asyncio.gather(world.fetch(0, fetch_from(0)), waiting)
        assert [answer.partitions[0].refusal for answer in answers] == ["unknownEpoch", "notLeader"]

    run(scenario)


def test_a_follower_that_is_heard_again_is_told_to_its_leaders_once() -> None:
    """Of what it fetches without a word; where it has something to say, that is judged."""

    async def scenario(world: _World) -> None:
        contact_s = SETTINGS.contact_ms / 1000
        await world.fetch(0, fetch_from(0), fetch_from(1))
        await asyncio.sleep(contact_s - 0.6)
        await world.fetch(1)
        assert world.logs.heard_again_of == []
        await asyncio.sleep(contact_s - 0.5)  # the fetch before waited for half a second
        await world.fetch(2, forgotten=[partition(1)])
        await world.fetch(3)
        assert world.logs.heard_again_of == [partition(0)]
        await asyncio.sleep(contact_s)
        await world.fetch(0, fetch_from(0), session=2)
        assert world.logs.heard_again_of == [partition(0)], "in a new session everything is judged"

    run(scenario)


def test_when_followers_were_heard() -> None:
    async def scenario(world: _World) -> None:
        other = ReplicaIdentity(3, 1, "d3")
        await world.fetch(0, fetch_from(0), fetch_from(1))  # 0 to 500
        await world.fetch(0, fetch_from(0), follower=other, mode=FetchMode.CATCH_UP)  # 500 to 1000
        await world.fetch(0, fetch_from(2), follower=other)  # 1000 to 1500
        assert world.service.followers_heard(partition(0)) == {2: 0, 3: 500}
        assert world.service.followers_heard(partition(1)) == {2: 0}
        assert world.service.followers_heard(partition(2)) == {3: 1000}
        assert world.service.followers_heard(partition(3)) == {}
        await world.fetch(1, forgotten=[partition(1)])
        assert world.service.followers_heard(partition(0)) == {2: 1500, 3: 500}
        assert world.service.followers_heard(partition(1)) == {}
        await world.fetch(0, fetch_from(0), follower=other)
        assert world.service.followers_heard(partition(0)) == {2: 1500, 3: 500}  # that one was of no known session

    run(scenario)


def test_when_followers_surely_followed() -> None:
    """Whatever their fetches did on their way: when they were answered what they had when they sent them."""

    async def scenario(world: _World) -> None:
        def followed(number: int = 0) -> int:
            return world.service.followers_followed(partition(number))[ME.node_id]

        await world.fetch(0, fetch_from(0))  # answered at 500
        assert followed() == NEVER, "who knows when it was sent"
        await asyncio.sleep(3)
        await world.fetch(1)  # from 3500 to 4000
        assert followed() == 500
        second, third = world.fetch(2), world.fetch(3, fetch_from(1))  # answers the other one, at 4000
        await second
        await asyncio.sleep(0.1)
        assert followed() == 500 + 3_000 + 500, "the second was sent behind the answer to the first"
        await third  # at 4500
        fourth = world.fetch(4, fetch_from(0))
        await asyncio.sleep(0)
        assert followed() == 4_000, "it may have been sent before the third was answered"
        fifth = world.fetch(5)
        await fourth
        await asyncio.sleep(0)
        assert followed() == 4_500
        assert followed(1) == 4_500
        assert world.service.followers_followed(partition(2)) == {}
        await fifth
        await world.fetch(0, fetch_from(2), session=2)
        assert followed(2) == 4_500, "of a session that was sent later"

    run(scenario)


def test_a_follower_that_is_gone_is_forgotten_in_the_end() -> None:
    async def scenario(world: _World) -> None:
        await world.fetch(0, fetch_from(0))
        await asyncio.sleep(50)
        assert world.service.followers_heard(partition(0)) == {2: 0}
        with structlog.testing.capture_logs() as logs:
            await asyncio.sleep(10)
        assert [entry["event"] for entry in logs] == ["follower_is_gone"]
        assert world.service.followers_heard(partition(0)) == {}
        assert (await world.fetch(1)).is_unknown
        assert not (await world.fetch(0)).is_unknown

    run(scenario)


# --- reading ---


def test_news_that_come_while_an_answer_is_read_are_in_the_next_one() -> None:
    async def scenario(world: _World) -> None:
        world.logs.gate = asyncio.Event()
        world.logs.ends = {partition(0): 2}
        task = world.fetch(0, fetch_from(0), fetch_from(1))
        await asyncio.sleep(0.1)
        world.grow(1, 3)
        world.grow(0, 5)
        await asyncio.sleep(0.1)
        world.logs.gate.set()
        assert (await _batches(task))[0] == content(0, 0, 2)
        assert await _batches(world.fetch(1, fetch_from(0, 2))) == {0: content(0, 2, 5), 1: content(1, 0, 3)}

    run(scenario)


def test_a_leadership_that_ends_while_an_answer_is_read_is_told() -> None:
    """Also where the read finds nothing any more."""

    async def scenario(world: _World) -> None:
        world.logs.gate = asyncio.Event()
        world.logs.ends[partition(0)] = 2
        task = world.fetch(0, fetch_from(0))
        await asyncio.sleep(0.1)
        world.logs.ends[partition(0)] = 0
        world.service.refused(partition(0), NOT_LEADER)
        await asyncio.sleep(0.1)
        world.logs.gate.set()
        assert await _batches(task) == {0: b""}
        answer = await world.fetch(1)
        assert [each.refusal for each in answer.partitions] == ["notLeader"]

    run(scenario)


def test_a_read_that_found_nothing_is_done_again_when_the_log_changed_meanwhile() -> None:
    async def scenario(world: _World) -> None:
        world.logs.gate = asyncio.Event()
        world.logs.ends[partition(0)] = 2
        task = world.fetch(0, fetch_from(0))
        await asyncio.sleep(0.1)
        world.grow(0, 0)
        await asyncio.sleep(0.1)
        world.grow(0, 1)
        await asyncio.sleep(0.1)
        world.logs.ends[partition(0)] = 0
        world.logs.gate.set()
        await task
        world.logs.ends[partition(0)] = 1
        assert await _batches(world.fetch(1)) == {0: content(0, 0, 1)}

    run(scenario)


def test_a_read_that_fails_is_tried_again_after_a_pause() -> None:
    async def scenario(world: _World) -> None:
        world.logs.ends = {partition(0): 2, partition(1): 2}
        world.logs.read_errors = [ServerError(ProblemCode.STORAGE_FAILED, "no")]
        with structlog.testing.capture_logs() as logs:
            assert await _batches(world.fetch(0, fetch_from(0), fetch_from(1))) == {0: b"", 1: content(1, 0, 2)}
        assert [entry["event"] for entry in logs] == ["fetch_read_failed"]
        assert world.loop.time() == 0
        assert await _batches(world.fetch(1)) == {0: content(0, 0, 2)}
        assert world.loop.time() == pytest.approx(SETTINGS.retry_ms / 1000)

    run(scenario)


def test_an_unexpected_failure_ends_the_session() -> None:
    async def scenario(world: _World) -> None:
        world.logs.ends[partition(0)] = 2
        world.logs.read_errors = [ZeroDivisionError()]
        with structlog.testing.capture_logs() as logs, pytest.raises(ZeroDivisionError):
            await world.fetch(0, fetch_from(0))
        assert [entry["event"] for entry in logs] == ["fetch_answer_failed"]
        assert (await world.fetch(1)).is_unknown
        assert await _batches(world.fetch(0, fetch_from(0), session=2)) == {0: content(0, 0, 2)}

    run(scenario)


def test_nothing_is_read_for_a_fetch_that_was_given_up() -> None:
    async def scenario(world: _World) -> None:
        task = world.fetch(0, fetch_from(0))
        await asyncio.sleep(0.1)
        task.cancel()
        world.grow(0, 3)
        await asyncio.sleep(1)
        assert world.logs.reads == []
        assert await _batches(world.fetch(1)) == {0: content(0, 0, 3)}

    run(scenario)


# --- the end ---


def test_a_stop_answers_everybody() -> None:
    async def scenario(world: _World) -> None:
        world.logs.gate = asyncio.Event()
        world.logs.ends[partition(0)] = 2
        tasks = [
            world.fetch(0, fetch_from(0)),  # being read
            world.fetch(0, fetch_from(1), mode=FetchMode.CATCH_UP),  # waiting
            world.fetch(1, follower=ReplicaIdentity(3, 1, "d3")),  # early
        ]
        await asyncio.sleep(0.1)
        world.service.stop()
        tasks.append(world.fetch(1))
        for task in tasks:
            with pytest.raises(ServerError) as caught:
                await task
            assert caught.value.code is ProblemCode.SHUTTING_DOWN
        world.grow(0, 3)
        world.service.refused(partition(0), replace(NOT_LEADER))

    run(scenario)
