"""Long computations let others in between their steps."""

import asyncio
from collections.abc import Generator

import pytest

from app.http.exchange.turns import Turns, at_once


def counting(name: str, log: list[str], steps: int) -> Generator[None, None, str]:
    for number in range(steps):
        log.append(f"{name}{number}")
        yield
    return name


async def test_one_step_is_taken_at_once() -> None:
    log: list[str] = []
    asyncio.get_running_loop().call_soon(log.append, "other")
    assert await Turns().take(counting("a", log, 0)) == "a"
    assert log == []


async def test_steps_alternate_and_others_come_in_between() -> None:
    turns, log = Turns(), list[str]()

    async def tick() -> None:
        while True:
            log.append(".")
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    results = await asyncio.gather(turns.take(counting("a", log, 5)), turns.take(counting("b", log, 5)))
    ticking.cancel()
    assert results == ["a", "b"]
    steps = [each for each in log if each != "."]
    assert steps == [f"{name}{number}" for number in range(5) for name in "ab"]
    later = "".join(each[0] for each in log[log.index("a1") :])
    assert "ab" not in later
    assert "ba" not in later


async def test_what_a_step_raises_is_raised_and_lets_the_next_one_go_on() -> None:
    def failing() -> Generator[None, None, None]:
        yield
        raise ValueError("no")

    turns, log = Turns(), list[str]()
    with pytest.raises(ValueError, match="no"):
        await turns.take(failing())
    assert await turns.take(counting("a", log, 3)) == "a"
    assert at_once(counting("b", log, 3)) == "b"
