"""What is kept back for a start on a full disk."""

import asyncio
import random
from dataclasses import replace

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.log.ballast import BALLAST_PATH, release_ballast, take_ballast
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from tests.sim.sim_disk import SimDisk, SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, SMALL_STORE, LogHarness, opaque_batch

BALLAST = 32 * 1024
RESERVE = 8 * 1024
KEY = LogKey("alpha", 0, LogKind.MESSAGES)


def disk_with(free_bytes: int) -> SimDisk:
    return SimDisk(capacity_bytes=free_bytes)


def test_it_is_taken_where_there_is_room_beside_the_reserve() -> None:
    disk = disk_with(BALLAST + RESERVE - 1)
    take_ballast(disk, ballast_bytes=BALLAST, reserve_bytes=RESERVE)
    assert disk.files() == {}
    disk.capacity_bytes += 1
    take_ballast(disk, ballast_bytes=BALLAST, reserve_bytes=RESERVE)
    assert disk.files() == {BALLAST_PATH: bytes(BALLAST)}
    take_ballast(disk, ballast_bytes=BALLAST, reserve_bytes=RESERVE)
    assert disk.free_bytes() == RESERVE


def test_it_goes_where_half_as_much_is_not_left() -> None:
    disk = disk_with(BALLAST + RESERVE)
    take_ballast(disk, ballast_bytes=BALLAST, reserve_bytes=RESERVE)
    disk.capacity_bytes = BALLAST + BALLAST // 2
    release_ballast(disk, ballast_bytes=BALLAST)
    assert disk.exists(BALLAST_PATH)
    disk.capacity_bytes -= 1
    release_ballast(disk, ballast_bytes=BALLAST)
    assert disk.files() == {}


def test_a_crash_while_it_is_made_leaves_nothing_that_stays() -> None:
    for after in range(8):
        disk = disk_with(4 * BALLAST)
        disk.crash_after_operations(after)
        try:
            take_ballast(disk, ballast_bytes=BALLAST, reserve_bytes=RESERVE)
        except SimulatedPowerLoss:
            disk.power_loss(random.Random(after))
        take_ballast(disk, ballast_bytes=BALLAST, reserve_bytes=RESERVE)
        assert disk.files() == {BALLAST_PATH: bytes(BALLAST)}


def test_a_store_on_a_full_disk_starts_and_takes_what_may_use_the_reserve() -> None:
    harness = LogHarness(replace(SMALL_STORE, ballast_bytes=BALLAST, reserve_bytes=RESERVE))
    store = harness.open()

    async def fill() -> None:
        log = await store.open_log(KEY, SMALL_LOG)
        await log.append(opaque_batch(1), leader_epoch=0)
        await store.sync()

    harness.run(fill())
    take_ballast(harness.disk, ballast_bytes=BALLAST, reserve_bytes=RESERVE)
    harness.kill()
    harness.disk.capacity_bytes = harness.disk.used_bytes
    store = harness.open()
    assert store.failure is None
    assert not harness.disk.exists(BALLAST_PATH)

    async def work() -> None:
        log = await store.open_log(KEY, SMALL_LOG)
        await store.sync()
        await log.remove_before(log.log_end)
        await store.remove_log(KEY)
        await asyncio.sleep(0)

    harness.run(work())
    harness.dispose()


def test_without_it_a_start_on_a_full_disk_says_so() -> None:
    harness = LogHarness()
    harness.open()
    harness.kill()
    harness.disk.capacity_bytes = harness.disk.used_bytes
    with pytest.raises(ServerError) as refusal:
        harness.open()
    assert refusal.value.code is ProblemCode.STORAGE_FULL
    harness.dispose()
