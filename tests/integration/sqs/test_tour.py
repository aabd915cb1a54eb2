"""The tours of docs/sqs.md, run as they stand: by the command line of AWS and curl, and by boto3."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.readme_tour import parsed, steps_of, with_placeholders
from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.sqs_clients import credentials, python_of, run_client

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("sqs_clients")]

PAGE = (REPOSITORY / "docs/sqs.md").read_text()
SHOWN_URL = "http://127.0.0.1:8080"
SECONDS = 120
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_PARTITION = re.compile(r'(?<=ID-)[0-9]+(?=-[0-9]+-)|(?<="partition":)[0-9]+')
_PYTHON = re.compile(r"^```python\n(.*?)^```\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("tour")
    with ServerProcess(directory / "data", directory / "server.log") as server:
        yield server


def section(heading: str) -> str:
    start = PAGE.index(f"## {heading}\n")
    return PAGE[start : PAGE.index("\n## ", start)]


def comparable(text: str) -> str:
    """Ids, times and the partition of a message without a key differ from run to run."""
    return _PARTITION.sub("0", _UUID.sub("UUID", with_placeholders(text)))


@pytest.mark.skipif(not shutil.which("curl"), reason="the tour uses curl")
def test_the_command_line(server: ServerProcess) -> None:
    programs = python_of("command_line").parent
    steps = steps_of(section("On the command line"))
    marks = "".join(f"{{\n{step.commands}\n}}\nprintf '\\0'\n" for step in steps)
    environment = credentials(server.base_url, ACKLOG=server.base_url)
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    del environment["AWS_ENDPOINT_URL"]  # the page names it each time, as version 1 needs it
    done = subprocess.run(
        ["bash", "-c", f"set -euo pipefail\n{marks}"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = done.stdout.replace(server.base_url, SHOWN_URL).split("\0")[:-1]
    assert len(printed) == len(steps) >= 6
    for step, output in zip(steps, printed, strict=True):
        assert parsed(comparable(output)) == parsed(comparable(step.expected)), step.commands
    assert sum(bool(step.expected) for step in steps) >= 5


def test_boto3(server: ServerProcess, tmp_path: Path) -> None:
    [(code, expected)] = _PYTHON.findall(section("In Python"))
    assert SHOWN_URL in code
    program = tmp_path / "steps.py"
    program.write_text(code.replace(SHOWN_URL, server.base_url))
    assert run_client([str(python_of("python")), str(program)], credentials(server.base_url)) == expected
