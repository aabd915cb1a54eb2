"""A simulated process ends as a killed one does: at once, with everything that it had started."""

import asyncio
import gc

import pytest

from tests.sim.loop import SimLoop, simulate
from tests.sim.process import Process, ProcessDiedError, outside


def test_a_kill_ends_tasks_of_tasks_and_timers_and_tells_the_callers() -> None:
    async def main(loop: SimLoop) -> None:
        process, other = Process(loop, "one"), Process(loop, "other")
        ticks: list[str] = []

        async def tick(name: str) -> None:
            while True:
                await asyncio.sleep(1)
                ticks.append(name)

        async def serve(name: str) -> None:
            child = asyncio.create_task(tick(f"{name} task"))
            asyncio.get_running_loop().call_later(3.5, ticks.append, f"{name} timer")
            await child

        calls = [asyncio.create_task(process.call(serve("one"))), asyncio.create_task(other.call(serve("other")))]
        await asyncio.sleep(1.5)
        process.kill()
        await asyncio.sleep(3)
        assert ticks.count("one task") == 1
        assert "one timer" not in ticks
        assert ticks.count("other task") == 4
        assert "other timer" in ticks
        with pytest.raises(ProcessDiedError):
            await calls[0]
        assert not calls[1].done()
        with pytest.raises(ProcessDiedError):
            await process.call(serve("again"))

    simulate(1, main)


def test_results_and_errors_come_back_and_leaving_does_not_stop_the_work() -> None:
    async def main(loop: SimLoop) -> None:
        process = Process(loop, "one")
        done: list[int] = []

        async def work() -> int:
            await asyncio.sleep(1)
            done.append(1)
            return 7

        async def fail() -> None:
            raise ZeroDivisionError

        assert await process.call(work()) == 7
        with pytest.raises(ZeroDivisionError):
            await process.call(fail())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await process.call(work())
        await asyncio.sleep(1)
        assert len(done) == 2

    simulate(1, main)


def test_what_runs_outside_outlives_the_process() -> None:
    async def main(loop: SimLoop) -> None:
        process = Process(loop, "one")
        done: list[int] = []

        async def later() -> None:
            await asyncio.sleep(1)
            done.append(1)

        call = asyncio.create_task(process.call(outside(later())))
        await asyncio.sleep(0.5)
        process.kill()
        with pytest.raises(ProcessDiedError):
            await call
        await asyncio.sleep(1)
        assert done == [1]

    simulate(1, main)


def test_a_failure_outside_is_nobodys_to_handle_when_the_process_dies_at_the_same_moment() -> None:
    async def main(loop: SimLoop) -> None:
        process = Process(loop, "one")
        complaints: list[str] = []
        loop.set_exception_handler(lambda _, context: complaints.append(context["message"]))

        async def fail() -> None:
            loop.call_soon(process.kill)  # before the failure is told
            raise ZeroDivisionError

        with pytest.raises(ProcessDiedError):
            await process.call(outside(fail()))
        await asyncio.sleep(1)
        gc.collect()
        assert complaints == []

    simulate(1, main, shuffle=False)


def test_a_paused_process_stands_still_while_the_world_goes_on_and_catches_up_when_it_resumes() -> None:
    async def main(loop: SimLoop) -> None:
        process, other = Process(loop, "one"), Process(loop, "other")
        ticks: list[tuple[str, float]] = []

        async def tick(name: str) -> None:
            asyncio.get_running_loop().call_later(2.5, ticks.append, (f"{name} timer", 2.5))
            while True:
                await asyncio.sleep(1)
                ticks.append((name, loop.time()))

        calls = [asyncio.create_task(process.call(tick("one"))), asyncio.create_task(other.call(tick("other")))]
        await asyncio.sleep(1.5)
        process.pause()
        process.post(ticks.append, ("posted", 0.0))
        assert process.is_paused
        await asyncio.sleep(10)
        assert [tick for tick in ticks if tick[0] in {"one", "one timer", "posted"}] == [("one", 1.0)]
        assert len([tick for tick in ticks if tick[0] == "other"]) == 11
        process.resume()
        await asyncio.sleep(0.1)
        late = [tick for tick in ticks if tick[0] in {"one", "one timer", "posted"}][1:]
        assert sorted(late) == [("one", 11.5), ("one timer", 2.5), ("posted", 0.0)], "a sleep that is over ends once"
        for call in calls:
            call.cancel()

    for seed in range(5):
        simulate(seed, main)


def test_a_paused_process_can_be_killed() -> None:
    async def main(loop: SimLoop) -> None:
        process = Process(loop, "one")
        done: list[int] = []

        async def work() -> None:
            await asyncio.sleep(1)
            done.append(1)

        call = asyncio.create_task(process.call(work()))
        await asyncio.sleep(0.5)
        process.pause()
        await asyncio.sleep(5)
        process.kill()
        with pytest.raises(ProcessDiedError):
            await call
        await asyncio.sleep(5)
        assert done == []

    simulate(1, main)


def test_time_goes_on_while_everything_that_is_due_belongs_to_a_paused_process() -> None:
    async def main(loop: SimLoop) -> None:
        process = Process(loop, "one")
        call = asyncio.create_task(process.call(asyncio.sleep(1)))
        await asyncio.sleep(0.5)
        process.pause()
        await asyncio.sleep(100)
        assert loop.time() == 100.5
        process.resume()
        await call

    simulate(1, main)
