"""Logs that hold nothing have no files; those that begin to hold something get them, whatever ends the process."""

import contextlib
from collections.abc import Iterator

import pytest

from cluster.errors import ServerError
from storage.log.keys import PARTITIONS_DIRECTORY, LogKey
from storage.log.log_table import LOGS, LogKind
from storage.log.partition_log import PartitionLog
from storage.log.recovery_points import RECOVERY_POINTS_PATH, read_recovery_points
from tests.sim.sim_disk import DiskOperation, OperationKind, SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, LogHarness, content_of, opaque_batch, read_all

KEYS = [LogKey("alpha", number, kind) for number in range(8) for kind in LOGS]
MESSAGES, DELIVERY = KEYS[0], KEYS[1]


@pytest.fixture
def harness() -> Iterator[LogHarness]:
    harness = LogHarness()
    harness.open()
    yield harness
    harness.dispose()


def log_of(harness: LogHarness, key: LogKey = MESSAGES) -> PartitionLog:
    return harness.run(harness.store.open_log(key, SMALL_LOG))


async def append(log: PartitionLog, serial: int, *, size: int = 200) -> None:
    await log.append(opaque_batch(serial, size=size), leader_epoch=1)


def contents(harness: LogHarness, key: LogKey = MESSAGES) -> list[bytes]:
    return [each.content for each in harness.read_all(log_of(harness, key))]


def expected(*serials: int) -> list[bytes]:
    return [content_of(opaque_batch(serial, size=200)) for serial in serials]


def files_of_logs(harness: LogHarness) -> list[str]:
    return sorted(path for path in harness.disk.files() if path.startswith(PARTITIONS_DIRECTORY))


def test_a_log_that_earlier_versions_do_not_know_is_named_once_something_is_in_it(harness: LogHarness) -> None:
    """They refuse a directory with a name that they do not know, and one may go back to them until then."""

    def named() -> set[str]:
        harness.run(harness.store.sync())
        return set(read_recovery_points(harness.disk).logs)

    later = LogKey("alpha", 0, LogKind.SCHEDULE)
    for kind in LOGS:
        log_of(harness, LogKey("alpha", 0, kind))
    first = {str(LogKey("alpha", 0, kind)) for kind in (LogKind.MESSAGES, LogKind.DELIVERY)}
    harness.run(append(log_of(harness), 7))
    assert named() == first
    harness.run(append(log_of(harness, later), 8))
    assert named() == first | {str(later)}
    harness.close()
    harness.open()
    assert contents(harness, later) == expected(8)


def test_a_topic_costs_files_for_what_is_in_it_only(harness: LogHarness) -> None:
    operations = harness.disk.operations
    for key in KEYS:
        log_of(harness, key)
    assert harness.disk.operations == operations
    assert harness.disk.list_directory(PARTITIONS_DIRECTORY) == []
    harness.run(append(log_of(harness), 7))
    harness.run(harness.store.sync())
    segment, epochs = f"{MESSAGES.directory}/{0:020d}.log", f"{MESSAGES.directory}/leader-epochs"
    identity = f"{MESSAGES.directory}/log-identity"
    assert files_of_logs(harness) == [segment, epochs, identity]
    harness.close()
    assert files_of_logs(harness) == [segment.replace(".log", ".index"), segment, epochs, identity]


def test_empty_logs_are_nothing_to_a_start(harness: LogHarness) -> None:
    for key in KEYS:
        log_of(harness, key)
    harness.run(append(log_of(harness), 7))
    for end_life in (harness.kill, harness.lose_power, harness.close):
        end_life()
        assert harness.open().keys() == [MESSAGES]
        assert contents(harness) == expected(7)
        assert contents(harness, DELIVERY) == []


def test_an_empty_log_does_all_that_others_do(harness: LogHarness) -> None:
    log = log_of(harness)
    assert harness.run(log.read(0, max_bytes=1)) == []
    assert harness.run(log.offset_at_time(0)) == 0
    assert harness.run(log.keyed_ranges_since(0)) == []
    assert harness.run(log.remove_before(0)) == 0
    assert harness.run(log.verify(0, max_bytes=1, older_than_ms=1 << 60)) is None
    harness.run(log.truncate_to(0))
    harness.run(log.reset_to(0))
    harness.run(log.retain(retention_ms=0, retention_bytes=0))
    assert files_of_logs(harness) == []
    harness.run(log.reset_to(9))
    harness.lose_power()
    harness.open()
    log = log_of(harness)
    assert (log.log_start, log.log_end) == (9, 9)
    harness.run(append(log, 3))
    assert [(each.base_offset, each.content) for each in harness.run(read_all(log, max_bytes=700))] == [
        (9, content_of(opaque_batch(3, size=200)))
    ]


def test_the_second_append_costs_no_more_than_ever(harness: LogHarness) -> None:
    log = log_of(harness)
    harness.run(append(log, 0))
    before = harness.disk.operations
    harness.run(append(log, 1))
    second = harness.disk.operations - before
    harness.run(harness.store.sync())
    before = harness.disk.operations
    harness.run(append(log, 2))
    assert harness.disk.operations - before == second


