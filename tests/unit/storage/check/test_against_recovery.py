"""A check has to know what a recovery will say: every damage that a recovery refuses is an error, and where a check
finds no error, a recovery serves the exact data."""

import contextlib

import pytest

from cluster.errors import ServerError
from cluster.stores.sqlite_copy import SqliteContent
from storage.check.directory_check import DirectoryCheck, DirectoryReport
from storage.check.findings import FindingKind, Severity
from storage.log.partition_log import PartitionLog
from tests.sim.sim_disk import SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, LogHarness, opaque_batch
from tests.unit.storage.log.test_damage import (
    KEY,
    SIZES,
    Files,
    damages,
    directory_after,
    judge,
    open_on,
    silent_log,
)

__all__ = ["silent_log"]

# The directories here are a log store's alone: nobody has written a coordination file that knows their topic.
NO_CATALOGUE = SqliteContent(faults=["none was made"])


def check(files: Files) -> DirectoryReport:
    harness = open_on(files)
    try:
        return DirectoryCheck(harness.disk, coordination=NO_CATALOGUE, findings_max=100, decodes_records=False).run()
    finally:
        harness.dispose()


def errors(report: DirectoryReport) -> list[FindingKind]:
    return [
        finding.kind
        for finding in report.findings.kept
        if finding.kind.severity is Severity.ERROR and finding.kind is not FindingKind.COORDINATION_DAMAGED
    ]


@pytest.mark.parametrize("synced", [0, 4, len(SIZES)])
@pytest.mark.parametrize("is_clean", [False, True])
def test_undamaged_directories_are_clean(synced: int, is_clean: bool) -> None:
    report = check(directory_after(synced=synced, is_clean=is_clean))
    assert errors(report) == []
    assert report.findings.counts[Severity.WARNING] == 0
    (topic,) = report.topics
    assert (topic.topic_id, topic.messages, topic.batches) == (KEY.topic_id, len(SIZES), len(SIZES))


@pytest.mark.parametrize(
    ("pattern", "synced", "is_clean", "step"),
    [
        (".log", 0, False, 97),
        (".log", 4, False, 61),
        (".log", 8, False, 61),
        (".log", 8, True, 61),
        (".journal", 0, False, 1499),
        (".journal", 4, False, 1499),
        (".journal", 8, True, 4099),
        (".journal", 8, False, 4099),
        ("journal/files", 4, False, 3),
        ("journal/reach", 4, False, 97),
        ("journal/reach", 4, True, 97),
        ("recovery-points", 4, True, 11),
        ("recovery-points", 4, False, 11),
        ("meta.json", 4, True, 11),
        ("leader-epochs", 4, True, 3),
        (".index", 8, True, 13),
    ],
)
def test_damage_is_judged_as_a_recovery_judges_it(pattern: str, synced: int, is_clean: bool, step: int) -> None:
    files = directory_after(synced=synced, is_clean=is_clean)
    durable = len(SIZES) if is_clean else synced
    lost_at_most = len(SIZES) if pattern == ".journal" else 0  # the newest frame: torn, or damaged, nobody can say
    seen = set()
    for path in [path for path in files if pattern in path]:
        for harmed in damages(files[path], step):
            damaged = {**files, path: harmed}
            outcome = judge(damaged, synced=durable, lost_at_most=lost_at_most)
            found = errors(check(damaged))
            seen.add((outcome, bool(found)))
            if outcome in {"refused", "unreadable"}:
                assert found, f"{path}: recovery says {outcome}, the check found nothing"
            elif not found:
                assert outcome == "exact" or lost_at_most
    assert seen


@pytest.mark.parametrize("name", [".journal", "journal/files", "journal/reach"])
def test_a_journal_that_lacks_a_file_is_judged_as_a_recovery_judges_it(name: str) -> None:
    for is_clean in (False, True):
        files = directory_after(synced=4, is_clean=is_clean)
        for gone in [path for path in files if name in path]:
            left = {path: content for path, content in files.items() if path != gone}
            assert bool(errors(check(left))) == (not is_clean)


@pytest.mark.parametrize("missing", [".log", "recovery-points", "meta.json"])
def test_a_missing_file_is_found(missing: str) -> None:
    files = directory_after(synced=len(SIZES), is_clean=True)
    for path in [path for path in files if missing in path]:
        left = {other: content for other, content in files.items() if other != path}
        assert errors(check(left)), f"{path} is missing, and the check found nothing"


def test_a_check_reads_only() -> None:
    for is_clean in (False, True):
        harness = open_on(directory_after(synced=4, is_clean=is_clean))
        before = harness.disk.files()
        DirectoryCheck(harness.disk, coordination=NO_CATALOGUE, findings_max=100).run()
        assert harness.disk.files() == before
        harness.dispose()


def test_what_only_the_journal_has_is_counted() -> None:
    """After a power loss the segments may lack what the journal keeps."""
    files = directory_after(synced=4, is_clean=False)
    last = max(path for path in files if path.endswith(".log"))
    report = check({**files, last: b""})
    assert errors(report) == []
    assert report.journal.frames == len(SIZES) - 4
    assert report.journal.batches > 0
    assert report.journal.messages == report.journal.batches


async def append(log: PartitionLog, serial: int, *, leader_epoch: int) -> None:
    await log.append(opaque_batch(serial, records=3, size=200), leader_epoch=leader_epoch)


@pytest.mark.parametrize("ending", ["kill", "power loss"])
def test_a_log_that_was_beginning_anew_is_judged_as_it_will_be(ending: str) -> None:
    outcomes = set()
    for after in range(24):
        harness = LogHarness(seed=after)
        log = harness.run(harness.open().open_log(KEY, SMALL_LOG))
        for serial in range(9):
            harness.run(append(log, serial, leader_epoch=serial // 3))
        harness.run(harness.store.sync())
        harness.run(append(log, 9, leader_epoch=3))
        harness.disk.crash_after_operations(after)
        with contextlib.suppress(SimulatedPowerLoss, ServerError):
            harness.run(log.reset_to(2))
            harness.run(append(log, 10, leader_epoch=7))
            harness.run(harness.store.sync())
        if ending == "kill":
            harness.kill()
        else:
            harness.lose_power()
        report = DirectoryCheck(harness.disk, coordination=NO_CATALOGUE, findings_max=100).run()
        assert errors(report) == []
        assert report.findings.counts[Severity.WARNING] == 0
        log = harness.run(harness.open().open_log(KEY, SMALL_LOG))
        assert sum(topic.messages for topic in report.topics) == log.log_end - log.log_start
        outcomes.add((log.log_start, log.log_end))
        harness.dispose()
    assert outcomes == {(0, 30), (2, 2), (2, 5)}
