"""The planted bugs are found. Takes hours of CPU time in all, so it is run by hand: `pytest -m slow` with a name."""

import pytest

from tests.sim.cluster.hunt import SEEDS_MAX, hunt
from tests.sim.cluster.mutants import MUTANTS


@pytest.mark.slow
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("name", [mutant.__name__ for mutant in MUTANTS])
def test_a_planted_bug_is_found(name: str) -> None:
    assert hunt(name, SEEDS_MAX).seed is not None, f"nobody notices {name} in {SEEDS_MAX} seeds"
