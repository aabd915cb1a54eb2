"""Histories of one log that a simulated cluster meets too seldom, each with the planted bug that it is there for."""

import asyncio
import contextlib

import pytest

from cluster.errors import ServerError
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from tests.sim.cluster.mutants import journal_replayed_by_offset, recovery_reports_page_cache
from tests.sim.sim_disk import SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, Found, LogHarness, opaque_batch

KEY = LogKey("alpha", 0, LogKind.MESSAGES)
SEEDS = range(20)


def opened(harness: LogHarness) -> PartitionLog:
    harness.open()
    return harness.run(harness.store.open_log(KEY, SMALL_LOG))


async def appended(log: PartitionLog, serials: range) -> None:
    await asyncio.gather(*(log.append(opaque_batch(serial), leader_epoch=1) for serial in serials))


def a_cut_is_survived_by_a_crash() -> None:
    """R1: what a follower cut must not be there again when it has crashed, and may be elected."""
    for seed in SEEDS:
        harness = LogHarness(seed=seed)
        log = opened(harness)
        harness.run(appended(log, range(5)))
        harness.run(log.truncate_to(2))
        kept = harness.read_all(log)
        if seed % 2:
            harness.kill()
        else:
            harness.lose_power()
        assert harness.read_all(opened(harness)) == kept, "what was cut is there again"
        harness.dispose()


def what_a_restart_reports_is_durable() -> None:
    """R7, R11: a killed process leaves more in the page cache than on the disk; whoever is told of it counts on it."""
    for seed in SEEDS:
        harness = LogHarness(seed=seed)
        log = opened(harness)
        harness.run(appended(log, range(3)))
        harness.disk.crash_after_operations(1)  # the frame is written, and not synced
        with contextlib.suppress(SimulatedPowerLoss, ServerError):
            harness.run(appended(log, range(3, 5)))
        harness.kill()
        reported: list[Found] = harness.read_all(opened(harness))
        harness.lose_power()
        assert harness.read_all(opened(harness)) == reported, "what was reported is lost"
        harness.dispose()


def test_a_cut_is_survived_by_a_crash() -> None:
    a_cut_is_survived_by_a_crash()


def test_that_history_finds_its_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    journal_replayed_by_offset(monkeypatch)
    with pytest.raises(AssertionError, match="is there again"):
        a_cut_is_survived_by_a_crash()


def test_what_a_restart_reports_is_durable() -> None:
    what_a_restart_reports_is_durable()


def test_this_history_finds_its_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    recovery_reports_page_cache(monkeypatch)
    with pytest.raises(
        (AssertionError, ServerError), match=r"is lost|durable batches are missing|no batch of the segment is valid"
    ):
        what_a_restart_reports_is_durable()
