"""Of directories that were put into each other's places nothing is lost: neither what the journal has of their logs,
nor the files of one whose place another one takes."""

from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.check.findings import FindingKind
from storage.log.identity_writer import IDENTITY_PAUSE_MS
from storage.log.kept_batches import KEPT_DIRECTORY, kept_path
from storage.log.keys import LogKey
from storage.log.log_identity import identity_path, read_identity
from storage.log.log_table import LogKind
from storage.log.moved_aside import ASIDE_DIRECTORY
from storage.log.partition_log import PartitionLog
from storage.log.recovery_points import read_recovery_points, write_recovery_points
from tests.sim.sim_disk import DiskOperation, OperationKind, SimulatedPowerLoss
from tests.support.log_harness import LogHarness
from tests.unit.storage.log.test_log_identity import A, B, fill, kinds, log_of, serials, swap


@pytest.fixture
def harness() -> Iterator[LogHarness]:
    harness = LogHarness()
    harness.open()
    yield harness
    harness.dispose()


def refusal(harness: LogHarness, log: PartitionLog) -> str:
    with pytest.raises(ServerError) as refused:
        harness.read_all(log)
    assert refused.value.code is ProblemCode.RECORDS_CORRUPT
    return refused.value.detail


def filled_twice(harness: LogHarness) -> dict[LogKey, list[object]]:
    """What is synced first, and then what only the journal surely has."""
    for key, first in ((A, 0), (B, 100)):
        fill(harness, key, first)
    harness.run(harness.store.sync())
    for key, first in ((A, 12), (B, 112)):
        fill(harness, key, first)
    return {key: serials(harness, key) for key in (A, B)}


def without_tails(harness: LogHarness) -> dict[LogKey, list[object]]:
    """As `filled_twice`; the power fails, and the files have nothing of what was not synced."""
    for key, first in ((A, 0), (B, 100)):
        fill(harness, key, first)
    harness.run(harness.store.sync())
    synced = harness.disk.files()
    for key, first in ((A, 12), (B, 112)):
        fill(harness, key, first)
    before = {key: serials(harness, key) for key in (A, B)}
    harness.lose_power()
    for key in (A, B):
        for name in harness.disk.list_directory(key.directory):
            path = f"{key.directory}/{name}"
            if path not in synced:
                harness.disk.remove(path)
                continue
            file = harness.disk.open(path)
            file.truncate(len(synced[path]))
            file.write(0, [synced[path]])
            file.sync()
            file.close()
        harness.disk.sync_directory(key.directory)
    return before


@pytest.mark.parametrize("starts", [1, 2])
@pytest.mark.parametrize("end", ["close", "kill", "lose_power"])
def test_what_the_journal_has_of_a_misplaced_log_waits_for_it(harness: LogHarness, end: str, starts: int) -> None:
    before = without_tails(harness)
    swap(harness, A, B)
    for _ in range(starts):
        harness.open()
        assert "holds the log" in refusal(harness, log_of(harness, A))
        getattr(harness, end)()
    swap(harness, A, B)
    for end_of_next in ("lose_power", "close"):
        harness.open()
        assert {key: serials(harness, key) for key in (A, B)} == before
        assert harness.disk.list_directory(KEPT_DIRECTORY) == []
        getattr(harness, end_of_next)()


