"""What a drain leaves of the event loop to others."""

import asyncio
from typing import Any

import pytest

from storage.node.schedule.loop_share import LoopShare
from storage.node.schedule.schedule_keepers import ScheduleKeepers
from storage.schedule.memory_index import MemoryScheduleIndexes
from storage.schedule.schedule_settings import ScheduleSettings
from tests.sim.loop import SimLoop
from tests.support.manual_clock import ManualClock


def times_of(percent: int, *turns_s: float, rest_max_ms: int = 20, idle_s: float = 1.0) -> list[float]:
    """When each turn began, all of them asked for at once, after nothing was done for so long."""
    loop = SimLoop(1, shuffle=False)
    begun: list[float] = []

    async def main() -> None:
        share = LoopShare(percent=percent, rest_max_ms=rest_max_ms)
        await asyncio.sleep(idle_s)
        start_s = loop.time()

        async def work(duration_s: float) -> None:
            async with share.turn():
                begun.append(round(loop.time() - start_s, 6))
                for _ in range(2):
                    with share.piece():
                        loop._now += duration_s / 2  # as if it took so long

        await asyncio.gather(*(work(each) for each in turns_s))

    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    return begun


def test_turns_rest_in_between_when_what_was_left_over_is_used() -> None:
    begun = times_of(10, *[0.002] * 100)
    assert begun[:3] == pytest.approx([0, 0.002, 0.02]), "the first have what was not used before"
    assert begun[99] == pytest.approx(99 * 0.02, abs=0.021), "a tenth of the time"


def test_who_has_little_to_do_waits_for_nobody() -> None:
    assert times_of(10, *[0.0001] * 20) == pytest.approx([0.0001 * number for number in range(20)])


def test_a_piece_that_had_to_wait_for_the_processor_is_not_paid_for_in_full() -> None:
    assert times_of(10, 3.0, 0.001) == pytest.approx([0, 3.02])


def test_work_that_fails_gives_up_its_turn() -> None:
    async def main() -> None:
        share = LoopShare(percent=25, rest_max_ms=20)

        async def fail() -> None:
            async with share.turn():
                with share.piece():
                    raise ValueError("mine")

        with pytest.raises(ValueError, match="mine"):
            await fail()
        async with share.turn():
            pass

    asyncio.run(main())


def test_all_partitions_of_a_node_have_one_share() -> None:
    def fail(error: BaseException) -> None:
        raise error

    keepers = ScheduleKeepers(MemoryScheduleIndexes(), ManualClock(), ScheduleSettings(), fail)
    logs: list[Any] = [object(), object()]
    first, second = (keepers.of(log) for log in logs)
    assert first.appending is second.appending
    assert first.reading is second.reading
    assert first.appending is not first.reading, "what is due does not wait for what will be"
