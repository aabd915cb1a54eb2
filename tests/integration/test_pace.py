"""The beat that open loops keep, on the kernel's own timer."""

import asyncio
import os
from time import perf_counter, sleep

import pytest

from loadtests.pace import Pace

pytestmark = pytest.mark.integration


async def test_beats_come_until_the_pace_is_closed() -> None:
    beats: list[float] = []
    enough = asyncio.Event()

    def on_beat() -> None:
        beats.append(perf_counter())
        if len(beats) == 5:
            pace.close()
            enough.set()

    start = perf_counter() + 0.01
    pace = Pace(start, 0.002, on_beat)
    await enough.wait()
    assert beats[0] >= start
    assert beats[4] >= start + 4 * 0.002
    await asyncio.sleep(0.01)
    assert len(beats) == 5


async def test_beats_that_were_missed_come_as_one() -> None:
    beats = 0

    def on_beat() -> None:
        nonlocal beats
        beats += 1

    pace = Pace(perf_counter() - 0.5, 0.5, on_beat)
    sleep(0.02)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert beats == 1, "a beginning that is over is no reason to wait"
    pace.close()


async def test_a_closed_pace_leaves_no_descriptor_behind() -> None:
    before = len(os.listdir("/proc/self/fd"))
    Pace(perf_counter() + 60, 60, lambda: None).close()
    assert len(os.listdir("/proc/self/fd")) == before