@pytest.mark.parametrize("harm", ["missing", "short", "damaged", "unreadable"])
def test_a_log_whose_kept_batches_are_harmed_is_refused(harness: LogHarness, harm: str) -> None:
    before = without_tails(harness)
    swap(harness, A, B)
    harness.open()
    harness.close()
    swap(harness, A, B)
    path = kept_path(A)
    content = harness.disk.files()[path]
    if harm == "missing":
        harness.disk.remove(path)
        harness.disk.sync_directory(KEPT_DIRECTORY)
    elif harm == "short":
        truncate(harness, path, len(content) // 2)
    elif harm == "damaged":
        harness.disk.bit_rot(path, len(content) // 2, 3)
    else:
        harness.disk.fails = reads_of(path)
    harness.open()
    assert path in refusal(harness, log_of(harness, A))
    assert serials(harness, B) == before[B]
    harness.close()
    harness.disk.fails = None
    if harm == "unreadable":
        harness.open()
        assert serials(harness, A) == before[A]


def truncate(harness: LogHarness, path: str, size: int) -> None:
    file = harness.disk.open(path)
    file.truncate(size)
    file.sync()
    file.close()


def reads_of(path: str) -> Callable[[DiskOperation], bool]:
    return lambda operation: operation == DiskOperation(OperationKind.READ, path)


def test_a_log_that_begins_anew_needs_no_kept_batches(harness: LogHarness) -> None:
    without_tails(harness)
    swap(harness, A, B)
    harness.open()
    assert FindingKind.BATCHES_KEPT in kinds(harness)
    harness.run(log_of(harness, A).reset_to(7))
    assert FindingKind.LOG_MOVED_ASIDE in kinds(harness)
    assert not harness.disk.exists(kept_path(A))
    fill(harness, A, 50)
    harness.lose_power()
    harness.open()
    log = log_of(harness, A)
    assert (log.damage, log.log_start, log.log_end) == ("", 7, 19)
    assert harness.disk.exists(kept_path(B))


def test_a_log_that_is_removed_leaves_no_kept_batches(harness: LogHarness) -> None:
    without_tails(harness)
    swap(harness, A, B)
    harness.open()
    harness.run(harness.store.remove_log(A))
    assert not harness.disk.exists(kept_path(A))


def test_a_lasting_refusal_outlasts_a_misplacement(harness: LogHarness) -> None:
    filled_twice(harness)
    harness.close()
    refuse_for_good(harness)
    harness.open()
    assert "ends at" in refusal(harness, log_of(harness, A))
    harness.close()
    swap(harness, A, B)
    harness.open()
    assert "holds the log" in refusal(harness, log_of(harness, A))
    harness.close()
    swap(harness, A, B)
    harness.open()
    assert "ends at" in refusal(harness, log_of(harness, A))


def refuse_for_good(harness: LogHarness) -> None:
    """Recovery points that say so of A."""
    points = read_recovery_points(harness.disk)
    refused = replace(points.logs[str(A)], refused="the log ends at 3, but the journal goes on at 5")
    write_recovery_points(harness.disk, replace(points, logs={**points.logs, str(A): refused}))


# --- whose files they are ---------------------------------------------------------------------------------------------


def moved(harness: LogHarness) -> dict[str, bytes]:
    return {
        path.rpartition("/")[2]: content
        for path, content in harness.disk.files().items()
        if path.startswith(f"{ASIDE_DIRECTORY}/{B}.0/")
    }


def files_of(harness: LogHarness, key: LogKey) -> dict[str, bytes]:
    prefix = f"{key.directory}/"
    return {
        path.removeprefix(prefix): content for path, content in harness.disk.files().items() if path.startswith(prefix)
    }


@pytest.mark.parametrize("act", ["reset", "remove"])
def test_what_another_log_has_in_the_place_is_moved_and_not_deleted(harness: LogHarness, act: str) -> None:
    before = filled_twice(harness)
    harness.close()
    files = files_of(harness, B)
    swap(harness, A, B)
    harness.open()
    if act == "reset":
        harness.run(log_of(harness, A).reset_to(7))
        fill(harness, A, 50)
    else:
        harness.run(harness.store.remove_log(A))
    assert moved(harness) == files
    harness.close()
    for name in harness.disk.list_directory(B.directory):  # an operator finds the log again
        harness.disk.remove(f"{B.directory}/{name}")
    for name in files:
        harness.disk.rename(f"{ASIDE_DIRECTORY}/{B}.0/{name}", f"{B.directory}/{name}")
    harness.open()
    assert serials(harness, B) == before[B]


@pytest.mark.parametrize("act", ["reset", "remove"])
def test_a_crash_at_any_step_deletes_nothing_of_the_other_log(act: str) -> None:
    operation = 0
    while True:
        harness = LogHarness(seed=operation)
        harness.open()
        filled_twice(harness)
        harness.close()
        files = files_of(harness, B)
        swap(harness, A, B)
        harness.open()
        log = log_of(harness, A)
        begin = harness.disk.operations
        harness.disk.crash_after_operations(operation)
        is_done = False
        try:
            harness.run(log.reset_to(7) if act == "reset" else harness.store.remove_log(A))
            is_done = True
        except (ServerError, SimulatedPowerLoss):
            pass
        steps = harness.disk.operations - begin
        harness.lose_power()
        harness.open()
        found = {**files_of(harness, A), **moved(harness)}
        for name, content in files.items():
            assert name.endswith(".index") or found[name] == content, (operation, name)
        harness.dispose()
        if is_done:
            assert steps <= operation
            return
        operation += 1


# --- what cannot be read ----------------------------------------------------------------------------------------------


def test_a_log_whose_identity_cannot_be_read_is_refused_alone(harness: LogHarness) -> None:
    before = without_tails(harness)
    harness.disk.fails = reads_of(identity_path(A))
    harness.open()
    assert harness.store.failure is None
    assert identity_path(A) in refusal(harness, log_of(harness, A))
    assert serials(harness, B) == before[B]
    harness.close()
    harness.disk.fails = None
    harness.open()
    assert serials(harness, A) == before[A]


def test_an_identity_that_cannot_be_read_later_is_written_anew(harness: LogHarness) -> None:
    fill(harness, A, 0)
    harness.run(harness.store.sync())
    harness.disk.fails = reads_of(identity_path(A))
    fill(harness, A, 12)  # goes on in a new segment, whose name is to be synced
    harness.run(harness.store.sync())
    assert harness.store.failure is None


# --- many logs without an identity ------------------------------------------------------------------------------------


def test_a_start_does_not_wait_for_identities_that_are_missing(harness: LogHarness) -> None:
    keys = [LogKey("alpha", number, LogKind.MESSAGES) for number in range(10)]
    for key in keys:
        fill(harness, key, 0)
    harness.close()
    for key in keys:
        harness.disk.remove(identity_path(key))
        harness.disk.sync_directory(key.directory)
    harness.open()
    assert not any(read_identity(harness.disk, key) for key in keys)
    harness.run(harness.clock.advance_ms(IDENTITY_PAUSE_MS * 4))
    assert 3 <= sum(read_identity(harness.disk, key) is not None for key in keys) <= 4
    removed = keys[-1]
    harness.run(harness.store.remove_log(removed))
    harness.run(harness.clock.advance_ms(IDENTITY_PAUSE_MS * 10))
    assert [read_identity(harness.disk, key) for key in keys[:-1]] == [str(key) for key in keys[:-1]]
    assert not harness.disk.exists(removed.directory)
