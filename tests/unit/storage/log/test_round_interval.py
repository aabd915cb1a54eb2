"""Rounds of the group commit that keep a distance, where they have company in them."""

import asyncio
from dataclasses import replace

from cluster.ports.runtime import SystemEntropy
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from storage.log.store import LogStore
from tests.sim.environment import MachineClock, SimClock
from tests.sim.inline_executor import InlineExecutor
from tests.sim.loop import SimLoop, simulate
from tests.sim.sim_disk import SimDisk
from tests.support.log_harness import SMALL_LOG, SMALL_STORE, opaque_batch

INTERVAL_MS = 20
KEY = LogKey("alpha", 0, LogKind.MESSAGES)
OTHER = LogKey("alpha", 1, LogKind.MESSAGES)


async def _opened(loop: SimLoop) -> tuple[LogStore, PartitionLog, PartitionLog]:
    store = await LogStore.open(
        disk=SimDisk(seed=1),
        io=InlineExecutor(),
        clock=SimClock(MachineClock(loop)),
        entropy=SystemEntropy(),
        settings=replace(SMALL_STORE, round_interval_ms=INTERVAL_MS),
    )
    return store, await store.open_log(KEY, SMALL_LOG), await store.open_log(OTHER, SMALL_LOG)


async def _append(log: PartitionLog, serial: int) -> None:
    await log.append(opaque_batch(serial), leader_epoch=1)


def test_behind_a_round_of_several_appends_the_next_one_keeps_its_distance() -> None:
    async def main(loop: SimLoop) -> None:
        store, log, other = await _opened(loop)
        begin = loop.time()
        await asyncio.gather(_append(log, 1), _append(other, 1))
        assert loop.time() == begin, "nobody waits for company"
        later = [asyncio.create_task(_append(log, serial)) for serial in (2, 3)]
        await asyncio.sleep(INTERVAL_MS / 2000)
        later.append(asyncio.create_task(_append(other, 2)))
        await asyncio.gather(*later)
        assert loop.time() - begin == INTERVAL_MS / 1000, "all three in one round"
        await asyncio.sleep(INTERVAL_MS / 1000)
        begin = loop.time()
        await _append(log, 4)
        assert loop.time() == begin, "the distance is from the beginning of the last round"
        await store.close()

    simulate(1, main)


def test_one_append_after_the_other_never_waits() -> None:
    async def main(loop: SimLoop) -> None:
        store, log, _ = await _opened(loop)
        begin = loop.time()
        for serial in range(20):
            await _append(log, serial)
        assert loop.time() == begin
        await store.close()

    simulate(1, main)


def test_a_store_that_is_closed_meanwhile_writes_what_it_took() -> None:
    async def main(loop: SimLoop) -> None:
        store, log, other = await _opened(loop)
        await asyncio.gather(_append(log, 1), _append(other, 1))
        waiting = asyncio.create_task(_append(log, 2))
        await asyncio.sleep(0)
        await store.close()
        await waiting
        assert log.log_end == 2

    simulate(1, main)
