"""The checkpoint of high watermarks: never too high, and never in anybody's way."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from storage.log.high_watermarks import HIGH_WATERMARKS_PATH, HighWatermarks
from storage.log.keys import LogKey
from storage.log.log_table import LOGS
from tests.sim.inline_executor import InlineExecutor
from tests.sim.sim_disk import CAPACITY_BYTES_DEFAULT, SimDisk, SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, LogHarness, opaque_batch

KEYS = [LogKey("alpha", number, kind) for number in range(3) for kind in LOGS]
FIRST, SECOND = KEYS[0], KEYS[1]


@pytest.fixture
def harness() -> Iterator[LogHarness]:
    harness = LogHarness()
    harness.open()
    harness.run(begin_logs(harness, KEYS))
    yield harness
    harness.dispose()


async def begin_logs(harness: LogHarness, keys: list[LogKey]) -> None:
    """Each has something in it, as an empty one has no high watermark."""
    for key in keys:
        log = await harness.store.open_log(key, SMALL_LOG)
        await log.append(opaque_batch(0), leader_epoch=0)
    await harness.store.sync()


def read(disk: SimDisk) -> HighWatermarks:
    return asyncio.run(HighWatermarks.read(disk, InlineExecutor()))


def write(high_watermarks: HighWatermarks, known: dict[LogKey, int]) -> None:
    asyncio.run(high_watermarks.write(known))


def stored(disk: SimDisk) -> dict[LogKey, int]:
    high_watermarks = read(disk)
    return {key: high_watermarks.get(key) for key in KEYS if high_watermarks.get(key)}


def test_what_was_written_is_there_after_a_power_loss(harness: LogHarness) -> None:
    assert stored(harness.disk) == {}
    write(read(harness.disk), {FIRST: 7, SECOND: 1 << 40})
    harness.lose_power()
    assert stored(harness.disk) == {FIRST: 7, SECOND: 1 << 40}


def test_logs_that_nobody_has_named_yet_are_kept_and_those_no_longer_named_are_not(harness: LogHarness) -> None:
    write(read(harness.disk), {FIRST: 7, SECOND: 8})
    high_watermarks = read(harness.disk)
    write(high_watermarks, {FIRST: 9})
    assert stored(harness.disk) == {FIRST: 9, SECOND: 8}
    write(high_watermarks, {SECOND: 10})
    assert stored(harness.disk) == {SECOND: 10}
    assert high_watermarks.get(FIRST) == 7


def test_logs_that_are_gone_are_forgotten(harness: LogHarness) -> None:
    write(read(harness.disk), dict.fromkeys(KEYS, 5))
    for gone in KEYS[-2:]:
        harness.run(harness.store.remove_log(gone))
    assert set(stored(harness.disk)) == set(KEYS[:-2])


def test_nothing_is_written_when_nothing_has_changed(harness: LogHarness) -> None:
    high_watermarks = read(harness.disk)
    write(high_watermarks, {FIRST: 7})
    operations = harness.disk.operations
    write(high_watermarks, {FIRST: 7})
    write(read(harness.disk), {FIRST: 7})
    assert harness.disk.operations == operations


@pytest.mark.parametrize("content", [b"", b"AKC1", b"nonsense" * 9])
def test_a_damaged_one_counts_as_empty_and_is_replaced(harness: LogHarness, content: bytes) -> None:
    file = harness.disk.create(HIGH_WATERMARKS_PATH)
    file.write(0, [content])
    file.close()
    assert stored(harness.disk) == {}
    write(read(harness.disk), {FIRST: 3})
    assert stored(harness.disk) == {FIRST: 3}
    for position in range(0, 30, 5):
        harness.disk.bit_rot(HIGH_WATERMARKS_PATH, position, 2)
        assert stored(harness.disk) == {}
        harness.disk.bit_rot(HIGH_WATERMARKS_PATH, position, 2)


def test_a_full_or_failing_disk_is_in_nobodys_way(harness: LogHarness) -> None:
    high_watermarks = read(harness.disk)
    write(high_watermarks, {FIRST: 3})
    harness.disk.capacity_bytes = harness.disk.used_bytes
    write(high_watermarks, {FIRST: 4})
    assert stored(harness.disk) == {FIRST: 3}
    harness.disk.capacity_bytes = CAPACITY_BYTES_DEFAULT
    harness.disk.fail_next_sync()
    write(high_watermarks, {FIRST: 5})
    write(high_watermarks, {FIRST: 5})
    assert stored(harness.disk) == {FIRST: 5}
    harness.disk.fail_next_read()
    assert stored(harness.disk) == {}


@pytest.mark.parametrize("ending", ["kill", "power loss"])
def test_a_crash_at_any_point_leaves_an_old_one_or_the_new_one(ending: str) -> None:
    for after in range(20):
        harness = LogHarness(seed=after)
        harness.open()
        harness.run(begin_logs(harness, [FIRST]))
        write(read(harness.disk), {FIRST: 1})
        harness.disk.crash_after_operations(after)
        reached = 1
        with contextlib.suppress(SimulatedPowerLoss):
            for value in (2, 3):
                write(read(harness.disk), {FIRST: value})
                reached = value
        if ending == "kill":
            harness.kill()
        else:
            harness.lose_power()
        assert read(harness.disk).get(FIRST) in (reached, reached + 1)
        harness.dispose()
    assert reached == 3


_Result = TypeVar("_Result")


class SlowExecutor(InlineExecutor):
    """Runs functions when `gate` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.running = 0

    async def run(self, function: Callable[[], _Result]) -> _Result:
        self.running += 1
        assert self.running == 1, "two at a time would write the same file"
        await self.gate.wait()
        self.running -= 1
        return function()


def test_one_write_at_a_time_also_when_its_caller_goes_away(harness: LogHarness) -> None:
    async def main() -> None:
        slow = SlowExecutor()
        high_watermarks = HighWatermarks(harness.disk, slow, {})
        writes = [asyncio.ensure_future(high_watermarks.write({FIRST: value})) for value in (1, 2)]
        await asyncio.sleep(0)
        writes[0].cancel()
        last = asyncio.ensure_future(high_watermarks.write({FIRST: 3}))
        for _ in range(5):
            await asyncio.sleep(0)
        slow.gate.set()
        await asyncio.gather(*writes, last, return_exceptions=True)
        assert writes[0].cancelled()

    asyncio.run(main())
    assert stored(harness.disk) == {FIRST: 3}
