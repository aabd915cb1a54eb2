"""The examples of docs/groups.md, run as they stand: commands by bash, one after the other, and the Python."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from acklog.client.address import DEFAULT_URL
from tests.support.server_process import REPOSITORY, ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.skipif(not shutil.which("curl"), reason="the page uses curl")]

RUN_SECONDS = 60
_COMMANDS = re.compile(r"^```sh\n(.*?)^```\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def page() -> str:
    return (REPOSITORY / "docs/groups.md").read_text()


def run(arguments: list[str], url: str) -> str:
    done = subprocess.run(
        arguments, env={"ACKLOG": url, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=RUN_SECONDS
    )
    assert done.returncode == 0, f"{arguments[-1]}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_commands_print_what_the_page_says(tmp_path: Path) -> None:
    steps = _COMMANDS.findall(page())
    assert len(steps) == page().count("```sh\n") >= 6
    with ServerProcess(tmp_path / "data", tmp_path / "server.log") as server:
        for commands, expected in steps:
            assert run(["bash", "-euc", commands], server.base_url) == expected, commands


def test_the_python_runs(shared_server: ServerProcess) -> None:
    for source in _PYTHON.findall(page()):
        output = run(
            [sys.executable, "-c", source.replace(DEFAULT_URL, shared_server.base_url)], shared_server.base_url
        )
        assert output.startswith("mine: [TopicPartition(topic='visits', partition=0)")
        assert "no longer mine: " in output
