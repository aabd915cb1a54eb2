"""An older copy of the whole journal in the place of the newest: at one with itself, and refused all the same (R34)."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import msgspec
import pytest

from cluster.errors import ServerError
from storage.check.directory_check import DirectoryCheck
from storage.check.findings import FindingKind
from storage.log.checkpoint import write_checkpoint
from storage.log.data_directory import read_meta
from storage.log.journal_scan import scan_journal
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.log.recovery_points import RECOVERY_POINTS_PATH, read_recovery_points
from tests.sim.sim_disk import SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, SMALL_STORE, LogHarness, opaque_batch

KEY = LogKey("alpha", 0, LogKind.MESSAGES)
Journal = dict[str, bytes]


@pytest.fixture
def harness() -> Iterator[LogHarness]:
    made = LogHarness(replace(SMALL_STORE, journal_file_bytes=10 * 4096))
    yield made
    made.dispose()


def append(harness: LogHarness, count: int, *, is_synced: bool = False) -> None:
    async def work() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        for serial in range(count):
            await log.append(opaque_batch(serial, size=30), leader_epoch=1)
        if is_synced:
            await harness.store.sync()

    harness.run(work())


def journal_of(harness: LogHarness) -> Journal:
    return {path: content for path, content in harness.disk.files().items() if path.startswith("journal/")}


def put(harness: LogHarness, path: str, content: bytes) -> None:
    if harness.disk.exists(path):
        harness.disk.remove(path)
    file = harness.disk.create(path)
    file.write(0, [content])
    file.sync()
    file.close()


def put_back(harness: LogHarness, journal: Journal) -> None:
    for path in journal_of(harness):
        harness.disk.remove(path)
    for path, content in journal.items():
        put(harness, path, content)
    harness.disk.sync_directory("journal")


def kinds(harness: LogHarness) -> set[FindingKind]:
    report = DirectoryCheck(harness.disk, coordination=None, findings_max=10).run()
    return report.findings.kinds - {FindingKind.COORDINATION_MISSING}


def refused(harness: LogHarness) -> str:
    """Why, also at the second start."""
    assert kinds(harness) == {FindingKind.JOURNAL_OLDER}
    failures = []
    for _ in range(2):
        failures.append(harness.open().failure)
        harness.kill()
    assert failures[0] == failures[1] is not None
    return str(failures[0])


@pytest.mark.parametrize("is_synced", [False, True])
def test_one_of_an_earlier_start(harness: LogHarness, is_synced: bool) -> None:
    harness.open()
    append(harness, 3)
    harness.close()
    older = journal_of(harness)
    harness.open()
    append(harness, 4, is_synced=is_synced)
    harness.kill()
    put_back(harness, older)
    assert "it is of start 1 of the directory, the last one was 2" in refused(harness)


def test_one_of_the_same_start(harness: LogHarness) -> None:
    harness.open()
    append(harness, 3)
    older = journal_of(harness)
    append(harness, 4, is_synced=True)
    append(harness, 1)
    harness.kill()
    put_back(harness, older)
    assert "its newest frame is 3, but frame 7 was there" in refused(harness)


def test_covered_frames_that_have_rotten_are_not_missed(harness: LogHarness) -> None:
    harness.open()
    append(harness, 4, is_synced=True)
    harness.kill()
    for path, content in journal_of(harness).items():
        if path.endswith(".journal"):
            put(harness, path, bytes(len(content)))
    assert kinds(harness) == set()
    assert harness.open().failure is None


def test_after_an_orderly_stop_nothing_of_it_is_needed(harness: LogHarness) -> None:
    harness.open()
    append(harness, 3)
    older = journal_of(harness)
    append(harness, 4, is_synced=True)
    harness.close()
    put_back(harness, older)
    assert kinds(harness) == set()
    harness.open()
    log = harness.run(harness.store.open_log(KEY, SMALL_LOG))
    assert log.log_end == 7


@pytest.mark.parametrize("known", [4, 5])
def test_what_an_earlier_version_wrote_is_not_held_to_it(harness: LogHarness, known: int) -> None:
    harness.open()
    append(harness, 4, is_synced=True)
    harness.kill()
    points = msgspec.to_builtins(read_recovery_points(harness.disk))
    write_checkpoint(harness.disk, RECOVERY_POINTS_PATH, msgspec.msgpack.encode(points[:known]))
    reach = harness.disk.files()["journal/reach"]
    put(harness, "journal/reach", reach[:24].ljust(4096, b"\0"))
    assert kinds(harness) == set()
    assert harness.open().failure is None


@pytest.mark.parametrize("journal_files_kept", [2, 3])
@pytest.mark.parametrize("ending", ["kill", "loss of power"])
def test_no_crash_is_taken_for_one(ending: str, journal_files_kept: int) -> None:
    """Files fill up, are given back, taken again and removed; every start ends at another operation."""
    settings = replace(SMALL_STORE, journal_file_bytes=3 * 4096, journal_files_kept=journal_files_kept)
    for after in range(1, 300, 3):
        harness = LogHarness(settings, seed=after)
        harness.loop.set_exception_handler(lambda _loop, _context: None)  # background tasks end by the crash, too
        try:
            for start in range(1, 5):
                harness.disk.crash_after_operations(after // start)
                with contextlib.suppress(SimulatedPowerLoss):
                    assert harness.open().failure is None, (after, start)
                    with contextlib.suppress(ServerError):
                        append(harness, 4, is_synced=True)
                        append(harness, 9)
                if ending == "kill" or start % 2:
                    harness.kill()
                else:
                    harness.lose_power()
                assert FindingKind.JOURNAL_OLDER not in kinds(harness), (after, start)
            assert harness.open().failure is None, after
        finally:
            harness.dispose()


def test_the_file_with_the_newest_frame_is_not_given_back() -> None:
    """A kill would leave a journal that lacks a frame of which the recovery points know."""
    small = LogHarness(replace(SMALL_STORE, journal_file_bytes=3 * 4096))
    small.open()
    for _ in range(9):
        append(small, 1, is_synced=True)
        points = read_recovery_points(small.disk)
        scan = scan_journal(small.disk, journal_key=journal_key(small), covered_sequence=points.covered_sequence)
        assert scan.present_sequence == points.present_sequence > 0
    small.dispose()


def journal_key(harness: LogHarness) -> int:
    meta = read_meta(harness.disk)
    assert meta is not None
    return meta.journal_key
