"""Results of a cluster as tables for a person at a terminal."""

from collections.abc import Sequence

from rich.table import Table

from loadtests.cluster_results import ClusterResult
from loadtests.cluster_scenarios import EMBEDDED
from loadtests.wording import low_to_high, milliseconds, number, ratios

RATE_COLUMNS = ("median", "low–high", "p50 ms", "p99 ms", "p99.9 ms", "late p99", "errors")


def make_cluster_tables(results: Sequence[ClusterResult], *, etcd_storage: str) -> list[Table]:
    """What was reached, and what it cost. None without results."""
    return [_rates(results, etcd_storage), _costs(results)] if results else []


def _rates(results: Sequence[ClusterResult], etcd_storage: str) -> Table:
    table = Table(title=f"A cluster beside the embedded server (etcd's data on {etcd_storage})", title_justify="left")
    table.add_column("measured", max_width=40)
    for name in RATE_COLUMNS:
        table.add_column(name, justify="right")
    table.add_column("ratio")
    table.add_column("target")
    for each in results:
        result = each.result
        late = "" if result.lateness is None else milliseconds(result.lateness.p99_ms)
        table.add_row(
            result.name,
            f"{number(result.value)} {result.unit}",
            low_to_high(result.spread),
            milliseconds(result.p50_ms),
            milliseconds(result.p99_ms),
            milliseconds(result.p999_ms),
            late,
            f"{result.errors:,}" if result.errors else "",
            "\n".join(ratios(result)),
            _verdict(each),
        )
    return table


def _verdict(each: ClusterResult) -> str:
    result = each.result
    lines = [result.target_text] if result.target_text else []
    if result.is_met is not None:
        lines.append("[green]met[/green]" if result.is_met else "[bold red]missed[/bold red]")
    return "\n".join([*lines, *(f"[yellow]{warning}[/yellow]" for warning in result.warnings)])


def roles_of(results: Sequence[ClusterResult]) -> list[str]:
    """All roles of the results, in their order."""
    return list(dict.fromkeys(cost.role for each in results for cost in each.costs))


def cost_cells(each: ClusterResult, roles: Sequence[str]) -> list[str]:
    """CPU per message of each role, in microseconds, and then the embedded server's."""
    found = {cost.role: cost.cpu_us_per_message for cost in each.costs}
    return [*(_microseconds(found.get(role)) for role in roles), _microseconds(each.embedded_cpu_us)]


def _microseconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


def _costs(results: Sequence[ClusterResult]) -> Table:
    table = Table(title="CPU per message, µs; of all processes of a role together", title_justify="left")
    table.add_column("measured", max_width=40)
    roles = roles_of(results)
    for role in [*roles, EMBEDDED]:
        table.add_column(role, justify="right")
    for each in results:
        table.add_row(each.result.name, *cost_cells(each, roles))
    return table
