"""`python -m loadtests.render_cluster [--cluster RESULTS.json] [--failover RESULTS.json]`: writes the results of
`make cluster-bench` and of `make failover-bench` into docs/benchmarks.md, each between its own markers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import typer

from loadtests.cluster_report import cost_cells, roles_of
from loadtests.cluster_results import ClusterResult, ClusterRun, read_cluster_run
from loadtests.cluster_scenarios import EMBEDDED
from loadtests.failover_report import COLUMNS as FAILOVER_COLUMNS
from loadtests.failover_report import event_cells, event_name, target_text
from loadtests.failover_results import FailoverRun, read_failover_run
from loadtests.markdown import markdown_table, provenance
from loadtests.render import REPOSITORY
from loadtests.wording import low_to_high, milliseconds, number, ratios

RATE_COLUMNS = ("measured", "median", "lowest–highest", "ratio", "p50 ms", "p99 ms", "p99.9 ms")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page that a program writes, between two markers."""

    name: str

    @property
    def begin(self) -> str:
        return f"<!-- {self.name}: written by python -m loadtests.render_cluster -->"

    @property
    def end(self) -> str:
        return f"<!-- {self.name}: end of what loadtests.render_cluster writes -->"

    def replaced(self, page: str, text: str) -> str:
        """The page with this text between the markers. Raises ValueError when it does not have both, once."""
        before, begin, rest = page.partition(self.begin)
        _, end, after = rest.partition(self.end)
        if not begin or not end or self.begin in after:
            raise ValueError(f"benchmarks.md must have {self.begin} and {self.end}, once")
        return f"{before}{self.begin}\n\n{text}\n{self.end}{after}"


_Run = TypeVar("_Run", ClusterRun, FailoverRun)

CLUSTER, FAILOVER = Section("cluster-bench"), Section("failover-bench")


def main(
    cluster: Annotated[Path | None, typer.Option(help="What `make cluster-bench ARGS='--json FILE'` wrote.")] = None,
    failover: Annotated[Path | None, typer.Option(help="What `make failover-bench ARGS='--json FILE'` wrote.")] = None,
    docs: Annotated[Path, typer.Option(help="The folder with benchmarks.md.")] = REPOSITORY / "docs",
) -> None:
    """The exit code is 1 when a file is none of a whole run, or benchmarks.md has no markers."""
    if cluster is None and failover is None:
        raise typer.BadParameter("there is nothing to write: give --cluster or --failover")
    page = docs / "benchmarks.md"
    try:
        text = page.read_text()
        if cluster is not None:
            text = CLUSTER.replaced(text, cluster_section(_whole(read_cluster_run(cluster))))
        if failover is not None:
            text = FAILOVER.replaced(text, failover_section(_whole(read_failover_run(failover))))
    except (OSError, ValueError, msgspec.DecodeError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    page.write_text(text)
    typer.echo(f"{page.name} shows these runs")


def _whole(run: _Run) -> _Run:
    """Raises ValueError for a run that failed."""
    if run.failure:
        raise ValueError(f"that run failed: {run.failure}")
    return run


def cluster_section(run: ClusterRun) -> str:
    plan = run.plan
    gateways = "1 gateway" if plan.gateways == 1 else f"{plan.gateways} gateways"
    where = f"{plan.nodes} nodes, {gateways}, etcd's data on {run.etcd_storage}"
    roles = roles_of(run.results)
    parts = [
        provenance(run.machine, date=run.date, rounds=plan.rounds, seconds=run.seconds, load_before=run.load_before),
        f"{where}.\n",
        markdown_table(RATE_COLUMNS, [_row(each) for each in run.results]),
        _targets(run.results),
        "CPU per message in µs, of all processes of a role together, warm-ups included:\n",
        markdown_table(
            ["measured", *roles, EMBEDDED], [[each.result.name, *cost_cells(each, roles)] for each in run.results]
        ),
    ]
    return "\n".join(part for part in parts if part)


def _row(each: ClusterResult) -> list[str]:
    result = each.result
    return [
        result.name,
        f"{number(result.value)} {result.unit}",
        low_to_high(result.spread),
        "<br>".join(ratios(result)),
        milliseconds(result.p50_ms),
        milliseconds(result.p99_ms),
        milliseconds(result.p999_ms),
    ]


def _targets(results: Sequence[ClusterResult]) -> str:
    """What was aimed at, and what a number is to be read with."""
    rows = [
        [each.name, each.target_text, f"{number(each.value)} {each.unit}", "met" if each.is_met else "**missed**"]
        for each in (result.result for result in results)
        if each.is_met is not None
    ]
    notes = "".join(f"\n{each.result.name}: {warning}.\n" for each in results for warning in each.result.warnings)
    return (markdown_table(("target", "aim", "reached", ""), rows) if rows else "") + notes


def failover_section(run: FailoverRun) -> str:
    plan = run.plan
    several = f" in {plan.topics} topics" if plan.topics > 1 else ""
    what = f"{plan.partitions:,} partitions{several} on {plan.nodes} nodes, etcd's data on {run.etcd_storage}"
    rows = [[event_name(event), *event_cells(event), "met" if event.is_met else "**missed**"] for event in run.events]
    parts = [
        provenance(run.machine, date=run.date, rounds=1, seconds=run.seconds, load_before=run.load_before),
        f"{what}; every partition had taken a write {run.created_s:.1f} s after its creation was asked for. "
        f"Aim: {target_text()}.\n",
        markdown_table(["what happened", *FAILOVER_COLUMNS, "aim"], rows),
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    typer.run(main)
