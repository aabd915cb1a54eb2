"""What becomes of a run: its exit code, and what is written of it."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from loadtests import bench
from loadtests.load import LoadFailedError
from loadtests.plan import Cpus, Plan
from loadtests.result import Result
from loadtests.results_file import read_run


@pytest.fixture(autouse=True)
def unpinned(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The benchmark changes its own process; this one has other tests to run."""
    monkeypatch.setattr(bench, "share_cpus", lambda: Cpus(None, None))
    yield
    gc.enable()


def run_bench(
    monkeypatch: pytest.MonkeyPatch, results: list[Result], error: BaseException | None, *arguments: str
) -> tuple[int, str]:
    async def run(_plan: Plan, _cpus: Cpus, _directory: Path, outcome: bench._Outcome, _console: object) -> None:
        outcome.results += results
        if error is not None:
            raise error

    monkeypatch.setattr(bench, "_run", run)
    app = typer.Typer()
    app.command()(bench.main)
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


GOOD = Result(name="sends", unit="requests/s", values=(1234.0,))
FAILING = Result(name="sends", unit="requests/s", values=(1234.0,), errors=1)


def test_a_good_run_is_shown_and_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    code, output = run_bench(monkeypatch, [GOOD], None, "--json", str(path))
    assert code == 0
    assert "1,234 requests/s" in output
    run = read_run(path)
    assert (run.results, run.failure, run.machine.processors > 0) == ([GOOD], "", True)


def test_a_request_that_failed_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_bench(monkeypatch, [GOOD, FAILING], None)[0] == 1


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (LoadFailedError("the server closed a connection"), "the server closed a connection"),
        (TimeoutError(), "not finished within 570 s"),
        (ExceptionGroup("tasks", [LoadFailedError("receive: 500")]), "receive: 500"),
    ],
)
def test_a_run_that_ends_early_says_why_and_keeps_what_it_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: BaseException, text: str
) -> None:
    path = tmp_path / "results.json"
    code, output = run_bench(monkeypatch, [GOOD], error, "--json", str(path))
    assert code == 1
    assert text in output
    assert text in read_run(path).failure
    assert read_run(path).results == [GOOD]


def test_a_file_that_cannot_be_written_is_refused_before_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, output = run_bench(monkeypatch, [GOOD], None, "--json", str(tmp_path / "missing" / "results.json"))
    assert code == 2
    assert "there is no folder" in output
