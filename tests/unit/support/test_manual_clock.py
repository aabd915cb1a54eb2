import asyncio

from tests.support.manual_clock import FIRST_WALL_MS, ManualClock, settle


async def test_time_stands_still_until_it_is_advanced() -> None:
    clock = ManualClock()
    assert (clock.monotonic_ms(), clock.now_ms()) == (0, FIRST_WALL_MS)
    await clock.advance_ms(250)
    assert (clock.monotonic_ms(), clock.now_ms()) == (250, FIRST_WALL_MS + 250)


async def test_sleepers_wake_at_their_own_deadlines_in_order() -> None:
    clock = ManualClock()
    woken: list[tuple[str, int]] = []

    async def sleeper(name: str, duration_ms: float) -> None:
        await clock.sleep(duration_ms)
        woken.append((name, clock.monotonic_ms()))

    tasks = [asyncio.create_task(sleeper(name, ms)) for name, ms in (("late", 30), ("early", 10), ("never", 1000))]
    await settle()
    assert clock.sleeping == 3
    await clock.advance_ms(29)
    assert woken == [("early", 10)]
    await clock.advance_ms(1)
    assert woken == [("early", 10), ("late", 30)]
    tasks[2].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert clock.sleeping == 0


async def test_a_loop_of_sleeps_wakes_as_often_as_time_allows() -> None:
    clock = ManualClock()
    moments: list[int] = []

    async def ticker() -> None:
        while True:
            await clock.sleep(10)
            moments.append(clock.monotonic_ms())

    task = asyncio.create_task(ticker())
    await clock.advance_ms(35)
    task.cancel()
    assert moments == [10, 20, 30]


async def test_a_sleep_of_nothing_only_yields() -> None:
    await ManualClock().sleep(0)
