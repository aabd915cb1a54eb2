"""The planted bugs are found. Takes hours of CPU time in all, so it is run by hand: `pytest -m slow` with a name."""

from pathlib import Path

import pytest

from tests.sim.cluster.hunt import SEEDS_MAX, hunt, is_known_to_be_found
from tests.sim.cluster.mutants import FOUND_ELSEWHERE, MUTANTS, Mutant


@pytest.mark.slow
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("name", [mutant.__name__ for mutant in MUTANTS])
def test_a_planted_bug_is_found(name: str) -> None:
    assert is_known_to_be_found(hunt(name, SEEDS_MAX)), f"nobody notices {name} in {SEEDS_MAX} seeds"


def test_who_finds_what_no_seed_finds_is_there() -> None:
    root = Path(__file__).parents[3]
    assert FOUND_ELSEWHERE.keys() <= {mutant.__name__ for mutant in MUTANTS}
    assert all((root / path).exists() for path in FOUND_ELSEWHERE.values())


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_what_a_planted_bug_replaces_is_there(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hunts are seldom: a name that has changed since would be noticed late."""
    mutant(monkeypatch)
