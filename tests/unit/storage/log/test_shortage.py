"""Without descriptors work is refused for as long as that lasts, and the store lives on (rule R37)."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from cluster.errors import ServerError
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from tests.support.log_harness import SMALL_LOG, LogHarness, content_of, opaque_batch
from tests.support.short_disk import ShortDisk

KEY = LogKey("alpha", 0, LogKind.MESSAGES)
OTHER = LogKey("beta", 0, LogKind.MESSAGES)
TRIES_MAX = 30


def harness_on(disk: ShortDisk) -> LogHarness:
    harness = LogHarness()
    harness.disk = disk
    harness.open()
    return harness


async def persist(step: Callable[[], Awaitable[object]], refusals: list[ServerError]) -> None:
    """Again and again until it is done; only what a client may try again may come in between."""
    for _ in range(TRIES_MAX):
        try:
            await step()
        except ServerError as error:
            if not error.is_retriable:
                raise
            refusals.append(error)
        else:
            return
    raise AssertionError(f"refused {TRIES_MAX} times: {refusals[-1]}")


async def use_everything(harness: LogHarness, refusals: list[ServerError]) -> list[bytes]:
    """All that a log can do, over several segments. What log KEY has then."""
    store, logs = harness.store, dict[LogKey, PartitionLog]()
    acknowledged: list[tuple[int, int]] = []

    async def open_log(key: LogKey) -> None:
        logs[key] = await store.open_log(key, SMALL_LOG)

    async def append(key: LogKey, serial: int) -> None:
        appended = await logs[key].append(opaque_batch(serial, size=200), leader_epoch=serial // 10)
        if key is KEY:
            acknowledged.append((appended.base_offset, serial))

    async def do(step: Callable[[], Awaitable[object]]) -> None:
        await persist(step, refusals)

    await do(lambda: open_log(KEY))
    await do(lambda: open_log(OTHER))
    for serial in range(18):
        await do(lambda serial=serial: append(KEY, serial))  # type: ignore[misc]
        await do(lambda serial=serial: append(OTHER, serial))  # type: ignore[misc]
        if serial % 6 == 5:
            await do(store.sync)
    await do(lambda: logs[KEY].read(0, max_bytes=100))
    await do(lambda: logs[KEY].offset_at_time(1))
    await do(lambda: logs[KEY].truncate_to(10))
    acknowledged = [each for each in acknowledged if each[0] < 10]
    for serial in range(20, 26):
        await do(lambda serial=serial: append(KEY, serial))  # type: ignore[misc]
    await do(lambda: logs[KEY].remove_before(6))
    await do(lambda: logs[OTHER].reset_to(100))
    await do(lambda: append(OTHER, 1000))
    await do(lambda: store.remove_log(OTHER))
    await do(lambda: open_log(OTHER))
    await do(lambda: append(OTHER, 2000))
    await do(store.sync)
    assert store.failure is None
    return [
        content_of(opaque_batch(serial, size=200)) for offset, serial in acknowledged if offset >= logs[KEY].log_start
    ]


async def with_time_passing(harness: LogHarness, work: Awaitable[list[bytes]]) -> list[bytes]:
    task = asyncio.ensure_future(work)
    while not task.done():
        await harness.clock.advance_ms(1_000)
    return await task


def count_openings() -> int:
    disk = ShortDisk()
    harness = harness_on(disk)
    before = disk.openings
    harness.run(with_time_passing(harness, use_everything(harness, [])))
    harness.dispose()
    return disk.openings - before


@pytest.mark.parametrize("lasting", [1, 4])
def test_wherever_descriptors_run_out_nothing_is_lost(lasting: int) -> None:
    """Each thing that needs a descriptor meets a shortage once, for one opening or for several."""
    has_refused = False
    for number in range(1, count_openings() + 1):
        disk = ShortDisk()
        harness = harness_on(disk)
        first = disk.openings + number
        disk.is_short = lambda count, first=first: first <= count < first + lasting  # type: ignore[misc]
        refusals: list[ServerError] = []
        expected = harness.run(with_time_passing(harness, use_everything(harness, refusals)))
        has_refused = has_refused or bool(refusals)
        disk.is_short = lambda _count: False
        for end_life in (harness.kill, harness.lose_power):
            log = harness.run(harness.store.open_log(KEY, SMALL_LOG))
            assert [each.content for each in harness.read_all(log)] == expected, f"opening {number}"
            other = harness.run(harness.store.open_log(OTHER, SMALL_LOG))
            assert [each.content for each in harness.read_all(other)] == [content_of(opaque_batch(2000, size=200))]
            end_life()
            assert harness.open().failure is None
        harness.dispose()
    assert has_refused


class RecordingDisk(ShortDisk):
    """`synced` are the directories whose names were made durable."""

    def __init__(self) -> None:
        super().__init__()
        self.synced: list[str] = []

    def sync_directory(self, path: str) -> None:
        super().sync_directory(path)
        self.synced.append(path)


def test_names_that_were_removed_and_not_synced_are_synced_later() -> None:
    """A refused append has begun a segment: that its name is gone is made durable by the next sync, if not at once."""
    disk = RecordingDisk()
    harness = harness_on(disk)
    log = harness.run(harness.store.open_log(KEY, SMALL_LOG))

    async def append(size: int) -> None:
        await log.append(opaque_batch(1, size=size), leader_epoch=0)

    harness.run(append(600))
    harness.run(harness.store.sync())
    openings = disk.openings
    disk.is_short = lambda count: count > openings + 1  # for one of two new segments there is a descriptor

    async def append_two() -> None:
        results = await asyncio.gather(append(600), append(600), return_exceptions=True)
        assert [isinstance(each, ServerError) for each in results] == [True, True]

    harness.run(append_two())
    disk.is_short = lambda _count: False
    names = disk.list_directory(KEY.directory)
    assert [name for name in names if name.endswith(".log")] == ["00000000000000000000.log"]
    disk.synced.clear()
    harness.run(append(40))
    harness.run(harness.store.sync())
    assert KEY.directory in disk.synced
    harness.lose_power()
    harness.open()
    log = harness.run(harness.store.open_log(KEY, SMALL_LOG))
    assert len(harness.read_all(log)) == 2
    harness.dispose()


def test_for_as_long_as_it_lasts() -> None:
    """What needs no new file goes on; what does is refused as long as there is no descriptor, and taken then."""
    disk = ShortDisk()
    harness = harness_on(disk)
    log = harness.run(harness.store.open_log(KEY, SMALL_LOG))

    async def append(serial: int, *, key: LogKey = KEY) -> None:
        log = await harness.store.open_log(key, SMALL_LOG)
        await log.append(opaque_batch(serial, size=200), leader_epoch=0)

    harness.run(append(0))
    disk.is_short = lambda _count: True
    codes = []
    for serial in range(1, 40):
        try:
            harness.run(append(serial))
        except ServerError as error:
            codes.append((error.code.name, error.retry_after_ms))
    with pytest.raises(ServerError, match="OVERLOADED"):
        harness.run(append(0, key=OTHER))
    assert set(codes) == {("OVERLOADED", harness.settings.retry_after_ms)}
    assert harness.store.failure is None
    disk.is_short = lambda _count: False
    harness.run(append(100))
    assert log.log_end == 41 - len(codes)
    harness.lose_power()
    harness.open()
    log = harness.run(harness.store.open_log(KEY, SMALL_LOG))
    assert len(harness.read_all(log)) == 41 - len(codes)
    harness.dispose()
