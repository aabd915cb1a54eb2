import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from acklog_spark import sessions
from pyspark_acklog.archive.replay_plan import Lanes, ReplayPlan, Selection, TargetPartition, stored_keys
from pyspark_acklog.export.spans import Span
from tests.support.command_run import run_command
from tests.support.memory_export import TOPIC_ID, MemoryFiles, MemoryLog, MemoryStorage, MemoryWorkshop

AWAY = "http://127.0.0.1:9"


def test_the_help_needs_no_spark() -> None:
    code = (
        "import sys; from acklog.command.tree import _added_commands as added;"
        "print(sorted({'export', 'replay'} & set(added())),"
        " [name for name in sys.modules if name.partition('.')[0] in {'pyspark', 'pyarrow', 'pyspark_acklog'}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['export', 'replay'] []"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--format", "csv"], "'csv' is no format (--format)"),
        (["--target-file-size", "1kB"], "files of 1000 B are not possible: 64 KiB to 64 GiB"),
        (["--target-file-size", "large"], "'large' is not a size"),
        (["--max-rate", "0"], "'0' is too little to get anywhere (--max-rate)"),
        (["--read-from", "follower"], "'follower' is no replica"),
        (["--conf", "spark.driver.memory"], "'spark.driver.memory' is no setting"),
        (["--partition-by", "date,date"], "names a column twice"),
        (["--ca-file", "nowhere.pem"], "--ca-file is for https, and http://127.0.0.1:9 is called without encryption"),
        (["--server", "https://127.0.0.1:9", "--ca-file", "nowhere.pem"], "nowhere.pem cannot be read"),
    ],
)
def test_options_that_cannot_be_right(arguments: list[str], told: str, tmp_path: Path) -> None:
    done = run_command("export", "run", "flights", "--to", str(tmp_path), "--server", AWAY, *arguments)
    assert done.exit_code in {1, 2}
    assert told in done.stderr.splitlines()[0]


def test_no_server_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    done = run_command("export", "flights", "--to", str(tmp_path), "--server", AWAY, "--timeout", "1")
    assert done.exit_code == 3
    assert f"no server can be reached at {AWAY}" in done.stderr.splitlines()[0]
    assert list(tmp_path.rglob("*.parquet")) == []


def test_a_format_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark_acklog.export import delta

    monkeypatch.setattr(delta, "find_spec", lambda _name: None)
    done = run_command("export", "flights", "--to", str(tmp_path), "--format", "delta", "--server", AWAY)
    assert "pip install --no-deps delta-spark==" in done.stderr.splitlines()[0]


def test_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(sessions.shutil, "which", lambda _name: None)
    with pytest.raises(sessions.CommandError, match="Java was not found, and Spark needs Java 17"):
        sessions.require_java()


@pytest.mark.parametrize(
    ("says", "told"),
    [('openjdk version "11.0.2"', "is Java 11, and Spark needs 17"), ("nothing", "is no Java that says its version")],
)
def test_java_that_is_none(says: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(sessions.CommandError, match=told):
        sessions.require_java()


def test_a_spark_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_builder: object) -> None:
        raise RuntimeError("Could not parse Master URL: 'nowhere'\n\tat org.apache.spark.SparkContext$.create")

    monkeypatch.setattr(sessions, "require_java", lambda: None)
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", refuse)
    with pytest.raises(sessions.CommandError) as failed:
        sessions.open_session("acklog export", master="nowhere", settings={}, is_quiet=False)
    assert str(failed.value) == "Spark cannot be started: Could not parse Master URL: 'nowhere'"
    assert failed.value.hint is not None
    assert "--master" in failed.value.hint


def test_history_and_verify_of_nothing(tmp_path: Path) -> None:
    assert run_command("export", "history", str(tmp_path), "--json").document == {"runs": []}
    done = run_command("export", "verify", str(tmp_path))
    assert (done.exit_code, done.stderr.splitlines()[0]) == (5, f"acklog: there is no export at {tmp_path}")


def test_history_needs_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark_acklog.export.owner import Owner
    from pyspark_acklog.export.run import Run, RunSettings

    files, log = MemoryFiles(), MemoryLog({0: (0, 250)})
    storage = MemoryStorage(files)
    settings = RunSettings(target_file_bytes=4_000)
    Run(storage, log, MemoryWorkshop(storage, log), settings, Owner("a", "elsewhere", 1, 1_000)).run("flights")
    for path, content in files.contents.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    monkeypatch.setattr(sessions, "open_session", None)
    [run] = run_command("export", "history", str(tmp_path), "--json").document["runs"]
    assert (run["topic"], run["number"], run["rows"], run["plannedAtMs"]) == ("flights", 1, 250, 1_000)
    shown = run_command("export", "history", str(tmp_path)).stdout
    assert "flights" in shown
    assert "250" in shown


def test_replays_are_not_selected_by_times_that_move(tmp_path: Path) -> None:
    done = run_command("replay", str(tmp_path), "flights", "--since", "3d")
    assert done.exit_code == 2
    assert "is another time whenever it is read" in done.stderr


def test_a_replay_of_nothing(tmp_path: Path) -> None:
    done = run_command("replay", str(tmp_path), "flights", "--json")
    assert json.loads(done.stderr)["error"]["detail"] == f"{tmp_path} has no export of flights"


def _plan(targets: int) -> ReplayPlan:
    return ReplayPlan(
        name="again",
        selection=Selection(topic="flights"),
        spans=(Span(TOPIC_ID, 0, 0, 100),),
        target="copy",
        target_id="z" * 13,
        dedup_window_ms=1_000,
        targets=tuple(TargetPartition(number, 0) for number in range(targets)),
        placing="key",
        batch_messages_max=7,
        batch_bytes_max=100,
        begun_at_ms=0,
    )


def test_batches_are_cut_the_same_way_every_time_and_keep_the_order_of_keys() -> None:
    plan = _plan(3)
    messages = [(number, number * 2, f"k{number % 5}" if number % 3 else None, number % 40) for number in range(200)]

    def cut() -> list[tuple[str, int, list[int]]]:
        lanes = Lanes(plan, 4)
        found = [batch for message in messages for batch in lanes.add(*message)]
        return [(batch.key, batch.target, batch.rows) for batch in (*found, *lanes.rest())]

    batches = cut()
    assert batches == cut()
    assert len({key for key, _, _ in batches}) == len(batches)
    assert sorted(number for _, _, rows in batches for number in rows) == list(range(200))
    sizes = {number: size for number, _, _, size in messages}
    assert all(len(rows) <= 7 and sum(sizes[number] for number in rows) <= 100 for _, _, rows in batches)
    for target in range(3):
        sent = [number for _, to, rows in batches if to == target for number in rows]
        assert sent == sorted(sent)
    keys = [f"{key}\n" for key, _, _ in batches[:3]] + ["replay-other-1-2-3-4\n", "mine"]
    assert stored_keys(keys, "again") == {key for key, _, _ in batches[:3]}
