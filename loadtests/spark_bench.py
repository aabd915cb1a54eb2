"""`python -m loadtests.spark_bench`: how fast Spark reads topics, beside a bare client and beside Parquet, and what an
export at a fixed rate does to a live group. Needs Java 17; the server, Spark and the load share the machine."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
import uvloop
from pyspark.sql import SparkSession
from rich.console import Console

from acklog.command.failures import CommandError
from acklog_spark.sessions import open_session
from examples.server_process import ServerFailedError
from loadtests.bench_server import acklog_server
from loadtests.kafka_broker import connector_jars, kafka_broker
from loadtests.load import LoadFailedError
from loadtests.plan import Cpus
from loadtests.report import make_table
from loadtests.result import Result
from loadtests.results_file import Machine, describe_machine, write_run
from loadtests.run_failure import failure_text
from loadtests.spark_live import live
from loadtests.spark_plan import DEADLINE_S, QUICK, SCENARIOS, SparkPlan
from loadtests.spark_scenarios import SparkBench, fill, reads

REPORT_WIDTH = 180
ROUNDS_MAX = 5
NO_CPUS = Cpus(server=None, client=None)  # Spark, the server and the load share what there is, as on one machine


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRun:
    """As `loadtests.results_file.Run`."""

    machine: Machine
    plan: SparkPlan
    date: str
    seconds: float
    load_before: float
    failure: str = ""
    results: list[Result] = field(default_factory=list)


def main(
    quick: Annotated[bool, typer.Option("--quick", help="A short run, for orders of magnitude.")] = False,
    only: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(SCENARIOS)}; may be repeated.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, max=ROUNDS_MAX, help="How often each is measured.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all results there.")] = None,
    kafka_jars: Annotated[Path | None, typer.Option(help="Kafka's jars, to measure it beside us.")] = None,
) -> None:
    """The exit code is 1 when something failed. Missed targets are shown."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=REPORT_WIDTH)
    plan = chosen_plan(QUICK if quick else SparkPlan(), only or [], rounds)
    results: list[Result] = []
    failure, load_before, started = "", os.getloadavg()[0], perf_counter()

    def report(result: Result) -> None:
        results.append(result)
        console.print(f"{result.name}: {result.value:,.1f} {result.unit}", highlight=False, markup=False)

    settings = {} if kafka_jars is None else {"spark.jars": connector_jars(kafka_jars)}
    directory = Path(tempfile.mkdtemp(prefix="acklog-spark-bench-"))
    try:
        spark = open_session("acklog-bench", master=f"local[{plan.tasks}]", settings=settings, is_quiet=True)
        try:
            uvloop.run(_run(plan, spark, directory, report, kafka_jars))
        finally:
            spark.stop()
    except (CommandError, LoadFailedError, ServerFailedError, TimeoutError, ExceptionGroup) as error:
        failure = failure_text(error, deadline_s=DEADLINE_S)
        console.print(failure, style="bold red", highlight=False, markup=False)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if results:
        console.print(make_table(results))
    if json_file is not None:
        run = SparkRun(
            machine=describe_machine(NO_CPUS),
            plan=plan,
            date=datetime.now(UTC).date().isoformat(),
            seconds=round(perf_counter() - started, 1),
            load_before=load_before,
            failure=failure,
            results=results,
        )
        write_run(run, json_file)
    raise typer.Exit(1 if failure else 0)


def chosen_plan(plan: SparkPlan, only: list[str], rounds: int | None) -> SparkPlan:
    """Raises typer.BadParameter."""
    for name in only:
        if name not in SCENARIOS:
            raise typer.BadParameter(f"there is no scenario {name!r}; there are {', '.join(SCENARIOS)}")
    if only:
        plan = replace(plan, scenarios=tuple(name for name in SCENARIOS if name in only))
    return plan if rounds is None else replace(plan, rounds=rounds)


async def _run(
    plan: SparkPlan, spark: SparkSession, directory: Path, report: Callable[[Result], None], kafka_jars: Path | None
) -> None:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(asyncio.timeout(DEADLINE_S))
        server = await stack.enter_async_context(acklog_server(directory, NO_CPUS))
        kafka = None
        if kafka_jars is not None:
            kafka = (await stack.enter_async_context(kafka_broker(kafka_jars, directory / "kafka"))).address
        bench = SparkBench(spark, server, directory, plan, report, kafka)
        if "small" in plan.scenarios:
            await reads(bench, await fill(bench, plan.small))
        if {"large", "live"} & set(plan.scenarios):
            large = await fill(bench, plan.large)
        if "large" in plan.scenarios:
            await reads(bench, large)
        if "live" in plan.scenarios:
            await live(bench, large)


if __name__ == "__main__":
    typer.run(main)
