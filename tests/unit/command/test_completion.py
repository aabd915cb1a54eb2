"""Completion: the scripts, and what answers them."""

import os
import shutil
import subprocess
import sys

import pytest

from acklog.command.exit_codes import ExitCode
from tests.support.command_run import run_command

SHELLS = ["bash", "zsh", "fish"]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_scripts(shell: str) -> None:
    script = run_command("completion", shell).stdout
    assert f"_ACKLOG_COMPLETE=complete_{shell}" in script
    assert run_command("completion", shell, "--json").document == {"shell": shell, "script": script}
    assert run_command("completion", environment={"SHELL": f"/usr/bin/{shell}"}).stdout == script
    assert run_command("completion", shell, is_terminal=True).stdout == script


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_take_their_script(shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = run_command("completion", shell).stdout
    prepared = f"autoload -Uz compinit; compinit -u -D\n{script}" if shell == "zsh" else script
    ran = subprocess.run([program, "-c", prepared], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_bad_input() -> None:
    refused = run_command("completion", "bsh")
    assert refused.exit_code == ExitCode.USAGE
    assert "Did you mean: bash" in refused.stderr
    assert "which shell?" in run_command("completion").stderr


def test_a_pipe_whose_reader_is_gone() -> None:
    assert run_command("completion", "bash", is_reader_gone=True).exit_code == ExitCode.READER_GONE


def completed(words: str) -> list[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ACKLOG_")},
        "_ACKLOG_COMPLETE": "complete_bash",
        "COMP_WORDS": f"acklog {words}",
        "COMP_CWORD": str(len(f"acklog {words}".split(" ")) - 1),
        "ACKLOG_URL": "http://127.0.0.1:9",
    }
    ran = subprocess.run([sys.executable, "-m", "acklog.command"], env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.split()


def test_commands_and_options_are_completed() -> None:
    assert {"receive", "send", "why"} <= set(completed(""))
    assert completed("rec") == ["receive"]
    assert "--key-field" in completed("send --k")
    assert set(completed("dlq ")) >= {"list", "show", "retry", "purge"}


def test_a_server_that_is_away_does_not_disturb_the_shell() -> None:
    assert completed("send or") == []
