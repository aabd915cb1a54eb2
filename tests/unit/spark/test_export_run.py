"""A run of an export: what is planned once is done once, however often it is begun (rules R33, R42)."""

from itertools import count

import pytest

from pyspark_acklog.export.directory import ExportDirectory
from pyspark_acklog.export.failures import (
    ExportError,
    LayoutError,
    RemovedOffsetsError,
    RunUnderWayError,
    UnexplainedGapError,
)
from pyspark_acklog.export.layout import LayoutWish
from pyspark_acklog.export.manifest import Manifest
from pyspark_acklog.export.owner import SILENT_AFTER_MS, Owner
from pyspark_acklog.export.run import Run, RunSettings
from pyspark_acklog.export.spans import Span, total_length
from pyspark_acklog.export.table import coverage_faults
from tests.support.memory_export import (
    TOPIC_ID,
    KilledError,
    MemoryFiles,
    MemoryLog,
    MemoryStorage,
    MemoryWorkshop,
    visible_rows,
)

TARGET_BYTES = 4_000  # 40 rows a file
_process = count(1)


def owner(*, started_at_ms: int = 0) -> Owner:
    """Of a process on another machine: it may be alive."""
    number = next(_process)
    return Owner(f"t{number:08d}", "elsewhere", number, started_at_ms or 1_000_000 + number)


def run(
    files: MemoryFiles,
    log: MemoryLog,
    storage: MemoryStorage | None = None,
    *,
    settings: RunSettings | None = None,
    who: Owner | None = None,
    workshop: MemoryWorkshop | None = None,
) -> list[Manifest]:
    storage = storage or MemoryStorage(files)
    workshop = workshop or MemoryWorkshop(storage, log)
    workshop.storage = storage
    settings = settings or RunSettings(target_file_bytes=TARGET_BYTES)
    return Run(storage, log, workshop, settings, who or owner()).run("flights")


def check(files: MemoryFiles, log: MemoryLog, *, starts: dict[int, int] | None = None) -> None:
    """The table has every row once, and its manifests prove it."""
    rows = visible_rows(files, "flights")
    starts = starts or {}
    expected = {
        (number, offset)
        for number, (_, end) in log.partitions.items()
        for offset in range(starts.get(number, 0), end)
        if log.has(number, offset)
    }
    assert len(rows) == len(set(rows))
    assert set(rows) == expected
    table = ExportDirectory(MemoryStorage(files), "flights").table()
    assert table.faults == []
    seen = [Span(TOPIC_ID, partition, offset, offset + 1) for partition, offset in rows]
    assert coverage_faults(table, seen, has_twice=[]) == []
    assert set(table.files) == {path for path in files.contents if path.startswith("topic=")}


def later(files: MemoryFiles) -> None:
    """Long enough for a silent process to count as gone."""
    files.clock_ms += 2 * SILENT_AFTER_MS


def test_a_topic_is_exported_and_then_what_has_come_since() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 250), 1: (0, 90), 2: (0, 0)})
    [first] = run(files, log)
    check(files, log)
    assert first.number == 1
    assert first.rows_added == 340
    assert run(files, log) == []
    log.partitions = {0: (0, 300), 1: (0, 90), 2: (0, 7)}
    [second] = run(files, log)
    check(files, log)
    assert second.spans == (Span(TOPIC_ID, 0, 250, 300), Span(TOPIC_ID, 2, 0, 7))
    assert not [path for path in files.contents if "/staging/" in path]


def test_files_are_as_large_as_wanted() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 1000), 1: (0, 390)})
    [manifest] = run(files, log, workshop=MemoryWorkshop(MemoryStorage(files), log, rows_per_date=10_000))
    sizes = [file.size_bytes for file in manifest.files]
    assert max(sizes) <= TARGET_BYTES
    assert min(sizes) > TARGET_BYTES / 2


def test_small_partitions_share_files() -> None:
    files, log = MemoryFiles(), MemoryLog(dict.fromkeys(range(16), (0, 5)))
    [manifest] = run(files, log)
    check(files, log)
    assert len(manifest.files) == 2


def test_small_files_of_many_runs_are_joined() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 0)})
    replaced = 0
    for end in range(2, 200, 2):
        log.partitions = {0: (0, end)}
        manifests = run(files, log, workshop=MemoryWorkshop(MemoryStorage(files), log, rows_per_date=10_000))
        replaced += sum(len(manifest.replaced) for manifest in manifests)
        check(files, log)
    assert replaced > 50
    assert len([path for path in files.contents if path.startswith("topic=")]) < 20


