"""The model has teeth: it finds every planted bug, each within a bounded number of seeds."""

import pytest

from tests.property.replication.model_cluster import ModelCluster
from tests.property.replication.mutants import MUTANTS, Mutant
from tests.property.replication.test_replication_model import STEPS

SEEDS_MAX = 500
QUICKLY_FOUND = ("truncate_to_high_watermark", "ack_before_fsync", "proposed_isr_only")


def first_seed_that_finds(mutant: Mutant, patch: pytest.MonkeyPatch) -> int | None:
    mutant(patch)
    for seed in range(SEEDS_MAX):
        try:
            ModelCluster(seed, steps=STEPS).run()
        except AssertionError:
            return seed
    return None


@pytest.mark.parametrize("mutant", [each for each in MUTANTS if each.__name__ in QUICKLY_FOUND])
def test_an_obvious_bug_is_found_at_once(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert first_seed_that_finds(mutant, monkeypatch) in range(5)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_every_planted_bug_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert first_seed_that_finds(mutant, monkeypatch) is not None
