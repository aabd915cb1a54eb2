"""`python -m loadtests.cluster_bench`: rates and latencies of a local cluster beside the embedded server, measured in
the same run and by turns.

All of it is on one machine: the processes of the cluster share its processors and its disk with each other and with the
load generator, which the embedded server, a single process, has nearly for itself.
"""

import asyncio
import gc
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from examples.server_process import ServerFailedError
from loadtests import cluster_scenarios
from loadtests.bench import BUSY_LOAD, REPORT_WIDTH, ROUNDS_MAX
from loadtests.bench_server import acklog_server
from loadtests.cluster_plan import CLUSTER_DEADLINE_S, CLUSTER_SCENARIOS, QUICK_CLUSTER, ClusterPlan
from loadtests.cluster_report import make_cluster_tables
from loadtests.cluster_results import ClusterResult, ClusterRun, write_cluster_run
from loadtests.cluster_scenarios import ClusterBench
from loadtests.cluster_under_test import cluster_under_test
from loadtests.load import LoadFailedError
from loadtests.plan import Cpus
from loadtests.results_file import describe_machine
from loadtests.run_failure import failure_text

UNPINNED = Cpus(None, None)
"""Everything shares all processors: there are more processes than those."""


@dataclass(slots=True)
class _Outcome:
    load_before: float
    etcd_storage: str = "unknown"
    results: list[ClusterResult] = field(default_factory=list)
    failure: str = ""

    @property
    def failed_requests(self) -> int:
        return sum(each.result.errors for each in self.results)


def main(
    quick: Annotated[bool, typer.Option("--quick", help="A short run, for orders of magnitude.")] = False,
    only: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(CLUSTER_SCENARIOS)}.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, max=ROUNDS_MAX, help="How often each is measured.")] = None,
    gateways: Annotated[int | None, typer.Option(min=1, max=2, help="Gateways; the load goes to the first.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all results there.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where to measure; default: a temporary directory.")] = None,
) -> None:
    """The exit code is 1 when requests failed: rates of a failing server mean nothing. Missed targets are shown."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=REPORT_WIDTH)
    if json_file is not None and not json_file.resolve().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {json_file.parent}", param_hint="--json")
    plan = chosen_cluster_plan(quick, only or [], rounds, gateways)
    directory = Path(tempfile.mkdtemp(prefix="acklog-cluster-bench-", dir=data_dir))
    outcome, started = _Outcome(load_before=os.getloadavg()[0]), perf_counter()
    if outcome.load_before > BUSY_LOAD:
        console.print(f"others use this machine: its load average is {outcome.load_before:.1f}", style="bold yellow")
    gc.disable()  # a collection would show up as the server's latency; memory is bounded by the plan
    try:
        uvloop.run(_run(plan, directory, outcome, console))
    except (LoadFailedError, ServerFailedError, TimeoutError, ExceptionGroup) as error:
        outcome.failure = failure_text(error, deadline_s=CLUSTER_DEADLINE_S)
        console.print(outcome.failure, style="bold red", highlight=False, markup=False)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        for table in make_cluster_tables(outcome.results, etcd_storage=outcome.etcd_storage):
            console.print(table)
        if json_file is not None:
            write_cluster_run(_whole_run(plan, outcome, perf_counter() - started), json_file)
    raise typer.Exit(1 if outcome.failure or outcome.failed_requests else 0)


def chosen_cluster_plan(quick: bool, only: list[str], rounds: int | None, gateways: int | None) -> ClusterPlan:
    """Raises typer.BadParameter."""
    plan = QUICK_CLUSTER if quick else ClusterPlan()
    for name in only:
        if name not in CLUSTER_SCENARIOS:
            raise typer.BadParameter(f"there is no scenario {name!r}; there are {', '.join(CLUSTER_SCENARIOS)}")
    if only:
        plan = replace(plan, scenarios=tuple(name for name in CLUSTER_SCENARIOS if name in only))
    plan = replace(plan, rounds=rounds or plan.rounds, gateways=gateways or plan.gateways)
    if plan.planned_s() > CLUSTER_DEADLINE_S:
        raise typer.BadParameter(
            f"that takes {plan.planned_s():.0f} s, and a run may take {CLUSTER_DEADLINE_S:.0f} s: give fewer --rounds"
        )
    return plan


async def _run(plan: ClusterPlan, directory: Path, outcome: _Outcome, console: Console) -> None:
    async with asyncio.timeout(CLUSTER_DEADLINE_S):
        async with (
            acklog_server(directory, UNPINNED) as embedded,
            cluster_under_test(directory, nodes=plan.nodes, gateways=plan.gateways) as cluster,
        ):
            outcome.etcd_storage = cluster.etcd_storage
            await _scenarios(ClusterBench(cluster, embedded, plan, _reporter(outcome, console)))


async def _scenarios(bench: ClusterBench) -> None:
    chosen = bench.plan.scenarios
    if "open-loop" in chosen:
        await cluster_scenarios.open_loops(bench)
    if "singles" in chosen:
        await cluster_scenarios.singles(bench)
    if "batches" in chosen:
        await cluster_scenarios.batches(bench)
    if "receives" in chosen:
        await cluster_scenarios.receives(bench)
    if "roles" in chosen:
        await cluster_scenarios.roles(bench)


def _reporter(outcome: _Outcome, console: Console) -> Callable[[ClusterResult], None]:
    def report(each: ClusterResult) -> None:
        outcome.results.append(each)
        result = each.result
        console.print(f"{result.name}: {result.value:,.1f} {result.unit}", highlight=False, markup=False)
        gc.collect()

    return report


def _whole_run(plan: ClusterPlan, outcome: _Outcome, seconds: float) -> ClusterRun:
    return ClusterRun(
        machine=describe_machine(UNPINNED),
        plan=plan,
        date=datetime.now(UTC).date().isoformat(),
        seconds=round(seconds, 1),
        load_before=outcome.load_before,
        etcd_storage=outcome.etcd_storage,
        failure=outcome.failure,
        results=outcome.results,
    )


if __name__ == "__main__":
    typer.run(main)
