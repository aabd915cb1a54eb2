import os
import subprocess
import sys
from pathlib import Path

import pytest

from acklog_spark import export_command, replay_command
from tests.support.command_run import run_command

SCRIPT = """
import os, subprocess, sys
from acklog_spark.background import give_way
give_way()
subprocess.run([sys.executable, "-c", "import os; print(os.sched_getscheduler(0), os.nice(0))"], check=True)
"""


def started(environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], env=os.environ | environment, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="there is no such policy here")
def test_what_is_started_in_the_background_gives_way_too() -> None:
    assert started({}).stdout.split()[0] == str(os.SCHED_IDLE)


def test_spark_that_runs_already_cannot_be_told_to_give_way() -> None:
    done = started({"PYSPARK_GATEWAY_PORT": "1"})
    assert "spark-submit has started Spark already" in done.stderr
    assert done.returncode == 1


def test_the_commands_give_way_where_they_are_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    for command in (export_command, replay_command):
        monkeypatch.setattr(command, "give_way", lambda: given.append(1))
    lines = (
        ["export", "flights", "--to", str(tmp_path), "--conf", "no-setting"],
        ["replay", str(tmp_path), "flights", "--conf", "no-setting"],
    )
    for line in lines:
        assert run_command(*line).exit_code == 2
        assert not given
        assert run_command(*line, "--background").exit_code == 2
        assert given.pop()
