"""A directory that was put into another one's place is not served as that one's, and is again once it is moved back."""

import asyncio
from collections.abc import Iterator

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.check.directory_check import DirectoryCheck
from storage.check.findings import FindingKind
from storage.log.identity_writer import IDENTITY_PAUSE_MS
from storage.log.keys import LogKey
from storage.log.log_identity import identity_path, read_identity
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from tests.support.log_harness import SMALL_LOG, LogHarness, opaque_batch

A, B = LogKey("alpha", 0, LogKind.MESSAGES), LogKey("beta", 0, LogKind.MESSAGES)


@pytest.fixture
def harness() -> Iterator[LogHarness]:
    harness = LogHarness()
    harness.open()
    yield harness
    harness.dispose()


def log_of(harness: LogHarness, key: LogKey) -> PartitionLog:
    return harness.run(harness.store.open_log(key, SMALL_LOG))


def fill(harness: LogHarness, key: LogKey, first: int) -> None:
    async def main() -> None:
        log = await harness.store.open_log(key, SMALL_LOG)
        await asyncio.gather(*(log.append(opaque_batch(n, size=200), leader_epoch=0) for n in range(first, first + 12)))

    harness.run(main())


def serials(harness: LogHarness, key: LogKey) -> list[object]:
    return list(harness.read_all(log_of(harness, key)))


def swap(harness: LogHarness, one: LogKey, other: LogKey) -> None:
    disk, aside = harness.disk, "partitions/aside"
    disk.make_directory(aside)
    for source, target in ((one.directory, aside), (other.directory, one.directory), (aside, other.directory)):
        for name in disk.list_directory(source):
            disk.rename(f"{source}/{name}", f"{target}/{name}")
    for directory in (one.directory, other.directory, aside):
        disk.sync_directory(directory)
    disk.remove_directory(aside)


def kinds(harness: LogHarness) -> set[FindingKind]:
    report = DirectoryCheck(harness.disk, coordination=None, findings_max=100).run()
    return report.findings.kinds


def filled_and_swapped(harness: LogHarness) -> tuple[list[object], dict[str, bytes]]:
    fill(harness, A, 0)
    fill(harness, B, 100)
    before = serials(harness, A)
    harness.close()
    swap(harness, A, B)
    return before, harness.disk.files()


def of_partitions(files: dict[str, bytes]) -> dict[str, bytes]:
    return {path: content for path, content in files.items() if path.startswith("partitions/")}


def test_swapped_directories_are_refused_and_left_as_they_are(harness: LogHarness) -> None:
    before, files = filled_and_swapped(harness)
    assert FindingKind.LOG_MISPLACED in kinds(harness)
    for _ in range(2):  # nothing of it is remembered by the next start
        harness.open()
        for key, found in ((A, B), (B, A)):
            log = log_of(harness, key)
            with pytest.raises(ServerError, match=f"holds the log {found}") as refused:
                harness.read_all(log)
            assert refused.value.code is ProblemCode.RECORDS_CORRUPT
            assert f"holds the log {found}" in log.damage
        harness.close()
        assert of_partitions(harness.disk.files()) == of_partitions(files)
    swap(harness, A, B)
    harness.open()
    assert serials(harness, A) == before
    fill(harness, A, 12)
    assert len(serials(harness, A)) == 24


@pytest.mark.parametrize("end", ["close", "lose_power"])
def test_a_refused_log_begins_anew_as_itself(harness: LogHarness, end: str) -> None:
    filled_and_swapped(harness)
    harness.open()
    harness.run(log_of(harness, A).reset_to(7))
    fill(harness, A, 50)
    getattr(harness, end)()
    harness.open()
    log = log_of(harness, A)
    assert (log.damage, log.log_start, log.log_end) == ("", 7, 19)
    harness.run(harness.clock.advance_ms(IDENTITY_PAUSE_MS))
    assert read_identity(harness.disk, A) == str(A)
    assert "alpha-0-0" in log_of(harness, B).damage


def test_a_log_that_was_never_synced_has_its_name_once_it_was(harness: LogHarness) -> None:
    fill(harness, A, 0)
    harness.lose_power()
    harness.open()
    assert len(serials(harness, A)) == 12
    harness.run(harness.clock.advance_ms(IDENTITY_PAUSE_MS))
    assert read_identity(harness.disk, A) == str(A)


@pytest.mark.parametrize("what", ["missing", "damaged"])
def test_a_log_that_does_not_say_its_name_is_served_and_gets_one(harness: LogHarness, what: str) -> None:
    fill(harness, A, 0)
    harness.close()
    path = identity_path(A)
    if what == "missing":
        harness.disk.remove(path)
        harness.disk.sync_directory(A.directory)
        assert FindingKind.IDENTITY_MISSING in kinds(harness)
    else:
        harness.disk.bit_rot(path, 18, 3)
        assert FindingKind.IDENTITY_DAMAGED in kinds(harness)
    harness.open()
    assert len(serials(harness, A)) == 12
    harness.run(harness.clock.advance_ms(IDENTITY_PAUSE_MS))
    assert read_identity(harness.disk, A) == str(A)
    harness.close()
    assert not kinds(harness) & {FindingKind.IDENTITY_MISSING, FindingKind.IDENTITY_DAMAGED}
