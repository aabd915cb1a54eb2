"""The stores under test. A further one joins by another harness here; the tests know only `Harness`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from cluster.ports.coordination import CoordinationStore, Watch, WatchBatch
from cluster.ports.runtime import SteadyClock
from cluster.stores.memory_store import MemoryStore
from cluster.stores.sqlite_store import SqliteStore
from cluster.stores.store_settings import StoreSettings
from tests.sim.inline_executor import InlineExecutor
from tests.support.etcd_binary import etcd_binary
from tests.support.etcd_process import EtcdProcess, running_etcd
from tests.support.etcd_store import etcd_store
from tests.support.manual_clock import ManualClock
from tests.support.served_elsewhere import ServedElsewhere

_Result = TypeVar("_Result")

PATIENCE_S = 10


@dataclass(frozen=True, slots=True)
class Harness:
    """A store, and how to let its time pass.

    Leases live for multiples of `ttl_ms`. One is surely alive `tick_ms` before its end, and has surely ended `lag_ms`
    behind it.
    """

    store: CoordinationStore
    pass_ms: Callable[[int], Awaitable[None]]
    ttl_ms: int = 10_000
    tick_ms: int = 1
    lag_ms: int = 0


@pytest.fixture(params=["memory", "sqlite", "remote", pytest.param("etcd", marks=pytest.mark.integration)])
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Harness]:
    served: ServedElsewhere | None = None
    if request.param == "etcd":
        etcd: EtcdProcess = request.getfixturevalue("etcd_of_the_session")
        etcd.wipe()
        store: CoordinationStore = etcd_store(etcd.endpoint)
        # Real time: etcd counts in seconds, and looks twice a second for leases that have ended.
        yield Harness(store, SteadyClock().sleep, ttl_ms=2_000, tick_ms=800, lag_ms=1_200)
    else:
        clock = ManualClock()
        settings = StoreSettings(history_revisions_max=500)
        if request.param == "memory":
            store = MemoryStore(clock, settings)
        elif request.param == "remote":
            served = await ServedElsewhere.serve(MemoryStore(clock, settings), tmp_path / "sockets")
            store = served.store()
        else:
            path = str(tmp_path / "store.db")
            store = await SqliteStore.open(path, blocking=InlineExecutor(), clock=clock, settings=settings)
        yield Harness(store, clock.advance_ms)
    await store.close()
    if served is not None:
        await served.close()


@pytest.fixture(scope="session")
def etcd_of_the_session(pytestconfig: pytest.Config) -> Iterator[EtcdProcess]:
    """A real etcd with one member, shared by the tests of a worker one after the other."""
    with running_etcd(etcd_binary(pytestconfig)) as etcd:
        yield etcd


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
