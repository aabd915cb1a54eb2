"""A checkpoint whose rename was never synced can be read as long as the machine runs, and be the one before after a
power loss: what recovery removes because of it must not go first. (The property test found it, with two crashes of
recoveries that followed a failed fsync of the directory.)"""

import asyncio
import contextlib
from collections.abc import Callable

import pytest

from cluster.errors import ServerError
from storage.disk.port import DiskFailedError
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from tests.sim.sim_disk import SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, LogHarness, opaque_batch

KEY = LogKey("alpha", 0, LogKind.MESSAGES)
SEEDS = range(8)
CRASHES = range(30)


def filled(seed: int) -> tuple[LogHarness, PartitionLog]:
    """A log of several segments, all of it covered by a checkpoint."""
    harness = LogHarness(seed=seed)
    store = harness.open()
    log = harness.run(store.open_log(KEY, SMALL_LOG))

    async def work() -> None:
        await asyncio.gather(*[log.append(opaque_batch(serial, size=400), leader_epoch=0) for serial in range(12)])
        await store.sync()

    harness.run(work())
    return harness, log


def remove_it(harness: LogHarness, log: PartitionLog) -> None:
    harness.run(harness.store.remove_log(KEY))


def remove_half(harness: LogHarness, log: PartitionLog) -> None:
    harness.run(log.remove_before(log.log_end // 2))


@pytest.mark.parametrize("change", [remove_it, remove_half])
def test_what_recovery_removes_is_removed_for_good(change: Callable[[LogHarness, PartitionLog], None]) -> None:
    for seed in SEEDS:
        for operations in CRASHES:
            harness, log = filled(seed)
            harness.disk.fail_next_sync_directory()
            with pytest.raises(ServerError):
                change(harness, log)
            harness.kill()
            harness.disk.crash_after_operations(operations)
            with contextlib.suppress(SimulatedPowerLoss, DiskFailedError, ServerError):
                harness.open()
            harness.lose_power()
            store = harness.open()
            assert store.failure is None
            assert not store.report.corrupt_places, (seed, operations)
            harness.dispose()
