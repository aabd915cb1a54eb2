"""`python -m loadtests.bench`: rates and latencies of Acklog beside the machine's limits, measured in the same run.

The server is a process of its own; this process is the load. Where there are two processors, each has one to itself.
"""

import asyncio
import gc
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from examples.server_process import ServerFailedError
from loadtests.bench_server import acklog_server
from loadtests.limits import Limits, measure_bare, measure_disk
from loadtests.load import LoadFailedError
from loadtests.plan import QUICK, Cpus, Plan, share_cpus
from loadtests.report import make_table, to_json
from loadtests.result import Result
from loadtests.scenarios import Bench, failures

DEADLINE_S = 300.0
REPORT_WIDTH = 200  # where there is no terminal that has one


def main(
    quick: Annotated[bool, typer.Option("--quick", help="A short run, for orders of magnitude.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all results there.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where to measure; default: a temporary directory.")] = None,
) -> None:
    """The exit code is 1 when requests failed: rates of a failing server mean nothing. Missed targets are shown."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=REPORT_WIDTH)
    plan, cpus = QUICK if quick else Plan(), share_cpus()
    if cpus.client is not None:
        os.sched_setaffinity(0, cpus.client)
    directory = Path(tempfile.mkdtemp(prefix="acklog-bench-", dir=data_dir))
    results: list[Result] = []
    gc.disable()  # a collection would show up as the server's latency; memory is bounded by the plan
    try:
        uvloop.run(_run(plan, cpus, directory, results, console))
    except (LoadFailedError, ServerFailedError, TimeoutError, ExceptionGroup) as error:
        console.print(f"[bold red]{type(error).__name__}:[/bold red] {_text_of(error)}", highlight=False)
        raise typer.Exit(1) from None
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        if results:
            console.print(make_table(results))
        if json_file is not None:
            json_file.write_text(json.dumps(to_json(results, plan, cpus), indent=2) + "\n")
    raise typer.Exit(1 if failures(results) else 0)


async def _run(plan: Plan, cpus: Cpus, directory: Path, results: list[Result], console: Console) -> None:
    def report(result: Result) -> None:
        results.append(result)
        console.print(f"{result.name}: {result.value:,.1f} {result.unit}", highlight=False)
        gc.collect()

    async with asyncio.timeout(DEADLINE_S):
        limits = Limits()
        report(measure_disk(directory, plan))
        for kind in ("asgi", "fastapi"):
            for result in await measure_bare(kind, directory, plan, cpus, limits):
                report(result)
        async with acklog_server(directory, cpus) as server:
            await Bench(server, directory, plan, cpus, limits, report).run()


def _text_of(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or f"not finished within {DEADLINE_S:.0f} s"


if __name__ == "__main__":
    typer.run(main)
