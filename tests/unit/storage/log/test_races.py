"""What happens to one log at the same time, and what a caller that goes away may leave behind."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.disk.executor import Then
from storage.log.keys import LogKey
from storage.log.log_settings import LogSettings
from storage.log.log_table import LogKind
from storage.log.segment_reader import load_index
from storage.log.uncancelled import uncancelled
from tests.support.log_harness import SMALL_LOG, LogHarness, opaque_batch

KEY = LogKey("alpha", 0, LogKind.MESSAGES)

_Result = TypeVar("_Result")


@pytest.fixture
def harness() -> Iterator[LogHarness]:
    harness = LogHarness()
    harness.open()
    yield harness
    harness.dispose()


def test_a_segment_that_was_synced_before_it_was_closed_gives_back_its_index(harness: LogHarness) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        for serial in range(20):
            await log.append(opaque_batch(serial, size=600), leader_epoch=0)
            await harness.store.sync()
        segments = log._state.segments
        assert len(segments) > 5
        assert [segment for segment in segments[:-1] if segment.index is not None] == []

    harness.run(main())
    harness.close()
    assert harness.open().report.segments_scanned == 0


class SlowIndexes:
    """An I/O executor in which indexes are loaded when `gate` is set; `loads` counts them."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.loads = 0

    async def run(self, function: Callable[[], _Result]) -> _Result:
        if isinstance(function, partial) and function.func is load_index:
            self.loads += 1
            await self.gate.wait()
        return function()

    def start(self, function: Callable[[], object], then: Then) -> None:
        asyncio.get_running_loop().call_soon(lambda: then(function(), None))

    def close(self) -> None:
        pass


def test_a_time_is_looked_up_while_retention_removes_the_segment(harness: LogHarness) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        for serial in range(12):
            await log.append(opaque_batch(serial, size=600), leader_epoch=0)
        await harness.store.sync()
        harness.store._engine.indexes._indexes.clear()
        harness.store._engine.io = io = SlowIndexes()
        looking = asyncio.ensure_future(log.offset_at_time(0))
        while not io.loads:
            await asyncio.sleep(0)
        assert await log.remove_before(5) == 5
        io.gate.set()
        assert await looking == 5

    harness.run(main())


def test_readers_that_need_the_same_lost_index_make_it_once(harness: LogHarness) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        for serial in range(12):
            await log.append(opaque_batch(serial, size=600), leader_epoch=0)
        await harness.store.sync()
        harness.store._engine.indexes._indexes.clear()
        harness.store._engine.io = io = SlowIndexes()
        segment = log._state.segments[0]
        harness.disk.remove(segment.index_path)
        reads = [asyncio.ensure_future(log.read(0, max_bytes=1)) for _ in range(5)]
        while not io.loads:
            await asyncio.sleep(0)
        reads[0].cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        io.gate.set()
        found = await asyncio.gather(*reads[1:])
        assert [batches[0].header.base_offset for batches in found] == [0] * 4
        assert io.loads == 1
        assert harness.disk.exists(segment.index_path)

    harness.run(main())


def test_a_bad_sector_hides_only_the_batch_that_it_is_in(harness: LogHarness) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, LogSettings(segment_bytes=100_000, index_interval_bytes=200))
        for serial in range(30):
            await log.append(opaque_batch(serial, size=600), leader_epoch=0)
        length = (await log.read(0, max_bytes=1))[0].header.length
        bad = 10 * length + 300
        read_file = harness.disk.read_file

        def read(node: object, path: str, position: int, size: int) -> bytes:
            if path.endswith(".log") and position <= bad < position + size:
                harness.disk.fail_next_read()
            return read_file(node, path, position, size)  # type: ignore[arg-type]

        harness.disk.read_file = read  # type: ignore[method-assign, assignment]
        found: list[int] = []
        problems: list[tuple[ProblemCode, dict[str, object]]] = []
        offset = 0
        while offset < log.log_end:
            try:
                batches = await log.read(offset, max_bytes=10_000)
            except ServerError as error:
                problems.append((error.code, error.extra))
                offset += 1
            else:
                found += [batch.header.base_offset for batch in batches]
                offset = batches[-1].header.next_offset
        assert problems == [(ProblemCode.RECORDS_CORRUPT, {"offset": 10, "next_offset": 11})]
        assert found == [*range(10), *range(11, 30)]
        assert harness.store.failure is None

    harness.run(main())


@pytest.mark.parametrize("turns", range(12))
def test_a_cancelled_change_of_a_log_is_made_and_keeps_nothing_locked(harness: LogHarness, turns: int) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        for serial in range(12):
            await log.append(opaque_batch(serial, size=600), leader_epoch=0)
        await harness.clock.advance_ms(10_000)
        retaining = asyncio.ensure_future(log.retain(retention_ms=1000, retention_bytes=-1))
        for _ in range(turns):
            await asyncio.sleep(0)
        retaining.cancel()
        await asyncio.gather(retaining, return_exceptions=True)
        assert retaining.cancelled() or retaining.result().segments_removed
        assert harness.store.failure is None
        await log.append(opaque_batch(99), leader_epoch=0)
        assert log.log_start in (0, 12)
        await harness.store.remove_log(KEY)

    harness.run(main())


async def test_what_may_not_be_cancelled_ends_first_and_then_the_caller_does() -> None:
    steps: list[str] = []

    async def work(outcome: str) -> str:
        for step in range(3):
            await asyncio.sleep(0)
            steps.append(f"{outcome} {step}")
        if outcome == "fails":
            raise ValueError(outcome)
        return outcome

    assert await uncancelled(work("ends")) == "ends"
    with pytest.raises(ValueError, match="fails"):
        await uncancelled(work("fails"))
    for outcome in ("ends", "fails"):
        steps.clear()
        task = asyncio.ensure_future(uncancelled(work(outcome)))
        for _ in range(3):  # also a second time
            await asyncio.sleep(0)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert steps == [f"{outcome} {step}" for step in range(3)]
