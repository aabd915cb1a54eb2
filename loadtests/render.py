"""`python -m loadtests.render RESULTS.json`: writes the results of `make bench` into docs/benchmarks.md, between its
markers, and its plots into docs/images."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from loadtests.markdown import markdown_table, provenance
from loadtests.plots import draw_latencies, draw_rates
from loadtests.process_usage import MIB
from loadtests.result import Result
from loadtests.results_file import Run, read_run
from loadtests.wording import low_to_high, milliseconds, number, ratios, share

REPOSITORY = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- written by python -m loadtests.render -->", "<!-- end of what loadtests.render writes -->"
COLUMNS = ("measured", "median", "lowest–highest", "ratio to limit", "p50 ms", "p99 ms", "p99.9 ms")
COST_COLUMNS = (
    "measured",
    "server CPU",
    "rate per CPU second",
    "client CPU",
    "server memory",
    "at most",
    "late p99 ms",
)
RATES_IMAGE, LATENCIES_IMAGE = "images/bench-rates.svg", "images/bench-latencies.svg"


def main(
    results: Annotated[Path, typer.Argument(help="What `make bench ARGS='--json FILE'` wrote.")],
    docs: Annotated[Path, typer.Option(help="The folder with benchmarks.md and images.")] = REPOSITORY / "docs",
) -> None:
    """The exit code is 1 when the file is none of a whole run, or benchmarks.md has no markers."""
    try:
        run = read_run(results)
        if run.failure:
            raise ValueError(f"that run failed: {run.failure}")
        page = docs / "benchmarks.md"
        text = with_results(page.read_text(), run)
    except (OSError, ValueError, msgspec.DecodeError) as error:
        typer.echo(f"{results}: {error}", err=True)
        raise typer.Exit(1) from None
    draw_rates(run.results, docs / RATES_IMAGE)
    draw_latencies(run.results, docs / LATENCIES_IMAGE)
    page.write_text(text)
    typer.echo(f"{page.name}, {RATES_IMAGE} and {LATENCIES_IMAGE} show the run of {run.date}")


def with_results(page: str, run: Run) -> str:
    """The page with this run between the markers. Raises ValueError when it does not have both, once."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after:
        raise ValueError(f"benchmarks.md must have {BEGIN} and {END}, once")
    return f"{before}{BEGIN}\n\n{results_section(run)}\n{END}{after}"


def results_section(run: Run) -> str:
    parts = [
        provenance(
            run.machine, date=run.date, rounds=run.plan.rounds, seconds=run.seconds, load_before=run.load_before
        ),
        markdown_table(COLUMNS, [_row(result) for result in run.results]),
        _targets(run.results),
        f"![Rates of Acklog beside the machine's limits]({RATES_IMAGE})\n",
        f"![Latencies at fixed rates, by percentile]({LATENCIES_IMAGE})\n",
        "What the measurements cost, warm-ups included:\n",
        markdown_table(COST_COLUMNS, [_cost_row(result) for result in run.results if result.server_cpu_s]),
    ]
    return "\n".join(part for part in parts if part)


def _row(result: Result) -> list[str]:
    name = f"**{result.name}**" if result.limits else result.name
    return [
        name,
        f"{number(result.value)} {result.unit}",
        low_to_high(result.spread),
        "<br>".join(ratios(result)),
        milliseconds(result.p50_ms),
        milliseconds(result.p99_ms),
        milliseconds(result.p999_ms),
    ]


def _cost_row(result: Result) -> list[str]:
    late = "" if result.lateness is None else milliseconds(result.lateness.p99_ms)
    return [
        result.name,
        share(result.server_cpu_s, result.wall_s),
        "" if result.per_cpu_s is None else number(result.per_cpu_s),
        share(result.client_cpu_s, result.wall_s),
        f"{result.server_resident_bytes / MIB:.0f} MiB",
        f"{result.server_peak_bytes / MIB:.0f} MiB",
        late,
    ]


def _targets(results: Sequence[Result]) -> str:
    """A table of what was aimed at, and of what a number is to be read with."""
    rows = [
        [result.name, result.target_text, _reached(result), "met" if result.is_met else "**missed**"]
        for result in results
        if result.is_met is not None
    ]
    notes = "".join(f"\n{result.name}: {warning}.\n" for result in results for warning in result.warnings)
    return (markdown_table(("target", "aim", "reached", ""), rows) if rows else "") + notes


def _reached(result: Result) -> str:
    return result.reached_text or f"{number(result.value)} {result.unit}"


if __name__ == "__main__":
    typer.run(main)
