"""`python -m examples.flights`: a year of flights through a server that is killed on the way, and verified."""

import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path

import typer
from rich.console import Console

from examples.flights.client import RequestRefusedError, ServerAwayError
from examples.flights.input_file import find_input
from examples.flights.options import Options
from examples.flights.progress import make_progress
from examples.flights.report import print_report, to_json
from examples.flights.run import DeadlineError, Outcome, run
from examples.flights.work import StalledError
from examples.server_process import ServerFailedError

EXIT_VIOLATED = 1
EXIT_NOT_FINISHED = 2
FAILURES = (
    DeadlineError,
    FileNotFoundError,
    RequestRefusedError,
    ServerAwayError,
    ServerFailedError,
    StalledError,
)


def main(
    messages: int | None = typer.Option(None, "--messages", min=1, help="Only the first N messages."),
    kills: int = typer.Option(2, "--kills", min=0, max=20, help="How often the server is killed on the way."),
    as_json: bool = typer.Option(False, "--json", help="Print the outcome as JSON."),
    keep: bool = typer.Option(False, "--keep", help="Keep the server's directory and say where it is."),
) -> None:
    """Send flights, consume them with two groups, kill the server on the way; then verify that nothing is lost,
    doubled or out of order. The exit code is 0 when every check held, 1 when one did not, 2 when the run did not
    finish."""
    console = Console(stderr=as_json)
    directory = Path(tempfile.mkdtemp(prefix="acklog-flights-"))
    try:
        outcome = _run(Options(messages=messages, kills=kills), directory, console)
    except FAILURES as error:
        console.print(f"[bold red]{type(error).__name__}:[/bold red] {error}", highlight=False)
        raise typer.Exit(EXIT_NOT_FINISHED) from None
    finally:
        if keep:
            console.print(f"kept: {directory}", highlight=False)
        else:
            shutil.rmtree(directory, ignore_errors=True)
    if as_json:
        sys.stdout.write(json.dumps(to_json(outcome), indent=2) + "\n")
    else:
        print_report(console, outcome)
    raise typer.Exit(0 if outcome.is_ok else EXIT_VIOLATED)


def _run(options: Options, directory: Path, console: Console) -> Outcome:
    source = find_input()
    console.print(f"flights from [bold]{source.name}[/bold]; the server keeps its data in {directory}", highlight=False)
    with make_progress(console) as progress:
        return asyncio.run(run(options, source, directory, progress))


if __name__ == "__main__":
    typer.run(main)
