"""Replays each scenario file of this directory (`script.py` says how they read).

    pytest tests/scenarios/replication --rewrite

writes what comes out now, for a reviewer to judge.
"""

from pathlib import Path

import pytest

from tests.property.replication import mutants
from tests.scenarios.replication import script

FILES = sorted(Path(__file__).parent.glob("*.txt"))
FINDINGS = [(path, bug) for path in FILES for bug in script.bugs_found_by(path.read_text())]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenario(path: Path, request: pytest.FixtureRequest) -> None:
    text = path.read_text()
    played = script.replay(text)
    if request.config.getoption("--rewrite"):
        path.write_text(played)
    else:
        assert played == text


@pytest.mark.parametrize(("path", "bug"), FINDINGS, ids=lambda value: getattr(value, "stem", value))
def test_scenario_finds_its_bug(path: Path, bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something else is told, or a rule is broken."""
    text = path.read_text()
    getattr(mutants, bug)(monkeypatch)
    try:
        played = script.replay(text)
    except AssertionError:
        return
    assert played != text
