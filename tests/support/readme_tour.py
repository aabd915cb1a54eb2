"""The tour in README.md as steps: its commands by bash against a real server, its outputs compared.

Ids and times differ from run to run, so both sides are compared with placeholders in their places; everything else,
offsets, partitions and order included, has to be as printed.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from acklog.wire.identifiers import ALPHABET, ID_LENGTH
from tests.support.server_process import REPOSITORY, ServerProcess

COMMAND_SECONDS = 60
KILLS = re.compile(r"^kill -9 ", re.MULTILINE)
_BLOCK = re.compile(r"^```(sh|json|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ID = re.compile(rf"(?<![0-9a-z])[{ALPHABET}]{{{ID_LENGTH}}}(?![0-9a-z])")
_TIME = re.compile(r"(?<![0-9])1[0-9]{12}(?![0-9])")


class Step(NamedTuple):
    """Commands of one block, and what the block behind it says they print."""

    commands: str
    kind: str
    expected: str


def tour() -> list[Step]:
    readme = (REPOSITORY / "README.md").read_text()
    return steps_of(readme[readme.index("## A tour") : readme.index("## What is promised")])


def steps_of(text: str) -> list[Step]:
    """The commands that a page shows, each with what is printed."""
    blocks = [(match[1], match[2]) for match in _BLOCK.finditer(text)]
    steps = []
    for number, (kind, content) in enumerate(blocks):
        if kind == "sh":
            following = blocks[number + 1] if number + 1 < len(blocks) else ("sh", "")
            steps.append(Step(content, *(following if following[0] != "sh" else ("text", ""))))
    return steps


class Shell:
    """A bash for each step. Variables go from one to the next by a file, as they would in one terminal."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._variables = directory / "variables.sh"
        self._variables.write_text("")

    def set(self, **variables: object) -> None:
        with self._variables.open("a") as file:
            file.writelines(f"{name}='{value}'\n" for name, value in variables.items())

    def run(self, commands: str) -> str:
        script = (
            f'set -eu -o pipefail\n. "{self._variables}"\n{commands}\n'
            f'{{ declare -p RECEIPT GOT MESSAGE || true; }} 2>/dev/null >>"{self._variables}"\n'
        )
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._directory,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"exit code {done.returncode}\n{commands}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def parsed(text: str) -> list[Any]:
    """The JSON documents that stand one behind the other."""
    decoder = json.JSONDecoder()
    documents = []
    at = 0
    while at < len(text.rstrip()):
        document, at = decoder.raw_decode(text, at)
        documents.append(document)
        at += len(text[at:]) - len(text[at:].lstrip())
    return documents


def with_placeholders(text: str) -> str:
    return _ID.sub("ID", _TIME.sub("0", text))


def take_the_tour(server: ServerProcess, directory: Path) -> None:
    """Every step, with the server that has been started; its kills are of that one, which is started again."""
    shell = Shell(directory)
    for step in tour():
        shell.set(ACKLOG=server.base_url, ACKLOG_PID=server.pid)
        output = with_placeholders(shell.run(step.commands))
        expected = with_placeholders(step.expected)
        if step.kind == "json":
            assert parsed(output) == parsed(expected), step.commands
        else:
            assert output == expected, step.commands
        if KILLS.search(step.commands):
            server.wait()
            server.start()
