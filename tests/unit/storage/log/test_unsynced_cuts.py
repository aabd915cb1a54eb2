"""A file that was cut, or removed, by a process that was killed is as short as that for the next start; a power loss
may still bring back what was there. What a start has reported as the end of a log stays it: nothing that nobody was
told of comes back behind it. (The property test found it, with an append that was being taken back on a full disk.)"""

import asyncio
import contextlib
from collections.abc import Callable

import pytest

from cluster.errors import ServerError
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from tests.sim.sim_disk import CAPACITY_BYTES_DEFAULT, SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, Found, LogHarness, opaque_batch

KEY = LogKey("alpha", 0, LogKind.MESSAGES)
SEEDS = range(3)
CRASHES = range(20)


async def append(log: PartitionLog, sizes: list[int]) -> None:
    appends = [log.append(opaque_batch(serial, size=size), leader_epoch=0) for serial, size in enumerate(sizes)]
    await asyncio.gather(*appends, return_exceptions=True)


def take_back(harness: LogHarness, log: PartitionLog) -> None:
    """The third finds no space in the segment that it would begin: none of the three is to be left."""
    harness.disk.capacity_bytes = harness.disk.used_bytes + 3000
    harness.run(append(log, [400, 400, 5000]))


def truncate(harness: LogHarness, log: PartitionLog) -> None:
    harness.run(log.truncate_to(log.log_end // 2))


def truncate_to_the_start(harness: LogHarness, log: PartitionLog) -> None:
    harness.run(log.truncate_to(log.log_start))


def reset(harness: LogHarness, log: PartitionLog) -> None:
    harness.run(log.reset_to(log.log_end + 5))


def begin(seed: int, sizes: list[int]) -> tuple[LogHarness, PartitionLog]:
    """A log with batches of these sizes, all of which a checkpoint covers."""
    harness = LogHarness(seed=seed)
    log = harness.run(harness.open().open_log(KEY, SMALL_LOG))
    harness.run(append(log, sizes))
    harness.run(harness.store.sync())
    return harness, log


def found_by_next_start(harness: LogHarness) -> tuple[int, list[Found]]:
    store = harness.open()
    assert store.failure is None
    assert not store.report.refused
    assert not store.report.corrupt_places
    log = harness.run(store.open_log(KEY, SMALL_LOG))
    return log.log_start, harness.read_all(log)


@pytest.mark.parametrize("sizes", [[], [400], [400] * 9], ids=["empty", "one batch", "segments"])
@pytest.mark.parametrize("change", [take_back, truncate, truncate_to_the_start, reset])
def test_what_a_start_found_to_be_gone_is_gone(
    change: Callable[[LogHarness, PartitionLog], None], sizes: list[int]
) -> None:
    for seed in SEEDS:
        for operations in CRASHES:
            harness, log = begin(seed, sizes)
            harness.disk.crash_after_operations(operations)
            with contextlib.suppress(SimulatedPowerLoss, ServerError):
                change(harness, log)
            harness.kill()
            harness.disk.capacity_bytes = CAPACITY_BYTES_DEFAULT
            found = found_by_next_start(harness)
            harness.lose_power()
            assert found_by_next_start(harness) == found, (seed, operations)
            harness.dispose()


def test_what_a_start_cut_is_gone_for_the_next_one() -> None:
    """The first start finds a torn tail and is killed before it has made sure that nothing is left of it."""
    for seed in range(10):
        for operations in range(12):
            harness, log = begin(seed, [400])
            harness.disk.crash_after_operations(6)
            with contextlib.suppress(SimulatedPowerLoss, ServerError):
                harness.run(append(log, [400, 400, 400, 400]))
            harness.lose_power()
            harness.disk.crash_after_operations(operations)
            with contextlib.suppress(SimulatedPowerLoss, ServerError):
                harness.open()
            harness.kill()
            found = found_by_next_start(harness)
            harness.lose_power()
            assert found_by_next_start(harness) == found, (seed, operations)
            harness.dispose()
