"""`make fuzz`: a target that keeps its promise, one that does not, and a machine without atheris."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz import __main__ as command
from tests.fuzz.campaign import run_target
from tests.fuzz.targets_table import module_of

needs_atheris = pytest.mark.skipif(find_spec("atheris") is None, reason="there is no atheris for this machine")


@needs_atheris
def test_a_target_that_keeps_its_promise(tmp_path: Path) -> None:
    run = run_target("accept", module_of("accept"), seconds=2, directory=tmp_path)
    assert run.is_whole, run.output
    assert run.finding is None
    assert run.inputs > 100
    assert run.coverage > 10, "what it imports is instrumented"
    assert "nothing found" in run.line
    assert any((tmp_path / "corpus" / "accept").iterdir()), "it learns"


@needs_atheris
def test_a_target_that_does_not_ends_with_the_input(tmp_path: Path) -> None:
    run = run_target("careless", "tests.fuzz.careless", seconds=20, directory=tmp_path)
    assert not run.is_whole
    assert run.finding is not None
    assert len(run.finding.read_bytes()) > 2
    assert "KeyError" in run.output
    told = command.what_to_do(run)
    assert str(run.finding) in told
    assert "test_corpora.py" in told


@needs_atheris
def test_a_target_that_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    run = run_target("nothing", "tests.fuzz.targets.nothing", seconds=1, directory=tmp_path)
    assert not run.is_whole
    assert "ModuleNotFoundError" in command.what_to_do(run)


def test_without_atheris_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "find_spec", lambda _name: None)
    assert command.main([]) == 2
    assert "needs atheris" in capsys.readouterr().err
