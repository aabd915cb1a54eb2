"""Results as a table for a person at a terminal."""

from collections.abc import Sequence

from rich.table import Table

from loadtests.process_usage import MIB
from loadtests.result import Result
from loadtests.wording import low_to_high, milliseconds, number, ratios, share

COLUMNS = (
    "median",
    "low–high",
    "p50 ms",
    "p99 ms",
    "p99.9 ms",
    "late p99",
    "server CPU",
    "per CPU s",
    "client CPU",
    "RSS, peak MiB",
    "errors",
)


def make_table(results: Sequence[Result]) -> Table:
    """Rounds as median and range, percentiles over all rounds together."""
    table = Table(title="Acklog beside the machine's limits", title_justify="left")
    table.add_column("measured", max_width=34)
    for name in COLUMNS:
        table.add_column(name, justify="right")
    table.add_column("ratio to limit")
    table.add_column("target")
    for result in results:
        table.add_row(*_cells(result), style=None if result.limits else "dim")
    return table


def _cells(result: Result) -> list[str]:
    return [
        result.name,
        f"{number(result.value)} {result.unit}",
        low_to_high(result.spread),
        milliseconds(result.p50_ms),
        milliseconds(result.p99_ms),
        milliseconds(result.p999_ms),
        "" if result.lateness is None else milliseconds(result.lateness.p99_ms),
        share(result.server_cpu_s, result.wall_s),
        "" if result.per_cpu_s is None else number(result.per_cpu_s),
        share(result.client_cpu_s, result.wall_s),
        _memory(result),
        f"{result.errors:,}" if result.errors else "",
        "\n".join(ratios(result)),
        _verdict(result),
    ]


def _memory(result: Result) -> str:
    if not result.server_resident_bytes:
        return ""
    return f"{result.server_resident_bytes / MIB:.0f}, {result.server_peak_bytes / MIB:.0f}"


def _verdict(result: Result) -> str:
    lines = [result.target_text] if result.target_text else []
    if result.is_met is not None:
        lines.append("[green]met[/green]" if result.is_met else "[bold red]missed[/bold red]")
    return "\n".join([*lines, *(f"[yellow]{warning}[/yellow]" for warning in result.warnings)])
