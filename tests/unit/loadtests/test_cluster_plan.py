"""Runs are bounded, and what is asked for on the command line is what is done."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from loadtests import cluster_bench, failover_bench
from loadtests.cluster_bench import chosen_cluster_plan
from loadtests.cluster_plan import CLUSTER_DEADLINE_S, CLUSTER_SCENARIOS, ClusterPlan, FailoverPlan
from loadtests.cluster_results import ClusterResult, read_cluster_run
from loadtests.cluster_under_test import file_system_of
from loadtests.failover_results import Event, EventKind, read_failover_run
from loadtests.load import LoadFailedError
from loadtests.result import Result


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    """The benchmark stops the garbage collection of its own process; this one has other tests to run."""
    yield
    gc.enable()


def test_a_whole_run_leaves_time_for_its_starts_and_preparations() -> None:
    assert ClusterPlan().planned_s() < CLUSTER_DEADLINE_S - 60


def test_every_scenario_takes_its_time() -> None:
    assert all(ClusterPlan(scenarios=(name,)).planned_s() > 0 for name in CLUSTER_SCENARIOS)


def test_scenarios_are_chosen_in_their_order() -> None:
    plan = chosen_cluster_plan(True, ["roles", "singles"], 2, 2)
    assert (plan.scenarios, plan.rounds, plan.gateways) == (("singles", "roles"), 2, 2)


@pytest.mark.parametrize(
    ("only", "rounds", "text"), [(["nothing"], None, "no scenario 'nothing'"), ([], 5, "may take")]
)
def test_what_cannot_be_done_is_refused(only: list[str], rounds: int | None, text: str) -> None:
    with pytest.raises(typer.BadParameter, match=text):
        chosen_cluster_plan(False, only, rounds, None)


def invoke(main: Any, *arguments: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(main)
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


GOOD = ClusterResult(result=Result(name="sends", unit="messages/s", values=(1234.0,)), costs=())
FAILING = ClusterResult(result=Result(name="sends", unit="messages/s", values=(1234.0,), errors=1), costs=())
EVENT = Event(
    kind=EventKind.KILL,
    node=1,
    was_controller=False,
    partitions_led=1,
    waits_s=(0.5,),
    failures={},
    ready_s=1.0,
    in_sync_s=2.0,
)


@pytest.mark.parametrize(
    ("results", "error", "code"),
    [([GOOD], None, 0), ([GOOD, FAILING], None, 1), ([GOOD], LoadFailedError("no etcd"), 1), ([], TimeoutError(), 1)],
)
def test_what_becomes_of_a_run_of_the_cluster_bench(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, results: list[ClusterResult], error: Exception | None, code: int
) -> None:
    async def run(_plan: object, _directory: Path, outcome: cluster_bench._Outcome, _console: object) -> None:
        outcome.results += results
        if error is not None:
            raise error

    monkeypatch.setattr(cluster_bench, "_run", run)
    path = tmp_path / "results.json"
    assert invoke(cluster_bench.main, "--quick", "--json", str(path))[0] == code
    written = read_cluster_run(path)
    assert written.results == results
    assert bool(written.failure) == (error is not None)


@pytest.mark.parametrize(("error", "code"), [(None, 0), (LoadFailedError("never in sync"), 1)])
def test_what_becomes_of_a_run_of_the_failover_bench(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception | None, code: int
) -> None:
    plans = []

    async def run(plan: FailoverPlan, _directory: Path, outcome: failover_bench._Outcome, _console: object) -> None:
        plans.append(plan)
        outcome.events.append(EVENT)
        if error is not None:
            raise error

    monkeypatch.setattr(failover_bench, "_run", run)
    path = tmp_path / "results.json"
    arguments = ["--partitions", "30", "--topics", "2", "--kills", "1", "--stops", "0", "--json", str(path)]
    assert invoke(failover_bench.main, *arguments)[0] == code
    assert [(plan.partitions, plan.topics, plan.kills, plan.stops) for plan in plans] == [(30, 2, 1, 0)]
    assert read_failover_run(path).events == [EVENT]


@pytest.mark.parametrize(
    ("main", "arguments", "text"),
    [
        (failover_bench.main, ["--partitions", "3", "--topics", "4"], "cannot share"),
        (failover_bench.main, ["--json", "/missing/results.json"], "there is no folder"),
        (cluster_bench.main, ["--json", "/missing/results.json"], "there is no folder"),
    ],
)
def test_bad_arguments_are_refused_before_the_run(main: Any, arguments: list[str], text: str) -> None:
    code, output = invoke(main, *arguments)
    assert (code, text in output) == (2, True)


def test_the_file_system_of_a_path_is_that_of_the_nearest_mount(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/a / ext4 rw 0 0\nnone {inner} tmpfs rw 0 0\n")
    assert file_system_of(tmp_path, mounts) == "ext4"
    assert file_system_of(inner, mounts) == "tmpfs"
    assert file_system_of(tmp_path / "missing", mounts) == "unknown"
    assert file_system_of(inner, tmp_path / "none") == "unknown"
