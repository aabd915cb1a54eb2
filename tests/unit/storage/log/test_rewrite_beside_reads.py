"""Reads go on while segments are replaced, on a real disk with threads."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from acklog.wire.batch import HEADER_BYTES, BatchHeader, Buffer, encode_again
from cluster.ports.clock import Clock
from storage.disk.real_disk import RealDisk
from storage.disk.thread_executor import ThreadExecutor
from storage.log.log_settings import LogSettings, LogStoreSettings
from storage.log.partition_log import PartitionLog
from storage.log.store import LogStore
from tests.sim.environment import SimEntropy
from tests.support.compaction import remaining
from tests.support.manual_clock import ManualClock
from tests.unit.storage.log.test_segment_rewrite import KEY, bytes_of, compact, keyed, no_pause

_LOG = LogSettings(segment_bytes=2000, index_interval_bytes=200)
_BATCHES = 600


async def opened(disk: RealDisk, executor: ThreadExecutor) -> tuple[LogStore, PartitionLog]:
    clock: Clock = ManualClock()
    settings = LogStoreSettings(reserve_bytes=0, ballast_bytes=0, closed_indexes_max=2, open_files_max=3)
    store = await LogStore.open(disk=disk, io=executor, clock=clock, entropy=SimEntropy(7), settings=settings)
    log = await store.open_log(KEY, _LOG)
    await asyncio.gather(*[log.append(keyed(serial), leader_epoch=0) for serial in range(_BATCHES)])
    await store.sync()
    return store, log


class StandingDisk(RealDisk):
    """Stands still, when it is told to, right behind a rename."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.stands_still = False
        self._has_renamed = False
        self.is_standing = threading.Event()
        self.may_go_on = threading.Event()

    def rename(self, source: str, target: str) -> None:
        super().rename(source, target)
        if self.stands_still and source.endswith(".log.tmp"):
            self._has_renamed = True

    def sync_directory(self, path: str) -> None:
        if self._has_renamed:
            self.is_standing.set()
            self.may_go_on.wait(timeout=30)
        super().sync_directory(path)


class Shrinking:
    """Takes some bytes off each batch."""

    has_changed = True

    def __init__(self, bytes_off: int) -> None:
        self._bytes_off = bytes_off

    def take(self, header: BatchHeader, data: Buffer) -> Sequence[Buffer]:
        return [encode_again(header, bytes(memoryview(data)[HEADER_BYTES : -self._bytes_off]))]

    def end(self) -> Sequence[Buffer]:
        return ()


@pytest.mark.parametrize("bytes_off", [2, 9])
async def test_who_meets_the_new_file_with_the_old_index_waits(tmp_path: Path, bytes_off: int) -> None:
    disk, executor = StandingDisk(tmp_path), ThreadExecutor(3)
    store, log = await opened(disk, executor)
    await log.read(0, max_bytes=1)  # the index is in memory
    disk.stands_still = True
    compacting = asyncio.get_running_loop().create_task(
        log.rewrite_segment(0, Shrinking(bytes_off), step_bytes=500, pause=no_pause)
    )
    while not disk.is_standing.is_set():
        await asyncio.sleep(0)
    reads = [asyncio.get_running_loop().create_task(log.read(offset, max_bytes=1)) for offset in range(20)]
    for _ in range(200):
        await asyncio.sleep(0)
    assert not log.damage
    disk.may_go_on.set()
    for offset, read in enumerate(reads):
        assert (await read)[0].header.base_offset == offset
    await compacting
    assert not log.damage
    await store.close()
    executor.close()


async def test_no_read_fails_and_none_finds_what_was_never_there(tmp_path: Path) -> None:
    executor = ThreadExecutor(3)
    store, log = await opened(RealDisk(tmp_path), executor)
    sent = remaining(await bytes_of(log))
    compacting = asyncio.get_running_loop().create_task(compact(log, step_bytes=500))
    rounds = 0
    while not compacting.done():
        offset = log.log_start + rounds * 37 % _BATCHES
        found = await log.read(offset, max_bytes=1500)
        assert found[0].header.base_offset <= offset < found[0].header.next_offset
        assert remaining(bytes(data) for _, data in found).items() <= sent.items()
        rounds += 1
    assert await compacting > 10
    assert rounds > 10
    assert not log.damage
    assert len(remaining(await bytes_of(log))) < _BATCHES / 10
    await store.close()
    executor.close()
