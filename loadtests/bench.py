"""`python -m loadtests.bench`: rates and latencies of Acklog beside the machine's limits, measured in the same run.

The servers are processes of their own; this process is the load. Where there are two processors, the load keeps to
one of them.
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
from loadtests import reading_scenarios, scenarios, sdk_scenarios
from loadtests.bench_server import all_servers
from loadtests.load import LoadFailedError
from loadtests.plan import DEADLINE_S, QUICK, SCENARIOS, Cpus, Plan, share_cpus
from loadtests.report import make_table
from loadtests.result import Result
from loadtests.results_file import Run, describe_machine, write_run
from loadtests.run_failure import failure_text
from loadtests.scenarios import Bench

REPORT_WIDTH = 220  # where there is no terminal that has one
ROUNDS_MAX = 5
BUSY_LOAD = 0.5


@dataclass(slots=True)
class _Outcome:
    load_before: float
    results: list[Result] = field(default_factory=list)
    failure: str = ""

    @property
    def failed_requests(self) -> int:
        return sum(result.errors for result in self.results)


def main(
    quick: Annotated[bool, typer.Option("--quick", help="A short run, for orders of magnitude.")] = False,
    only: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(SCENARIOS)}; may be repeated.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, max=ROUNDS_MAX, help="How often each is measured.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all results there.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where to measure; default: a temporary directory.")] = None,
) -> None:
    """The exit code is 1 when requests failed: rates of a failing server mean nothing. Missed targets are shown."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=REPORT_WIDTH)
    if json_file is not None and not json_file.resolve().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {json_file.parent}", param_hint="--json")
    plan, cpus = chosen_plan(quick, only or [], rounds), share_cpus()
    if cpus.client is not None:
        os.sched_setaffinity(0, cpus.client)
    directory = Path(tempfile.mkdtemp(prefix="acklog-bench-", dir=data_dir))
    outcome, started = _Outcome(load_before=os.getloadavg()[0]), perf_counter()
    if outcome.load_before > BUSY_LOAD:
        console.print(f"others use this machine: its load average is {outcome.load_before:.1f}", style="bold yellow")
    gc.disable()  # a collection would show up as the server's latency; memory is bounded by the plan
    try:
        uvloop.run(_run(plan, cpus, directory, outcome, console))
    except (LoadFailedError, ServerFailedError, TimeoutError, ExceptionGroup) as error:
        outcome.failure = failure_text(error, deadline_s=DEADLINE_S)
        console.print(outcome.failure, style="bold red", highlight=False, markup=False)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        if outcome.results:
            console.print(make_table(outcome.results))
        if json_file is not None:
            write_run(_whole_run(plan, cpus, outcome, perf_counter() - started), json_file)
    raise typer.Exit(1 if outcome.failure or outcome.failed_requests else 0)


def chosen_plan(quick: bool, only: list[str], rounds: int | None) -> Plan:
    """Raises typer.BadParameter."""
    plan = QUICK if quick else Plan()
    for name in only:
        if name not in SCENARIOS:
            raise typer.BadParameter(f"there is no scenario {name!r}; there are {', '.join(SCENARIOS)}")
    if only:
        plan = replace(plan, scenarios=tuple(name for name in SCENARIOS if name in only))
    if rounds is not None:
        plan = replace(plan, rounds=rounds)
    if plan.planned_s() > DEADLINE_S:
        raise typer.BadParameter(f"that takes {plan.planned_s():.0f} s, and a run may take {DEADLINE_S:.0f} s")
    return plan


async def _run(plan: Plan, cpus: Cpus, directory: Path, outcome: _Outcome, console: Console) -> None:
    async with asyncio.timeout(DEADLINE_S):
        async with all_servers(directory, cpus) as servers:
            bench = Bench(servers, directory, plan, cpus, _reporter(outcome, console))
            await _scenarios(bench)


async def _scenarios(bench: Bench) -> None:
    chosen = bench.plan.scenarios
    if "machine" in chosen:
        scenarios.machine(bench)
    if "singles" in chosen:
        await scenarios.singles(bench)
    if "open-loop" in chosen:
        await scenarios.open_loops(bench)
    if "batches" in chosen:
        await scenarios.batches(bench)
    if "burst" in chosen:
        await scenarios.burst(bench)
    if {"receives", "records", "sdk"} & set(chosen):
        await reading_scenarios.fill(bench)
    if "receives" in chosen:
        await reading_scenarios.receives(bench)
    if "records" in chosen:
        await reading_scenarios.records(bench)
    if "sdk" in chosen:
        await sdk_scenarios.sdk(bench)


def _reporter(outcome: _Outcome, console: Console) -> Callable[[Result], None]:
    def report(result: Result) -> None:
        outcome.results.append(result)
        console.print(f"{result.name}: {result.value:,.1f} {result.unit}", highlight=False, markup=False)
        gc.collect()

    return report


def _whole_run(plan: Plan, cpus: Cpus, outcome: _Outcome, seconds: float) -> Run:
    date = datetime.now(UTC).date().isoformat()
    return Run(
        machine=describe_machine(cpus),
        plan=plan,
        date=date,
        seconds=round(seconds, 1),
        load_before=outcome.load_before,
        failure=outcome.failure,
        results=outcome.results,
    )


if __name__ == "__main__":
    typer.run(main)
