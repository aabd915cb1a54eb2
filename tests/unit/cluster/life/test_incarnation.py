import asyncio

import pytest

from cluster.life.incarnation import ATTEMPTS_MAX, take_incarnation
from cluster.model import keys
from cluster.ports.coordination import CoordinationUnavailableError, OutcomeUnknownError, Put
from cluster.stores.memory_store import MemoryStore
from tests.support.flaky_store import FlakyStore
from tests.support.manual_clock import ManualClock


async def test_every_start_gets_a_higher_one() -> None:
    clock = ManualClock()
    store = MemoryStore(clock)
    assert [await take_incarnation(store, 1, clock=clock) for _ in range(3)] == [1, 2, 3]
    assert await take_incarnation(store, 2, clock=clock) == 1
    item = await store.get(keys.incarnation(1))
    assert item is not None
    assert item.value == b"3"


async def test_an_unknown_outcome_costs_a_number() -> None:
    clock = ManualClock()
    store = FlakyStore(MemoryStore(clock))
    store.after["transact"] = [OutcomeUnknownError("?")]
    taking = asyncio.ensure_future(take_incarnation(store, 1, clock=clock))
    await clock.advance_ms(100)
    assert await taking == 2


async def test_starts_at_the_same_time_get_different_ones() -> None:
    clock = ManualClock()
    store = FlakyStore(MemoryStore(clock))
    real_get = store.store.get

    async def slow_get(key: str) -> object:
        item = await real_get(key)
        await asyncio.sleep(0)
        return item

    store.store.get = slow_get  # type: ignore[method-assign,assignment]
    taking = [asyncio.ensure_future(take_incarnation(store, 1, clock=clock)) for _ in range(3)]
    await clock.advance_ms(1000)
    assert sorted(await asyncio.gather(*taking)) == [1, 2, 3]


async def test_it_gives_up_on_a_store_that_stays_away() -> None:
    clock = ManualClock()
    store = FlakyStore(MemoryStore(clock))
    store.before["get"] = [CoordinationUnavailableError("down")] * ATTEMPTS_MAX
    taking = asyncio.ensure_future(take_incarnation(store, 1, clock=clock))
    await clock.advance_ms(ATTEMPTS_MAX * 5_000)
    with pytest.raises(CoordinationUnavailableError, match="down"):
        await taking
    await store.transact([], [Put(keys.incarnation(1), b"41")])
    assert await take_incarnation(store, 1, clock=clock) == 42
