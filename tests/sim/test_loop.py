"""The loop's promises, and the internals of asyncio that it leans on."""

import asyncio
import contextlib
import inspect
import os
import random
import subprocess
import sys

import pytest

from acklog import runtime
from tests.sim import loop as loop_module
from tests.sim.determinism_probe import probe
from tests.sim.loop import Deadlock, LeavesSimulationError, LeftoversError, Livelock, SimLoop, SimTask, simulate
from tests.sim.process import Process


def test_time_is_virtual_and_exact() -> None:
    async def main(loop: SimLoop) -> list[float]:
        times = []
        for delay in (0.1, 0.2, 3600.0, 86400.0 * 3):
            await asyncio.sleep(delay)
            times.append(loop.time())
        return times

    times, _ = simulate(1, main)
    assert times == [0.1, 0.1 + 0.2, 0.1 + 0.2 + 3600.0, 0.1 + 0.2 + 3600.0 + 86400.0 * 3]


def test_a_timeout_fires_at_its_virtual_time() -> None:
    async def main(loop: SimLoop) -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.sleep(3600)
        return loop.time()

    assert simulate(1, main)[0] == 5


def test_equal_seeds_give_equal_orders_and_hashes_and_others_do_not() -> None:
    first, first_hash = simulate(1, probe)
    ballast = [bytearray(1013) for _ in range(50)]
    again, again_hash = simulate(1, probe)
    other, other_hash = simulate(2, probe)
    assert ballast
    assert (first, first_hash) == (again, again_hash)
    assert other != first
    assert other_hash != first_hash
    assert sorted(other) == sorted(first)


def test_chance_of_the_process_is_the_seeds_and_is_given_back() -> None:
    async def draw(_loop: SimLoop) -> float:
        return runtime.fraction()

    random.seed("outside")
    expected = random.random()
    random.seed("outside")
    drawn = [simulate(seed, draw)[0] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert random.random() == expected


@pytest.mark.parametrize("seed", [1, 2])
def test_the_hash_seed_and_the_heap_change_nothing(seed: int) -> None:
    outputs = set()
    for hash_seed, ballast in (("1", []), ("7", ["more"])):
        command = [sys.executable, "-m", "tests.sim.determinism_probe", str(seed), *ballast]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        outputs.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(outputs) == 1


def test_a_task_group_cancels_in_an_order_that_the_seed_decides() -> None:
    async def main(loop: SimLoop) -> list[int]:
        cancelled: list[int] = []

        async def child(number: int) -> None:
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                cancelled.append(number)
                raise

        async def fail() -> None:
            await asyncio.sleep(1)
            raise ValueError

        with contextlib.suppress(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                for number in range(8):
                    group.create_task(child(number))
                group.create_task(fail())
        return cancelled

    orders = []
    for ballast in range(5):
        keep = [bytearray(64 + 16 * number) for number in range(ballast * 11)]
        orders.append(simulate(3, main)[0])
        del keep
    assert orders == [orders[0]] * 5
    assert sorted(orders[0]) == list(range(8))
    assert len({tuple(simulate(seed, main)[0]) for seed in range(5)}) > 1


def test_shuffling_keeps_the_order_within_each_task_and_among_plain_callbacks() -> None:
    async def main(loop: SimLoop) -> list[object]:
        seen: list[object] = []

        async def work(name: str) -> None:
            for step in range(5):
                seen.append((name, step))
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(work(name)) for name in "abc"]
        for number in range(10):
            loop.call_soon(seen.append, number)
        await asyncio.gather(*tasks)
        return seen

    orders = set()
    for seed in range(10):
        seen, _ = simulate(seed, main)
        assert [item for item in seen if isinstance(item, int)] == list(range(10))
        for name in "abc":
            assert [item for item in seen if isinstance(item, tuple) and item[0] == name] == [
                (name, step) for step in range(5)
            ]
        orders.add(tuple(seen))
    assert len(orders) > 5


def test_without_shuffle_the_order_is_asyncios_own() -> None:
    async def main(loop: object) -> list[int]:
        seen: list[int] = []

        async def work(number: int) -> None:
            for _ in range(3):
                seen.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(work(number) for number in range(4)))
        return seen

    assert simulate(5, main, shuffle=False)[0] == asyncio.run(main(None))


