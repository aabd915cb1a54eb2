"""What is gone from the server before it was exported is said, and is not "nothing new"."""

from collections.abc import Callable

import pytest

from pyspark_acklog.export.directory import ExportDirectory
from pyspark_acklog.export.failures import NoTopicError, RemovedOffsetsError
from pyspark_acklog.export.manifest import Manifest
from pyspark_acklog.export.run import RunSettings
from pyspark_acklog.export.spans import EndedLog, total_length
from pyspark_acklog.export.table import coverage_faults
from tests.support.memory_export import TOPIC_ID, KilledError, MemoryFiles, MemoryLog, MemoryStorage
from tests.unit.spark.test_export_run import TARGET_BYTES, check, later, run

ALLOWED = RunSettings(target_file_bytes=TARGET_BYTES, has_gaps_allowed=True)
ANEW = "z123456789abc"


def last(files: MemoryFiles) -> Manifest:
    found = ExportDirectory(MemoryStorage(files), "flights").last()
    assert found is not None
    return found[0]


def assert_sound(files: MemoryFiles) -> None:
    table = ExportDirectory(MemoryStorage(files), "flights").table()
    assert table.faults == []
    assert coverage_faults(table, table.expected(), has_twice=()) == []
    assert total_length(table.expected()) == table.rows


def kill_at_write(files: MemoryFiles) -> Callable[[int], None]:
    """Once the plan is written down, and nothing of its data."""

    def kill(_number: int) -> None:
        if any("/plans/" in path for path in files.contents):
            raise KilledError

    return kill


def test_a_topic_that_is_gone_is_no_topic_with_nothing_new() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100), 1: (0, 7)})
    run(files, log)
    log.is_deleted = True
    with pytest.raises(RemovedOffsetsError, match=r"flights was deleted.*p0 from 100 on, p1 from 7 on.*--allow-gaps"):
        run(files, log)
    assert last(files).number == 1
    [manifest] = run(files, log, settings=ALLOWED)
    assert manifest.ended == (EndedLog(TOPIC_ID, 0, 100, "deleted"), EndedLog(TOPIC_ID, 1, 7, "deleted"))
    assert run(files, log) == [], "it was said, and is recorded"
    assert_sound(files)


def test_a_topic_that_never_was_is_an_error() -> None:
    with pytest.raises(NoTopicError, match="there is no topic 'flights'"):
        run(MemoryFiles(), MemoryLog({}, is_deleted=True), settings=ALLOWED)


def test_a_topic_made_anew_between_two_runs_is_said() -> None:
    files = MemoryFiles()
    run(files, MemoryLog({0: (0, 100)}))
    anew = MemoryLog({0: (0, 30)}, topic_id=ANEW)
    with pytest.raises(RemovedOffsetsError, match=r"deleted and made anew.*p0 from 100 on"):
        run(files, anew)
    [manifest] = run(files, anew, settings=ALLOWED)
    assert manifest.ended == (EndedLog(TOPIC_ID, 0, 100, "deleted"),)
    assert manifest.rows_added == 30
    anew.partitions = {0: (0, 40)}
    [manifest] = run(files, anew)
    assert (manifest.rows_added, manifest.ended) == (10, (EndedLog(TOPIC_ID, 0, 100, "deleted"),))
    assert_sound(files)


def test_a_plan_whose_topic_was_made_anew_does_not_hold_up_later_runs() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100)})
    run(files, log)
    log.partitions = {0: (0, 160)}
    killed = MemoryStorage(files, kill_at_write(files))
    with pytest.raises(KilledError):
        run(files, log, killed)
    later(files)
    anew = MemoryLog({0: (0, 30)}, topic_id=ANEW)
    with pytest.raises(RemovedOffsetsError, match="deleted and made anew"):
        run(files, anew)
    [manifest] = run(files, anew, settings=ALLOWED)
    assert [str(gap) for gap in manifest.gaps] == ["p0 [100, 160): deleted"], "as far as is known"
    assert manifest.ended == (EndedLog(TOPIC_ID, 0, 160, "deleted"),)
    assert manifest.rows_added == 30
    assert_sound(files)


def test_a_plan_whose_partition_was_freed_does_not_hold_up_later_runs() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100), 1: (0, 50)})
    run(files, log)
    log.partitions = {0: (0, 160), 1: (0, 80)}
    with pytest.raises(KilledError):
        run(files, log, MemoryStorage(files, kill_at_write(files)))
    later(files)
    log.partitions, log.gone = {0: (0, 170)}, (1,)
    with pytest.raises(RemovedOffsetsError, match=r"p1 from 50 on"):
        run(files, log)
    [manifest] = run(files, log, settings=ALLOWED)
    assert [str(gap) for gap in manifest.gaps] == ["p1 [50, 80): freed"]
    assert (manifest.rows_added, manifest.ended) == (70, (EndedLog(TOPIC_ID, 1, 80, "freed"),))
    assert_sound(files)


def test_a_partition_that_was_freed_before_it_was_exported_is_said() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100), 1: (0, 50)})
    run(files, log)
    log.partitions, log.gone = {0: (0, 100)}, (1, 2)
    with pytest.raises(RemovedOffsetsError, match=r"p1 from 50 on, p2 from 0 on"):
        run(files, log)
    [manifest] = run(files, log, settings=ALLOWED)
    assert manifest.ended == (EndedLog(TOPIC_ID, 1, 50, "freed"), EndedLog(TOPIC_ID, 2, 0, "freed"))
    assert run(files, log) == []
    assert_sound(files)


def test_a_partition_that_was_exported_to_its_end_may_be_freed() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100), 1: (0, 50)})
    run(files, log)
    log.closed = (1,)
    [noted] = run(files, log)
    assert (noted.ended, noted.rows_added) == ((EndedLog(TOPIC_ID, 1, 50, "complete"),), 0)
    assert run(files, log) == [], "it is noted once"
    log.partitions[1] = (0, 53)  # what was under way when it was decommissioned
    [more] = run(files, log)
    assert (more.ended, more.rows_added) == ((EndedLog(TOPIC_ID, 1, 53, "complete"),), 3)
    log.partitions, log.closed, log.gone = {0: (0, 120)}, (), (1,)
    [after] = run(files, log)
    assert (after.rows_added, after.ended) == (20, more.ended)
    assert_sound(files)


def test_what_was_gone_before_the_first_run_is_no_gap() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (5, 10)}, gone=(1,))
    [manifest] = run(files, log)
    assert (manifest.ended, manifest.gaps) == ((), ())
    check(files, log, starts={0: 5})


def test_a_table_that_is_not_joined_keeps_no_list_of_small_files() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 0)})
    kept = RunSettings(target_file_bytes=TARGET_BYTES, is_joining=False)
    for end in range(1, 6):
        log.partitions = {0: (0, end)}
        [manifest] = run(files, log, settings=kept)
        assert manifest.small == ()
    check(files, log)
