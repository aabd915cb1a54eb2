"""What a run may take, and what may be chosen of it."""

from dataclasses import replace

import pytest
import typer

from loadtests.bench import chosen_plan
from loadtests.plan import DEADLINE_S, QUICK, SCENARIOS, Cpus, Plan
from loadtests.sdk_rates import RUNS
from loadtests.sdk_scenarios import CONSUMERS, PRODUCERS

STARTS_AND_STOPS_S = 60.0  # of servers, and what is stored before it is read


def test_a_whole_run_fits_into_ten_minutes() -> None:
    assert DEADLINE_S < 600
    assert Plan().planned_s() + STARTS_AND_STOPS_S < DEADLINE_S
    assert QUICK.planned_s() < 60


def test_every_scenario_and_every_round_counts() -> None:
    for name in SCENARIOS:
        assert replace(Plan(), scenarios=(name,)).planned_s() > 0
    alone = sum(replace(Plan(), scenarios=(name,)).planned_s() for name in SCENARIOS)
    assert alone == pytest.approx(Plan().planned_s())
    assert replace(Plan(), rounds=2).planned_s() == pytest.approx(2 * replace(Plan(), rounds=1).planned_s())


def test_scenarios_are_chosen_by_name_and_run_in_their_own_order() -> None:
    assert chosen_plan(False, [], None) == Plan()
    assert chosen_plan(True, [], None) == QUICK
    assert chosen_plan(True, ["batches", "machine"], 2) == replace(QUICK, scenarios=("machine", "batches"), rounds=2)
    with pytest.raises(typer.BadParameter, match=r"no scenario 'batch'.*open-loop"):
        chosen_plan(False, ["batch"], None)


def test_more_than_a_run_may_take_is_refused() -> None:
    with pytest.raises(typer.BadParameter, match="a run may take 570 s"):
        chosen_plan(False, [], 50)


def test_the_load_spins_only_on_a_processor_of_its_own() -> None:
    one, two = frozenset({1}), frozenset({0, 1})
    assert not Cpus(two, one).is_client_alone
    assert Cpus(frozenset({0}), one).is_client_alone
    assert not Cpus(None, None).is_client_alone


def test_everything_that_the_sdk_measures_has_an_aim() -> None:
    assert set(PRODUCERS | CONSUMERS) == set(RUNS)