def test_waiting_for_nothing_is_a_deadlock_that_names_the_task() -> None:
    async def main(loop: SimLoop) -> None:
        await loop.create_future()

    with pytest.raises(Deadlock, match=r"task-1 at .*test_loop\.py"):
        simulate(1, main)


def test_spinning_without_time_is_a_livelock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_module, "ITERATIONS_AT_ONE_MOMENT_MAX", 100)

    async def main(loop: SimLoop) -> None:
        await asyncio.sleep(1)
        for _ in range(200):
            await asyncio.sleep(0)

    with pytest.raises(Livelock):
        simulate(1, main)


def test_threads_are_refused() -> None:
    async def main(loop: SimLoop) -> None:
        with pytest.raises(LeavesSimulationError):
            loop.call_soon_threadsafe(print)
        with pytest.raises(LeavesSimulationError):
            await asyncio.to_thread(print)
        with pytest.raises(LeavesSimulationError):
            await loop.run_in_executor(None, print)

    simulate(1, main)


def test_a_note_changes_the_hash() -> None:
    async def main(loop: SimLoop) -> None:
        pass

    async def noting(loop: SimLoop) -> None:
        loop.note("something")

    assert simulate(1, main)[1] != simulate(1, noting)[1]


def test_who_looks_after_each_turn_misses_none_and_changes_nothing() -> None:
    counts: list[int] = []
    seen: list[int] = []

    async def count() -> None:
        for number in range(3):
            counts.append(number)
            await asyncio.sleep(0)

    async def alone(_loop: SimLoop) -> None:
        await count()

    async def looked_at(loop: SimLoop) -> None:
        loop.after_each_turn(lambda: seen.append(counts[-1]))
        await count()

    assert simulate(1, alone)[1] == simulate(1, looked_at)[1]
    assert seen[:3] == [0, 1, 2]


def test_a_failure_is_told_also_while_something_stands_still() -> None:
    async def main(loop: SimLoop) -> None:
        process = Process(loop, "still")
        process.spawn(asyncio.sleep(3600), lambda task: None)
        await asyncio.sleep(0)
        process.pause()
        raise ValueError("told")

    with pytest.raises(ValueError, match="told"):
        simulate(1, main)


def test_a_task_that_swallows_its_cancellation_is_told() -> None:
    async def stubborn() -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1)

    async def main(loop: SimLoop) -> None:
        loop.create_task(stubborn())
        await asyncio.sleep(0)

    with pytest.raises(LeftoversError, match="stubborn"):
        simulate(1, main)


def test_the_internals_of_asyncio_that_the_loop_leans_on() -> None:
    """When this fails on a new Python, read `_run_once` again before anything else."""
    source = inspect.getsource(asyncio.BaseEventLoop._run_once)  # type: ignore[attr-defined]
    for needed in ("self._selector.select(timeout)", "self._ready.popleft()", "self._scheduled", "handle._run()"):
        assert needed in source

    async def main(loop: SimLoop) -> None:
        woken = loop.create_future()

        async def wait() -> None:
            await woken

        task = asyncio.create_task(wait())
        assert isinstance(task, SimTask)
        owners = []
        for settle in (lambda: None, lambda: woken.set_result(None)):
            settle()  # type: ignore[no-untyped-call]
            # The step (first round) and the wake-up (second) both name their task.
            owners.append(
                [
                    getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
                    for handle in loop._ready
                ]
            )
            await asyncio.sleep(0)
        assert [task in found for found in owners] == [True, True]

    simulate(1, main, shuffle=False)
