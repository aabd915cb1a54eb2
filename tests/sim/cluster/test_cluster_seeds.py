"""Fixed seeds of the cluster's simulation. Planted bugs (`hunt`), and thousands of seeds, are run by hand."""

import pytest

from tests.sim.drawn_options import draw_cluster_options
from tests.sim.options import Fault, LastingFault
from tests.sim.reached import too_little
from tests.sim.world import FAULTS_MIN, run_cluster_seed

LOST_BEHIND_AN_ANSWER = 1563
"""An answer with messages of one node, while another one's, which it had acknowledged as well, were lost."""

LEADERSHIP_GOES_HOME = 1658
"""To the preferred leader, under the last look at a log, when everything is well."""

LEADER_HEARS_LATE = 361
"""That it leads again: after whoever looks at its log for the last time."""

ONLY_HEIR_HAD_A_FULL_DISK = 1189
"""Less than 30 s ago, when the leader was cut off from it and stayed registered: nothing is handed over till then."""

WHO_KNEW_IS_DEAD = 1166
"""A gateway shows what the leader told it, which has lost power since: the follower has not heard yet how much of its
log is committed."""

ONLY_HEIR_IS_DRAINED = 1761
"""A leader that hears nobody hands over to it, and is not given the leadership back for the drain's sake."""

LONG = 8
"""Takes as long as four others."""

SEEDS = (
    *range(4),
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 12) if seed != LONG),
    LOST_BEHIND_AN_ANSWER,
    LEADERSHIP_GOES_HOME,
    LEADER_HEARS_LATE,
    ONLY_HEIR_HAD_A_FULL_DISK,
    WHO_KNEW_IS_DEAD,
    ONLY_HEIR_IS_DRAINED,
)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_finds_nothing(seed: int) -> None:
    result = run_cluster_seed(seed)
    assert result.violations == [], f"python -m tests.sim --cluster --seed {seed} --logs\n{result.options.describe()}"
    assert too_little(result.coverage, faults_min=FAULTS_MIN) == []


@pytest.mark.parametrize("seed", [3])
def test_a_seed_goes_the_same_way_twice(seed: int) -> None:
    first, second = run_cluster_seed(seed), run_cluster_seed(seed)
    assert first.trace_hash
    assert (first.trace_hash, first.history.events) == (second.trace_hash, second.history.events)


def test_options_differ_from_seed_to_seed_and_are_printed() -> None:
    described = {draw_cluster_options(seed).describe().replace(str(seed), "") for seed in range(50)}
    assert len(described) == 50
    drawn = {fault for seed in range(50) for fault in draw_cluster_options(seed).faults}
    assert drawn == set(Fault)
    assert {draw_cluster_options(seed).seeks > 0 for seed in range(50)} == {False, True}
    assert {draw_cluster_options(seed).pauses > 0 for seed in range(50)} == {False, True}
    assert {draw_cluster_options(seed).deletions > 0 for seed in range(50)} == {False, True}
    assert {draw_cluster_options(seed).readers > 0 for seed in range(50)} == {False, True}
    assert {fault for seed in range(100) for fault in draw_cluster_options(seed).lasting_faults} == set(LastingFault)
    assert "min_insync_replicas" in draw_cluster_options(1).describe()


def test_as_many_nodes_stay_as_a_partition_has_replicas() -> None:
    drawn = [draw_cluster_options(seed) for seed in range(200)]
    assert all(options.nodes + options.joins - options.leaves >= options.replication_factor for options in drawn)
    assert {(options.joins > 0, options.leaves > 0) for options in drawn} == {
        (False, False),
        (False, True),
        (True, False),
        (True, True),
    }
