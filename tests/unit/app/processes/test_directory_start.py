"""A node's data directory that is an old copy of itself is not started."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.processes.directory_start import count_start
from cluster.backoff import Backoff
from cluster.ports.coordination import CoordinationUnavailableError, OutcomeUnknownError
from cluster.stores.memory_store import MemoryStore
from storage.disk.real_disk import RealDisk
from storage.log.data_directory import DataDirectoryError
from storage.log.directory_life import LIFE_PATH, read_starts
from tests.support.flaky_store import FlakyStore
from tests.support.manual_clock import ManualClock


class InThisThread:
    async def run(self, function: Callable[[], Any]) -> Any:
        return function()


class Starts:
    def __init__(self, directory: Path) -> None:
        self.clock = ManualClock()
        self.store = FlakyStore(MemoryStore(self.clock))
        self.directory = directory
        directory.mkdir()

    async def start(self) -> int:
        disk = RealDisk(self.directory)
        await count_start(
            self.store,
            "d1",
            disk=disk,
            io=InThisThread(),  # type: ignore[arg-type]
            clock=self.clock,
            backoff=Backoff(),
        )
        return read_starts(disk)


async def test_a_directory_starts_again_and_again(tmp_path: Path) -> None:
    starts = Starts(tmp_path / "data")
    assert [await starts.start() for _ in range(3)] == [1, 2, 3]


async def test_an_old_copy_is_refused_and_the_newest_goes_on(tmp_path: Path) -> None:
    starts = Starts(tmp_path / "data")
    await starts.start()
    shutil.copytree(starts.directory, tmp_path / "copy")
    await starts.start()
    starts.directory = tmp_path / "copy"
    with pytest.raises(DataDirectoryError, match=r"old copy: it was started 1 times, and .* of 2 times"):
        await starts.start()
    starts.directory = tmp_path / "data"
    assert await starts.start() == 3


async def test_one_of_a_version_that_did_not_count_is_taken(tmp_path: Path) -> None:
    starts = Starts(tmp_path / "data")
    await starts.start()
    shutil.copytree(starts.directory, tmp_path / "later")
    (tmp_path / "later" / LIFE_PATH).unlink()
    starts.directory = tmp_path / "later"
    with pytest.raises(DataDirectoryError, match="started 0 times"):
        await starts.start()
    first = Starts(tmp_path / "first")
    assert await first.start() == 1, "nothing is known of it in the store"


async def test_a_start_that_is_cut_short_does_not_make_its_directory_old(tmp_path: Path) -> None:
    """The directory counts first; whether the store did, nobody knows."""
    starts = Starts(tmp_path / "data")
    await starts.start()
    starts.store.before["transact"] = [OutcomeUnknownError("?")] * 20
    with pytest.raises(CoordinationUnavailableError):
        await _advancing(starts)
    starts.store.before.clear()
    assert await starts.start() == 2


async def test_a_damaged_count_is_said(tmp_path: Path) -> None:
    starts = Starts(tmp_path / "data")
    (starts.directory / LIFE_PATH).write_text("?")
    with pytest.raises(DataDirectoryError, match=r"life\.json is damaged"):
        await starts.start()


async def _advancing(starts: Starts) -> None:
    task = asyncio.ensure_future(starts.start())
    while not task.done():
        await starts.clock.advance_ms(10_000)
    await task