def test_what_was_there_before_the_first_run_is_no_gap() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (100, 180)})
    [manifest] = run(files, log)
    assert manifest.gaps == ()
    check(files, log, starts={0: 100})


def test_removed_offsets_fail_the_run_unless_gaps_are_allowed() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100)})
    run(files, log)
    log.partitions = {0: (150, 300)}
    with pytest.raises(RemovedOffsetsError, match=r"50 messages of flights.*--allow-gaps"):
        run(files, log)
    allowed = RunSettings(target_file_bytes=TARGET_BYTES, has_gaps_allowed=True)
    [manifest] = run(files, log, settings=allowed)
    assert [str(gap) for gap in manifest.gaps] == ["p0 [100, 150): retention"]
    assert manifest.rows_added == 150
    assert ExportDirectory(MemoryStorage(files), "flights").table().faults == []


def test_a_new_partition_or_a_topic_made_anew_is_expected_whole() -> None:
    files = MemoryFiles()
    run(files, MemoryLog({0: (5, 100)}))
    with pytest.raises(RemovedOffsetsError, match=r"20 messages of flights"):
        run(files, MemoryLog({0: (5, 100), 1: (20, 30)}))
    allowed = RunSettings(target_file_bytes=TARGET_BYTES, has_gaps_allowed=True)
    [manifest] = run(files, MemoryLog({0: (20, 30)}, topic_id="z123456789abc"), settings=allowed)
    assert [str(gap) for gap in manifest.gaps] == ["p0 [0, 20): retention"]


def test_a_partition_that_was_empty_at_the_first_run_misses_nothing() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 50), 1: (100, 100)})
    run(files, log)
    log.partitions = {0: (0, 50), 1: (100, 110)}
    [*_, manifest] = run(files, log)
    assert (manifest.gaps, manifest.rows_added) == ((), 10)
    check(files, log, starts={1: 100})
    assert run(files, log) == [], "there is nothing new"


def test_a_topic_without_messages_has_no_run() -> None:
    files = MemoryFiles()
    assert run(files, MemoryLog({0: (7, 7)})) == []
    assert files.contents == {}


def test_offsets_without_a_message_are_recorded_as_such() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100)}, empty={(0, 7), (0, 8), (0, 55)})
    with pytest.raises(RemovedOffsetsError, match=r"3 offsets in the middle of flights .*p0 \[7, 9\).*--allow-gaps"):
        run(files, log)
    assert visible_rows(files, "flights") == []
    allowed = RunSettings(target_file_bytes=TARGET_BYTES, has_gaps_allowed=True)
    [manifest] = run(files, log, settings=allowed)
    assert [str(gap) for gap in manifest.gaps] == ["p0 [7, 9): compaction", "p0 [55, 56): compaction"]
    check(files, log)


@pytest.mark.parametrize("fault", ["loses", "doubles"])
def test_a_writer_that_loses_or_doubles_rows_commits_nothing(fault: str) -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100)})
    bad = MemoryWorkshop(MemoryStorage(files), log)
    setattr(bad, fault, frozenset({13}))
    with pytest.raises(UnexplainedGapError):
        run(files, log, workshop=bad)
    assert visible_rows(files, "flights") == []
    run(files, log)
    check(files, log)


def test_a_log_that_is_shorter_than_its_export_is_refused() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100)})
    run(files, log)
    log.partitions = {0: (0, 60)}
    with pytest.raises(ExportError, match="ends at 60, and offsets up to 100"):
        run(files, log)


def test_a_topic_that_was_made_anew_is_another_log() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100)})
    run(files, log)
    anew = MemoryLog({0: (0, 30)}, topic_id="z123456789abc")
    run(files, anew, settings=RunSettings(target_file_bytes=TARGET_BYTES, has_gaps_allowed=True))
    table = ExportDirectory(MemoryStorage(files), "flights").table()
    assert table.faults == []
    assert total_length(table.expected()) == table.rows == 130


def test_a_table_keeps_its_layout() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100)})
    json_lines = RunSettings(target_file_bytes=TARGET_BYTES, layout=LayoutWish(format="json"))
    run(files, log, settings=json_lines)
    log.partitions = {0: (0, 120)}
    parquet = RunSettings(target_file_bytes=TARGET_BYTES, layout=LayoutWish(format="parquet"))
    with pytest.raises(LayoutError, match=r"--format json \(run 1\), not parquet"):
        run(files, log, settings=parquet)
    assert run(files, log)[0].layout.format == "json"


