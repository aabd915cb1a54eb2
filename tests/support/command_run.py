"""A run of the `acklog` command inside this process: what it wrote, and its exit code."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from acklog.command.program import run
from acklog.command.session import Surroundings

NOWHERE = Path("no-such-directory")


@dataclass(frozen=True)
class CommandRun:
    exit_code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """What --json gave."""
        return json.loads(self.stdout)

    @property
    def lines(self) -> list[Any]:
        """What a stream with --json gave."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def error(self) -> dict[str, Any]:
        """What --json gave for a failure."""
        found: dict[str, Any] = json.loads(self.stderr)["error"]
        return found


class _Stream(io.TextIOWrapper):
    """Text over bytes, as a process's streams are; a terminal if wanted."""

    def __init__(self, content: bytes = b"", *, is_terminal: bool = False) -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8", newline="\n", write_through=True)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def written(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


class GonePipe(io.StringIO):
    """Nobody reads at the other end any more."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def run_command(
    *arguments: str,
    stdin: str = "",
    is_terminal: bool = False,
    is_reader_gone: bool = False,
    environment: Mapping[str, str] | None = None,
    surroundings: Mapping[str, Any] | None = None,
) -> CommandRun:
    """Run one command line. `surroundings` replaces fields of the command's Surroundings (`connect`, `now_ms`).

    On a terminal, all three streams are one.
    """
    stdout = _Stream(is_terminal=is_terminal)
    stderr = _Stream(is_terminal=is_terminal)
    around = Surroundings(
        environment={"COLUMNS": "160", **(environment or {})},
        stdin=_Stream(stdin.encode(), is_terminal=is_terminal),
        stdout=GonePipe() if is_reader_gone else stdout,
        stderr=stderr,
        config_directory=NOWHERE,
    )
    exit_code = run(arguments, replace(around, **(surroundings or {})))
    return CommandRun(exit_code, stdout.written(), stderr.written())
