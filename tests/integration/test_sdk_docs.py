"""The examples of docs/sdk.md, each run as it stands, one after the other, against one server."""

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from acklog.client.address import DEFAULT_URL
from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

_BLOCK = re.compile(r"^(<!-- test: ends by SIGTERM -->\n)?```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    source: str
    is_ended_by_a_signal: bool


def examples() -> list[Example]:
    text = (REPOSITORY / "docs/sdk.md").read_text()
    return [Example(match[2], bool(match[1])) for match in _BLOCK.finditer(text)]


def test_every_example_runs(shared_server: ServerProcess, tmp_path: Path) -> None:
    found = examples()
    assert len(found) >= 7
    for number, example in enumerate(found):
        source = example.source.replace(DEFAULT_URL, shared_server.base_url)
        source = re.sub(r"Client\((?!\")", f'Client("{shared_server.base_url}", ', source)
        output = tmp_path / f"example-{number}.txt"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-u", "-c", source], cwd=REPOSITORY, stdout=file, stderr=subprocess.STDOUT
            )
        try:
            if example.is_ended_by_a_signal:
                wait_until(lambda: "working on" in output.read_text(), seconds=60, what="the first message")  # noqa: B023
                process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0, f"{source}\n{output.read_text()}"
        finally:
            process.kill()
            process.wait()
        assert "Traceback" not in output.read_text(), output.read_text()
