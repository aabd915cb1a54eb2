"""Results as a table for a person, and as JSON."""

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict

from rich.table import Table

from loadtests.plan import Cpus, Plan
from loadtests.process_usage import MIB
from loadtests.result import Result

COLUMNS = (
    "result",
    "limit",
    "ratio",
    "p50 ms",
    "p99 ms",
    "p99.9 ms",
    "server CPU",
    "per CPU s",
    "client CPU",
    "RSS MiB",
    "errors",
)


def make_table(results: Sequence[Result]) -> Table:
    table = Table(title="Acklog beside the machine's limits", title_justify="left")
    table.add_column("measured")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    table.add_column("target")
    for result in results:
        table.add_row(*_cells(result), style=None if result.limit else "dim")
    return table


def to_json(results: Sequence[Result], plan: Plan, cpus: Cpus) -> dict[str, object]:
    return {
        "machine": {
            "system": platform.platform(),
            "python": platform.python_version(),
            "processors": os.cpu_count(),
            "serverPinnedTo": sorted(cpus.server or ()),
            "clientPinnedTo": sorted(cpus.client or ()),
        },
        "plan": asdict(plan),
        "results": [{**asdict(result), "ratio": result.ratio, "per_cpu_s": result.per_cpu_s} for result in results],
    }


def _cells(result: Result) -> list[str]:
    target = result.target_text
    if result.is_met is not None:
        target += "  [green]met[/green]" if result.is_met else "  [bold red]missed[/bold red]"
    return [
        result.name,
        f"{_number(result.value)} {result.unit}",
        "" if result.limit is None else _number(result.limit),
        "" if result.ratio is None else f"{result.ratio:.2f}",
        _milliseconds(result.p50_ms),
        _milliseconds(result.p99_ms),
        _milliseconds(result.p999_ms),
        _share(result.server_cpu_s, result.wall_s),
        "" if result.per_cpu_s is None else _number(result.per_cpu_s),
        _share(result.client_cpu_s, result.wall_s),
        f"{result.server_resident_bytes / MIB:.0f}" if result.server_resident_bytes else "",
        f"{result.errors:,}" if result.errors else "",
        target,
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _share(cpu_s: float, wall_s: float) -> str:
    return f"{cpu_s / wall_s:.0%}" if cpu_s and wall_s else ""