# --- killed anywhere -------------------------------------------------------------------------------------------------


class Killer:
    """Ends the process at one step: before the change, or right after it."""

    def __init__(self, step: int) -> None:
        self.step = step

    def __call__(self, number: int) -> None:
        if number == self.step:
            raise KilledError


def _history(files: MemoryFiles, log: MemoryLog, killed_at: int | None) -> bool:
    """Two runs with growth in between, then a third that joins; one of them is killed at a step, and run again.
    Returns whether the step was reached."""
    was_killed = False
    taken = 0
    for ends in ({0: 130, 1: 70}, {0: 150, 1: 75}, {0: 155, 1: 76}, {0: 160, 1: 77}, {0: 300, 1: 300}):
        log.partitions = {number: (0, end) for number, end in ends.items()}
        killer = Killer(-1 if killed_at is None else killed_at - taken)
        storage = MemoryStorage(files, killer)
        workshop = MemoryWorkshop(storage, log, rows_per_date=120)
        try:
            run(files, log, storage, workshop=workshop)
        except KilledError:
            was_killed = True
            rows = visible_rows(files, "flights")
            assert len(rows) == len(set(rows))
            later(files)
            run(files, log, workshop=MemoryWorkshop(MemoryStorage(files), log, rows_per_date=120))
        taken += storage.steps
        if was_killed:
            killed_at = None
    check(files, log)
    return was_killed


def _without_tokens(files: MemoryFiles) -> dict[str, bytes]:
    return {path: content for path, content in files.contents.items() if path.startswith("topic=")}


def test_killed_at_every_step_and_run_again_it_is_as_if_nothing_had_happened() -> None:
    undisturbed = MemoryFiles()
    _history(undisturbed, MemoryLog({}), None)
    assert any("joined" in path for path in _without_tokens(undisturbed))
    for step in count():
        files = MemoryFiles()
        if not _history(files, MemoryLog({}), step):
            assert step > 40
            return
        assert _without_tokens(files) == _without_tokens(undisturbed), f"killed at step {step}"


def test_a_run_that_was_killed_is_finished_as_it_was_planned_and_then_goes_on() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100)})
    with pytest.raises(KilledError):
        run(files, log, MemoryStorage(files, Killer(3)))
    later(files)
    log.partitions = {0: (0, 170)}
    first, second = run(files, log)
    assert first.spans == (Span(TOPIC_ID, 0, 0, 100),)
    assert second.spans == (Span(TOPIC_ID, 0, 100, 170),)
    check(files, log)


def test_other_settings_replace_the_plan_of_a_killed_run() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100)})
    with pytest.raises(KilledError):
        run(files, log, MemoryStorage(files, Killer(3)))
    later(files)
    log.partitions = {0: (0, 170)}
    [only] = run(files, log, settings=RunSettings(target_file_bytes=TARGET_BYTES * 10))
    assert only.spans == (Span(TOPIC_ID, 0, 0, 170),)
    check(files, log)


# --- two at a time ---------------------------------------------------------------------------------------------------


def test_a_second_run_sees_the_first() -> None:
    files, log = MemoryFiles(), MemoryLog({0: (0, 100)})
    with pytest.raises(KilledError):
        run(files, log, MemoryStorage(files, Killer(3)))
    with pytest.raises(RunUnderWayError, match="another run exports flights"):
        run(files, log)
    later(files)
    run(files, log)
    check(files, log)


@pytest.mark.parametrize("is_first_older", [True, False])
def test_two_runs_at_once_add_every_row_once_wherever_they_meet(is_first_older: bool) -> None:
    """The second runs from start to end in between any two steps of the first."""
    for step in count():
        files, log = MemoryFiles(), MemoryLog({0: (0, 130), 1: (0, 20)})
        older, newer = owner(started_at_ms=1), owner(started_at_ms=2)
        first, second = (older, newer) if is_first_older else (newer, older)
        outcomes: list[str] = []

        def go(who: Owner, storage: MemoryStorage, outcomes: list[str] = outcomes, log: MemoryLog = log) -> None:
            try:
                run(storage.files, log, storage, who=who)
                outcomes.append("done")
            except RunUnderWayError:
                outcomes.append("refused")

        def interrupt(number: int, at: int = step, files: MemoryFiles = files, second: Owner = second) -> None:
            if number == at:
                go(second, MemoryStorage(files))

        storage = MemoryStorage(files, interrupt)
        go(first, storage)
        assert "done" in outcomes
        check(files, log)
        if storage.steps <= step:
            return
