"""A frame whose sync failed can be read as long as the machine runs, and is gone after a power loss: what the next
start says of the journal must not count on it. (A seed of the embedded simulation found it, with a power loss in the
middle of the start that followed.)"""

import contextlib

import pytest

from cluster.errors import ServerError
from storage.disk.port import DiskFailedError
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from tests.sim.sim_disk import SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, LogHarness, opaque_batch

KEY = LogKey("alpha", 0, LogKind.MESSAGES)
SEEDS = range(4)
CRASHES = range(80)


def with_an_unsynced_frame(seed: int) -> LogHarness:
    harness = LogHarness(seed=seed)
    log = harness.run(harness.open().open_log(KEY, SMALL_LOG))

    async def append(serial: int) -> None:
        await log.append(opaque_batch(serial), leader_epoch=0)

    harness.run(append(0))
    harness.disk.fail_next_sync()
    with pytest.raises(ServerError):
        harness.run(append(1))
    harness.kill()
    return harness


def start_until(harness: LogHarness, operations: int) -> int:
    """Where the log ended for a start that the power failed after so many operations; 0 if it did not get so far."""
    log_end = 0
    harness.disk.crash_after_operations(operations)
    with contextlib.suppress(SimulatedPowerLoss, DiskFailedError, ServerError):
        store = harness.open()
        log_end = harness.run(store.open_log(KEY, SMALL_LOG)).log_end
    harness.lose_power()
    return log_end


def test_a_start_on_it_leaves_a_directory_that_can_be_started() -> None:
    reached = set()
    for seed in SEEDS:
        for operations in CRASHES:
            harness = with_an_unsynced_frame(seed)
            log_end = start_until(harness, operations)
            store = harness.open()
            assert store.failure is None, (seed, operations)
            found = harness.run(store.open_log(KEY, SMALL_LOG)).log_end
            assert found >= max(log_end, 1), (seed, operations)
            reached.add((log_end, found))
            harness.dispose()
    assert {(0, 1), (0, 2), (2, 2)} <= reached, "the power failed before, while and after the frame was replayed"
