"""A run of many seeds fails where it has not come to what it is for."""

import pytest

from tests.sim.reached import CLUSTER_STATES, EMBEDDED_STATES, SEEDS_MIN, never_reached, too_little


def test_a_seed_without_operations_or_faults() -> None:
    enough = {"send OK": 3, "ack OK": 1, "fault: kill a node": 2, "fault: slow disk": 1}
    assert too_little(enough, faults_min=3) == []
    assert too_little({**enough, "ack OK": 0}, faults_min=3) == ["not a single 'ack OK'"]
    assert too_little({**enough, "fault: slow disk": 0}, faults_min=3) == ["only 2 faults"]


@pytest.mark.parametrize("states", [CLUSTER_STATES, EMBEDDED_STATES])
def test_many_seeds_that_never_came_to_something(states: tuple[str, ...]) -> None:
    everything = dict.fromkeys(states, 1)
    assert never_reached(everything, states, seeds=SEEDS_MIN) == []
    assert never_reached({**everything, "torn tails": 0}, states, seeds=SEEDS_MIN) == ["torn tails"]
    assert never_reached({}, states, seeds=SEEDS_MIN - 1) == [], "it may be chance"
