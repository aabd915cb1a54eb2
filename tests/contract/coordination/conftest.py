"""The stores under test. A further one joins by another harness here; the tests know only `Harness`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from cluster.coordination import CoordinationStore, Watch, WatchBatch
from cluster.memory_store import MemoryStore
from cluster.sqlite_store import SqliteStore
from cluster.store_settings import StoreSettings
from tests.sim.inline_executor import InlineExecutor
from tests.support.manual_clock import ManualClock

_Result = TypeVar("_Result")

PATIENCE_S = 10


@dataclass(frozen=True, slots=True)
class Harness:
    """A store, and how to let its time pass."""

    store: CoordinationStore
    pass_ms: Callable[[int], Awaitable[None]]


@pytest.fixture(params=["memory", "sqlite"])
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Harness]:
    clock = ManualClock()
    settings = StoreSettings(history_revisions_max=500)
    store: CoordinationStore
    if request.param == "memory":
        store = MemoryStore(clock, settings)
    else:
        store = await SqliteStore.open(
            str(tmp_path / "store.db"), blocking=InlineExecutor(), clock=clock, settings=settings
        )
    yield Harness(store, clock.advance_ms)
    await store.close()


@pytest.fixture
def store(harness: Harness) -> CoordinationStore:
    return harness.store


async def soon(awaitable: Awaitable[_Result]) -> _Result:
    """What must happen does so within PATIENCE_S."""
    async with asyncio.timeout(PATIENCE_S):
        return await awaitable


async def take(watch: Watch, count: int) -> list[WatchBatch]:
    """The next `count` batches."""
    return [await soon(watch.__anext__()) for _ in range(count)]
