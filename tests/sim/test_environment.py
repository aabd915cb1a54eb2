"""The simulated clock, entropy and I/O threads."""

import asyncio
from functools import partial

import pytest

from tests.sim.environment import FIRST_WALL_MS, DiskSpeed, MachineClock, SimClock, SimEntropy, SimExecutor
from tests.sim.loop import SimLoop, simulate


class _PowerLoss(BaseException):
    pass


def test_the_clock_follows_virtual_time_to_the_millisecond() -> None:
    async def main(loop: SimLoop) -> None:
        clock = SimClock(MachineClock(loop))
        await clock.sleep(570)
        assert (clock.monotonic_ms(), clock.now_ms()) == (570, FIRST_WALL_MS + 570)

    simulate(1, main)


def test_a_jump_of_the_machine_is_not_seen_by_a_running_process_but_by_the_next_one() -> None:
    async def main(loop: SimLoop) -> None:
        machine = MachineClock(loop)
        clock = SimClock(machine)
        machine.jump(3_600_000)
        await clock.sleep(10)
        assert clock.now_ms() == FIRST_WALL_MS + 20  # double speed
        assert clock.monotonic_ms() == 10
        assert SimClock(machine).now_ms() == FIRST_WALL_MS + 3_600_010
        machine.jump(-7_200_000)
        before = clock.now_ms()
        await clock.sleep(10)
        assert clock.now_ms() == before + 5  # half speed, never back
        machine.correct()
        assert SimClock(machine).now_ms() == FIRST_WALL_MS + 20

    simulate(1, main)


def test_entropy_is_the_seeds() -> None:
    first, same, other = SimEntropy(1), SimEntropy(1), SimEntropy(2)
    drawn = [first.bits64() for _ in range(5)]
    assert drawn == [same.bits64() for _ in range(5)]
    assert drawn != [other.bits64() for _ in range(5)]
    assert all(0 <= bits < 2**64 for bits in drawn)
    assert 0 <= first.fraction() < 1


def test_the_executor_takes_time_and_passes_results_and_errors() -> None:
    async def main(loop: SimLoop) -> None:
        executor = SimExecutor(1, DiskSpeed(mean_ms=5))
        assert await executor.run(lambda: 7) == 7
        assert loop.time() > 0
        with pytest.raises(ZeroDivisionError):
            await executor.run(lambda: 1 / 0)
        executor.close()
        with pytest.raises(RuntimeError):
            await executor.run(lambda: 7)

    simulate(1, main)


def test_calls_overtake_each_other_by_the_seed() -> None:
    orders = set()
    for seed in range(5):

        async def run(loop: SimLoop, seed: int = seed) -> list[int]:
            executor = SimExecutor(seed, DiskSpeed(mean_ms=5))
            done: list[int] = []
            await asyncio.gather(*(executor.run(partial(done.append, number)) for number in range(6)))
            return done

        orders.add(tuple(simulate(1, run)[0]))
    assert len(orders) == 5


def test_a_cancelled_call_may_or_may_not_take_effect() -> None:
    outcomes = set()
    for seed in range(20):

        async def main(loop: SimLoop, seed: int = seed) -> int:
            executor = SimExecutor(seed)
            done: list[int] = []
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.000001):
                    await executor.run(lambda: done.append(1))
            await asyncio.sleep(1)
            return len(done)

        outcomes.add(simulate(1, main)[0])
    assert outcomes == {0, 1}


def test_nothing_runs_or_reports_after_a_kill() -> None:
    effects = set()
    for seed in range(30):

        async def main(loop: SimLoop, seed: int = seed) -> tuple[int, bool]:
            executor = SimExecutor(seed, DiskSpeed(mean_ms=1))
            done: list[int] = []
            task = asyncio.create_task(executor.run(lambda: done.append(1)))
            await asyncio.sleep(0.001)
            before = len(done)
            executor.kill()
            reported = task.done()
            await asyncio.sleep(1)
            assert len(done) == before
            assert task.done() == reported
            task.cancel()
            return before, reported

        effects.add(simulate(1, main)[0])
    assert effects == {(0, False), (1, False), (1, True)}  # the crash may fall between the effect and its report


def test_a_crash_within_a_call_is_told_and_never_reported() -> None:
    async def main(loop: SimLoop) -> None:
        crashes: list[BaseException] = []
        executor = SimExecutor(1, crash_types=(_PowerLoss,), on_crash=crashes.append)

        def lose_power() -> None:
            raise _PowerLoss

        task = asyncio.create_task(executor.run(lose_power))
        await asyncio.sleep(10)
        assert len(crashes) == 1
        assert not task.done()
        task.cancel()

    simulate(1, main)