@pytest.mark.parametrize("key", [MESSAGES, DELIVERY])
@pytest.mark.parametrize("ending", ["kill", "power loss"])
@pytest.mark.parametrize("second_ending", ["kill", "power loss"])
def test_wherever_the_beginning_is_cut_off_what_was_acknowledged_is_there(
    key: LogKey, ending: str, second_ending: str
) -> None:
    """The first appends, a sync and one more, with the life ending at each step; then a second life that ends, too."""
    has_ended_whole = False
    for after in range(60):
        harness = LogHarness(seed=after)
        harness.open()
        acknowledged: list[int] = []
        harness.disk.crash_after_operations(after)
        with contextlib.suppress(SimulatedPowerLoss, ServerError):
            harness.run(begin(harness, key, acknowledged))
            has_ended_whole = True
        for serial, end in ((100, ending), (200, second_ending)):
            if end == "kill":
                harness.kill()
            else:
                harness.lose_power()
            assert harness.open().failure is None
            assert harness.store.report.refused == {}
            found = contents(harness, key)
            assert found[: len(acknowledged)] == expected(*acknowledged)
            assert len(found) <= len(acknowledged) + 1
            acknowledged = [*acknowledged, len(acknowledged)][: len(found)]
            harness.run(append(log_of(harness, key), serial))
            assert log_of(harness, key).log_end == len(found) + 1
            acknowledged.append(serial)
            harness.run(harness.store.sync())
        harness.lose_power()
        harness.open()
        assert contents(harness, key) == expected(*acknowledged)
        harness.dispose()
    assert has_ended_whole


async def begin(harness: LogHarness, key: LogKey, acknowledged: list[int]) -> None:
    log = await harness.store.open_log(key, SMALL_LOG)
    for serial in range(3):
        await append(log, serial)
        acknowledged.append(serial)
        if serial == 1:
            await harness.store.sync()


def test_no_recovery_point_counts_on_names_that_are_not_durable(harness: LogHarness) -> None:
    """The segment, its directory and every name on the way are synced before the recovery points are replaced."""
    log = log_of(harness, DELIVERY)
    harness.run(append(log, 0))
    steps: list[DiskOperation] = []
    harness.disk.before_operation = steps.append
    harness.run(harness.store.sync())
    harness.disk.before_operation = None
    renamed = steps.index(DiskOperation(OperationKind.RENAME, RECOVERY_POINTS_PATH + ".tmp"))
    synced = {step.path for step in steps[:renamed] if step.kind in (OperationKind.SYNC, OperationKind.SYNC_DIRECTORY)}
    segment = f"{DELIVERY.directory}/{0:020d}.log"
    assert {segment, DELIVERY.directory, MESSAGES.directory, PARTITIONS_DIRECTORY} <= synced


def test_a_log_that_had_something_durable_is_missed(harness: LogHarness) -> None:
    harness.run(append(log_of(harness), 0))
    harness.run(harness.store.sync())
    harness.close()
    for name in harness.disk.list_directory(MESSAGES.directory):
        harness.disk.remove(f"{MESSAGES.directory}/{name}")
    harness.disk.remove_directory(MESSAGES.directory)
    assert [place.next_offset for place in harness.open().report.corrupt_places] == [1]
    assert log_of(harness).log_end == 1
    with pytest.raises(ServerError, match="RECORDS_CORRUPT"):
        harness.run(log_of(harness).read(0, max_bytes=1))


def test_a_log_of_which_the_journal_has_everything_is_made_again(harness: LogHarness) -> None:
    for serial in range(3):
        harness.run(append(log_of(harness), serial))
    harness.kill()
    for name in harness.disk.list_directory(MESSAGES.directory):
        harness.disk.remove(f"{MESSAGES.directory}/{name}")
    harness.disk.remove_directory(MESSAGES.directory)
    harness.open()
    assert contents(harness) == expected(0, 1, 2)
    assert harness.store.report.corrupt_places == []


@pytest.mark.parametrize("order", [(MESSAGES, DELIVERY), (DELIVERY, MESSAGES)])
@pytest.mark.parametrize("used", [(), (MESSAGES,), (DELIVERY,), (MESSAGES, DELIVERY)])
def test_a_partition_goes_without_a_trace_whichever_of_its_logs_has_files(
    harness: LogHarness, order: tuple[LogKey, ...], used: tuple[LogKey, ...]
) -> None:
    for key in (MESSAGES, DELIVERY):
        log_of(harness, key)
    for key in used:
        harness.run(append(log_of(harness, key), 0))
    first, second = order
    harness.run(harness.store.remove_log(first))
    if second in used:
        assert contents(harness, second) == expected(0)
    harness.run(harness.store.remove_log(second))
    assert harness.disk.list_directory(PARTITIONS_DIRECTORY) == []
    harness.lose_power()
    assert harness.open().keys() == []
    harness.run(append(log_of(harness, first), 5))
    assert contents(harness, first) == expected(5)


def test_a_log_that_finds_no_space_has_files_once_there_is_some(harness: LogHarness) -> None:
    log = log_of(harness)
    harness.disk.capacity_bytes = harness.disk.used_bytes
    with pytest.raises(ServerError, match="STORAGE_FULL"):
        harness.run(append(log, 0, size=900))  # more than gathers in memory
    harness.disk.capacity_bytes *= 2
    harness.run(append(log, 1))
    harness.run(harness.store.sync())
    harness.lose_power()
    harness.open()
    assert contents(harness) == expected(1)
