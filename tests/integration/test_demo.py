"""`acklog demo` as it is run: real servers, killed on the way; on a terminal, in pipes, and with bad input."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.demo.display import RunLineDisplay
from app.demo.input_file import SAMPLE, FlightFile
from app.demo.options import Options
from app.demo.outcome import RunOutcome
from app.demo.run import DeadlineError, run
from app.demo.scene import SingleServer
from app.demo.timeline import MARK, Timeline
from app.demo.work import StalledError
from app.local_cluster.server_process import ServerFailedError
from tests.support.command_run import run_command
from tests.support.server_process import REPOSITORY
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("demo")]

PROMISES = 14
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
DEMO = (sys.executable, "-m", "acklog.command", "demo")


@pytest.fixture(autouse=True)
def _servers_share_compiled_modules(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Else every server would compile everything once more."""
    bytecode = tmp_path_factory.getbasetemp() / "demo-bytecode"
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(bytecode))


class TestTheRun:
    @pytest.mark.slow
    def test_on_a_terminal(self) -> None:
        result = run_command("demo", "--messages", "1000", is_terminal=True)
        assert result.exit_code == 0, result.stdout
        shown = ESCAPES.sub("", result.stdout)
        assert shown.count(" held ") == PROMISES + 1
        assert f"all {PROMISES} held" in shown
        assert "─ 1,000 flights, 2 kills ─" in shown
        assert "sent and durable" in result.stderr
        assert "kill -9 no. 2" in result.stderr
        assert MARK in result.stderr

    def test_json_in_a_pipe(self) -> None:
        process = subprocess.run([*DEMO, "--messages", "600", "--json"], capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stderr
        document = json.loads(process.stdout)
        assert process.stdout.count("\n") == 1
        assert document["isOk"] is True
        assert (document["messages"], len(document["kills"])) == (600, 2)
        assert len(document["checks"]) == PROMISES
        assert all(check["isOk"] and check["examined"] for check in document["checks"])
        assert document["deliveries"] >= 2 * 600
        assert all(kill["resumedSeconds"] >= kill["readySeconds"] > 0 for kill in document["kills"])
        lines = process.stderr.splitlines()
        assert lines[0] == "600 flights from sample.ndjson.gz, 2 kills"
        assert sum("kill -9 no." in line for line in lines) == 2
        assert "\x1b" not in process.stderr

    @pytest.mark.slow
    def test_quietly_and_kept(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        result = run_command("demo", "--messages", "100", "--kills", "0", "--keep", "--quiet")
        assert (result.exit_code, result.stderr) == (0, "")
        lines = result.stdout.splitlines()
        assert lines[0].split() == ["PROMISE", "EXAMINED", "VIOLATIONS"]
        assert f"all {PROMISES - 1} held" in result.stdout
        [directory] = tmp_path.glob("acklog-demo-*")
        assert run_command("fsck", str(directory / "data")).exit_code == 0

    def test_sigterm_ends_the_server_too(self, tmp_path: Path) -> None:
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        process = subprocess.Popen(
            [*DEMO, "--messages", "1000000"], env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        assert process.stderr is not None
        with process.stderr as lines:
            assert any(b"a server is ready" in line for line in iter(lines.readline, b""))
            process.send_signal(signal.SIGTERM)
            lines.read()
        assert process.wait(timeout=30) == 130
        wait_until(lambda: not _servers_below(tmp_path), seconds=10, what="the end of the server")
        assert list(tmp_path.glob("acklog-demo-*")) == []


def _servers_below(directory: Path) -> list[str]:
    """Command lines that name the directory."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"{directory}/" in text and "serve" in text:
            found.append(text)
    return found


class TestFailures:
    def test_bad_input(self, tmp_path: Path) -> None:
        bad = tmp_path / "bad.ndjson"
        bad.write_text('{"key": 1}\n' * 100)
        few = tmp_path / "few.ndjson"
        few.write_text('{"body": 1}\n' * 3)
        for arguments, what, hint in (
            (("--input", str(tmp_path / "none")), "there is no file", "Without --input a sample is sent"),
            (("--input", str(few)), "few.ndjson has 3 messages, and 100 are the least", "--messages 100"),
            (("--input", str(bad)), "line 1 of bad.ndjson is not a message", "Without --input"),
            (("--messages", "99"), "99 is below 100", "acklog demo --help"),
            (("--kills", "11"), "11 is above 10", "acklog demo --help"),
            (("--kils", "1"), "no such option", "acklog demo --help"),
        ):
            result = run_command("demo", *arguments)
            assert (result.exit_code, result.stdout) == (2, "")
            assert what in result.stderr.lower() or what in result.stderr
            assert hint in result.stderr

    def test_bad_input_with_json(self, tmp_path: Path) -> None:
        result = run_command("demo", "--json", environment={"ACKLOG_FLIGHTS": str(tmp_path / "none")})
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.error["field"] == "--input"
        assert result.error["exitCode"] == 2

    def test_a_run_that_does_not_finish(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def stalled(*_: object) -> None:
            raise StalledError("nothing has moved for 60 s")

        monkeypatch.setattr("app.demo.run.run", stalled)
        result = run_command("demo")
        assert result.exit_code == 2
        assert "the run did not finish: nothing has moved" in result.stderr
        assert "--keep" in result.stderr

    def test_a_reader_that_is_gone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def finished(*_: object) -> RunOutcome:
            return RunOutcome("sample.ndjson.gz", 100, 2, Timeline())

        monkeypatch.setattr("app.demo.run.run", finished)
        assert run_command("demo", is_reader_gone=True).exit_code == 141
        result = run_command("demo")
        assert result.exit_code == 1, "nothing was verified"

    async def test_a_run_that_takes_too_long_says_how_far_it_was(self, tmp_path: Path) -> None:
        with pytest.raises(DeadlineError, match="not finished within 0 s: 0 of 10 sent"):
            await run(
                Options(messages=10, deadline_s=0.01),
                FlightFile(SAMPLE),
                SingleServer(tmp_path, kills=2),
                RunLineDisplay(_ignore),
            )

    async def test_a_server_that_cannot_start_is_an_error_with_its_log(self, tmp_path: Path) -> None:
        (tmp_path / "data").write_text("no directory")
        with pytest.raises(ServerFailedError, match="data directory"):
            await run(
                Options(messages=10), FlightFile(SAMPLE), SingleServer(tmp_path, kills=2), RunLineDisplay(_ignore)
            )


def _ignore(_: str) -> None:
    return


def test_the_launcher_runs_the_same_command() -> None:
    process = subprocess.run(
        [sys.executable, "-m", "examples.flights", "--help"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0
    assert "acklog demo" in process.stdout
