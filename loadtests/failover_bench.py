"""`python -m loadtests.failover_bench`: a cluster with 1,000 partitions whose nodes are killed and stopped."""

import asyncio
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
from loadtests.bench import BUSY_LOAD, REPORT_WIDTH
from loadtests.cluster_bench import UNPINNED
from loadtests.cluster_plan import FAILOVER_DEADLINE_S, QUICK_FAILOVER, FailoverPlan
from loadtests.cluster_under_test import cluster_under_test
from loadtests.failover_report import event_line, make_failover_table
from loadtests.failover_results import Event, FailoverRun, write_failover_run
from loadtests.failover_scenarios import FailoverBench, prepare, run_events
from loadtests.load import LoadFailedError
from loadtests.results_file import describe_machine
from loadtests.run_failure import failure_text

PARTITIONS_MAX = 1024
EVENTS_MAX = 3


@dataclass(slots=True)
class _Outcome:
    load_before: float
    etcd_storage: str = "unknown"
    created_s: float = 0.0
    events: list[Event] = field(default_factory=list)
    failure: str = ""


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Few partitions and one kill.")] = False,
    partitions: Annotated[int | None, typer.Option(min=3, max=PARTITIONS_MAX, help="Of all topics.")] = None,
    topics: Annotated[int | None, typer.Option(min=1, max=100, help="How many topics have them.")] = None,
    kills: Annotated[int | None, typer.Option(min=0, max=EVENTS_MAX, help="Nodes that are killed.")] = None,
    stops: Annotated[int | None, typer.Option(min=0, max=EVENTS_MAX, help="Nodes that are stopped.")] = None,
    gateways: Annotated[int | None, typer.Option(min=1, max=2, help="Gateways.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all results there.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where to measure; default: a temporary directory.")] = None,
) -> None:
    """The exit code is 1 when the run did not come to its end. Missed targets are shown."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=REPORT_WIDTH)
    if json_file is not None and not json_file.resolve().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {json_file.parent}", param_hint="--json")
    plan = QUICK_FAILOVER if quick else FailoverPlan()
    asked = {"partitions": partitions, "topics": topics, "kills": kills, "stops": stops, "gateways": gateways}
    plan = replace(plan, **{name: value for name, value in asked.items() if value is not None})
    if plan.topics > plan.partitions:
        raise typer.BadParameter(f"{plan.topics} topics cannot share {plan.partitions} partitions")
    directory = Path(tempfile.mkdtemp(prefix="acklog-failover-bench-", dir=data_dir))
    outcome, started = _Outcome(load_before=os.getloadavg()[0]), perf_counter()
    if outcome.load_before > BUSY_LOAD:
        console.print(f"others use this machine: its load average is {outcome.load_before:.1f}", style="bold yellow")
    try:
        uvloop.run(_run(plan, directory, outcome, console))
    except (LoadFailedError, ServerFailedError, TimeoutError, ExceptionGroup) as error:
        outcome.failure = failure_text(error, deadline_s=FAILOVER_DEADLINE_S)
        console.print(outcome.failure, style="bold red", highlight=False, markup=False)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        if outcome.events:
            console.print(make_failover_table(outcome.events, etcd_storage=outcome.etcd_storage))
        if json_file is not None:
            write_failover_run(_whole_run(plan, outcome, perf_counter() - started), json_file)
    raise typer.Exit(1 if outcome.failure else 0)


async def _run(plan: FailoverPlan, directory: Path, outcome: _Outcome, console: Console) -> None:
    async with asyncio.timeout(FAILOVER_DEADLINE_S):
        async with cluster_under_test(directory, nodes=plan.nodes, gateways=plan.gateways) as cluster:
            outcome.etcd_storage = cluster.etcd_storage
            bench = FailoverBench(cluster, plan, _reporter(outcome, console))
            outcome.created_s = await prepare(bench)
            console.print(f"{plan.partitions:,} partitions took a write {outcome.created_s:.1f} s after their creation")
            await run_events(bench)


def _reporter(outcome: _Outcome, console: Console) -> Callable[[Event], None]:
    def report(event: Event) -> None:
        outcome.events.append(event)
        console.print(event_line(event), highlight=False, markup=False)

    return report


def _whole_run(plan: FailoverPlan, outcome: _Outcome, seconds: float) -> FailoverRun:
    return FailoverRun(
        machine=describe_machine(UNPINNED),
        plan=plan,
        date=datetime.now(UTC).date().isoformat(),
        seconds=round(seconds, 1),
        load_before=outcome.load_before,
        etcd_storage=outcome.etcd_storage,
        failure=outcome.failure,
        created_s=outcome.created_s,
        events=outcome.events,
    )


if __name__ == "__main__":
    typer.run(main)
