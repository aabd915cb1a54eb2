"""etcd killed (SIGKILL) and started again in the middle of watches, leases and transactions."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

import pytest

from cluster.ports.coordination import (
    Changed,
    CoordinationStore,
    CoordinationUnavailableError,
    LeaseLostError,
    OutcomeUnknownError,
    Put,
    absent,
    unchanged,
)
from tests.integration.etcd.conftest import StoreMaker
from tests.support.etcd_process import EtcdProcess

pytestmark = pytest.mark.integration

KILLS = 3
PATIENCE_S = 30


async def restart(etcd: EtcdProcess) -> None:
    etcd.kill()
    await asyncio.to_thread(etcd.start)


async def values_of(store: CoordinationStore, key: str, start_revision: int, last: bytes) -> list[bytes]:
    """Every value of `key` from the revision on, up to `last`."""
    watch = store.watch(key, start_revision)
    values: list[bytes] = []
    async with asyncio.timeout(PATIENCE_S):
        while not values or values[-1] != last:
            values += changed((await watch.__anext__()).events)
    await watch.aclose()
    return values


def changed(events: Iterable[object]) -> list[bytes]:
    return [event.item.value for event in events if isinstance(event, Changed)]


class Counter:
    """Counts up in one key by compare-and-set. A write whose outcome is unknown is read back before the next."""

    def __init__(self, store: CoordinationStore, key: str) -> None:
        self._store = store
        self._key = key
        self.acknowledged: dict[int, None] = {}
        self.unknown = 0

    async def step(self) -> None:
        item = await self._store.get(self._key)
        number = 0 if item is None else int(item.value) + 1
        guard = absent(self._key) if item is None else unchanged(item)
        try:
            result = await self._store.transact([guard], [Put(self._key, b"%d" % number)])
        except OutcomeUnknownError:
            self.unknown += 1
            return
        if result.succeeded:
            assert number not in self.acknowledged, "a number was given twice"
            self.acknowledged[number] = None

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                await self.step()
            except CoordinationUnavailableError:
                await asyncio.sleep(0.01)


async def test_transactions_and_watches_across_kills(etcd: EtcdProcess, make_store: StoreMaker) -> None:
    """Four writers count in one key; what was acknowledged stays, nothing is counted twice, and a watch that lives
    through it all sees the same as one that is opened afterwards."""
    writing, reading = make_store(etcd.endpoint), make_store(etcd.endpoint)
    start = (await writing.list("/")).revision + 1
    counters = [Counter(writing, "/n") for _ in range(4)]
    stop = asyncio.Event()
    writers = [asyncio.ensure_future(counter.run(stop)) for counter in counters]
    watch = reading.watch("/n", start)
    seen: list[bytes] = []

    async def read_until(last: bytes | None) -> None:
        while last is None or not seen or seen[-1] != last:
            seen.extend(changed((await watch.__anext__()).events))

    reader = asyncio.ensure_future(read_until(None))
    for _ in range(KILLS):
        acknowledged = sum(len(counter.acknowledged) for counter in counters)
        async with asyncio.timeout(PATIENCE_S):
            while sum(len(counter.acknowledged) for counter in counters) < acknowledged + 40:
                await asyncio.sleep(0.01)
        await restart(etcd)
    stop.set()
    await asyncio.wait_for(asyncio.gather(*writers), PATIENCE_S)
    final = await writing.get("/n")
    assert final is not None
    reader.cancel()
    await asyncio.gather(reader, return_exceptions=True)
    await asyncio.wait_for(read_until(final.value), PATIENCE_S)
    await watch.aclose()

    numbers = [int(value) for value in await values_of(make_store(etcd.endpoint), "/n", start, final.value)]
    assert numbers == list(range(int(final.value) + 1)), "counted by one, and by nobody twice"
    acknowledged_numbers = sorted(number for counter in counters for number in counter.acknowledged)
    assert len(set(acknowledged_numbers)) == len(acknowledged_numbers)
    assert set(acknowledged_numbers) <= set(numbers)
    assert len(numbers) - len(acknowledged_numbers) <= sum(counter.unknown for counter in counters)
    assert [int(value) for value in seen] == numbers, "no gap and no duplicate"


async def test_a_lease_that_is_kept_alive_survives_a_kill(etcd: EtcdProcess, make_store: StoreMaker) -> None:
    store = make_store(etcd.endpoint)
    lease = await store.grant_lease(4_000)
    await store.transact([], [Put("/leased", b"", lease.lease_id)])
    await restart(etcd)
    for _ in range(3):
        await store.keep_alive(lease.lease_id)
        await asyncio.sleep(0.5)
    assert await store.get("/leased") is not None
    await store.revoke_lease(lease.lease_id)
    assert await store.get("/leased") is None


async def test_a_lease_is_lost_here_while_etcd_is_away_and_its_key_goes_when_it_is_back(
    etcd: EtcdProcess, make_store: StoreMaker
) -> None:
    store = make_store(etcd.endpoint)
    lease = await store.grant_lease(1_000)
    await store.transact([], [Put("/leased", b"", lease.lease_id)])
    etcd.kill()

    async def keep_alive() -> None:
        while True:
            with suppress(CoordinationUnavailableError, OutcomeUnknownError):
                await store.keep_alive(lease.lease_id)

    with pytest.raises(LeaseLostError):
        await asyncio.wait_for(keep_alive(), PATIENCE_S)
    await asyncio.to_thread(etcd.start)
    with pytest.raises(LeaseLostError):
        await store.keep_alive(lease.lease_id)
    async with asyncio.timeout(PATIENCE_S):
        while await store.get("/leased") is not None:
            await asyncio.sleep(0.05)
