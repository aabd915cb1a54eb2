"""A recipe of docs/recipes, as a reader would use it: its files in a folder, its programs run from there."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from docs.recipe_code import RECIPES, listings
from tests.support.waiting import wait_until

END_SECONDS = 60
_COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Program:
    """A process of the reader's. What it prints, to both streams, is in `output`."""

    def __init__(self, process: "subprocess.Popen[bytes]", log_path: Path) -> None:
        self.process = process
        self._log_path = log_path

    @property
    def output(self) -> str:
        return self._log_path.read_text(errors="replace")

    @property
    def lines(self) -> list[str]:
        return self.output.splitlines()

    def wait_for(self, text: str, *, times: int = 1) -> None:
        """Until `text` was printed so often."""

        def is_there() -> bool:
            output = self.output
            assert output.count(text) >= times or self.process.poll() is None, f"ended without {text!r}:\n{output}"
            return output.count(text) >= times

        wait_until(is_there, seconds=END_SECONDS, what=f"{text!r} in the output")

    def terminate(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(END_SECONDS)

    def kill(self) -> None:
        """SIGKILL, also to what it has started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Recipe:
    """The files of one page in `directory`, and its programs."""

    def __init__(self, page: str, directory: Path, url: str) -> None:
        self.page = (RECIPES / page).read_text()
        self.directory = directory
        self.url = url
        self._programs = 0
        for listing in listings(self.page):
            path = directory / listing.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(listing.code)

    @property
    def commands(self) -> list[str]:
        """The blocks of commands that the page says to run, without its files."""
        codes = {listing.code for listing in listings(self.page)}
        return [each for each in _COMMANDS.findall(self.page) if each not in codes]

    @contextmanager
    def python(
        self, *arguments: str, folder: str = "", environment: Mapping[str, str] | None = None
    ) -> Iterator[Program]:
        """`python ...`, run until the block ends, if it has not ended by then."""
        with self.program(sys.executable, "-u", *arguments, folder=folder, environment=environment) as program:
            yield program

    @contextmanager
    def program(
        self, *arguments: str, folder: str = "", environment: Mapping[str, str] | None = None
    ) -> Iterator[Program]:
        """Any program. It leads a process group of its own, which is gone at the end of the block."""
        self._programs += 1
        log_path = self.directory / f"program-{self._programs}.log"
        with log_path.open("wb") as log:
            process = subprocess.Popen(
                arguments,
                cwd=self.directory / folder,
                env=self._environment(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        program = Program(process, log_path)
        try:
            yield program
        finally:
            program.kill()

    def shell(self, commands: str, *, folder: str = "") -> str:
        """Run a block of commands to its end; what it printed. Every command in it has to succeed."""
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", commands],
            cwd=self.directory / folder,
            env=self._environment(None),
            capture_output=True,
            text=True,
            timeout=END_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"exit code {done.returncode}\n{commands}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _environment(self, more: Mapping[str, str] | None) -> dict[str, str]:
        """`acklog` and `python` are those that run the tests."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ACKLOG_")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{inherited.get('PATH', '')}"
        return {**inherited, "PATH": path, "ACKLOG_URL": self.url, "COLUMNS": "160", **(more or {})}
