"""Failovers as a table for a person at a terminal."""

from collections.abc import Sequence

from rich.table import Table

from loadtests.failover_results import MEDIAN_TARGET_S, WORST_TARGET_S, Event, EventKind

COLUMNS = (
    "partitions led",
    "median s",
    "worst s",
    "tries that failed",
    "ended after s",
    "ready after s",
    "in sync after s",
    "other writes",
    "failed",
    "p99 ms",
)


def make_failover_table(events: Sequence[Event], *, etcd_storage: str) -> Table:
    """`median` and `worst` are over the partitions that the node led."""
    table = Table(title=f"Nodes that go (etcd's data on {etcd_storage})", title_justify="left")
    table.add_column("what happened")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    table.add_column("target")
    for event in events:
        verdict = "[green]met[/green]" if event.is_met else "[bold red]missed[/bold red]"
        table.add_row(event_name(event), *event_cells(event), f"{target_text()}\n{verdict}")
    return table


def target_text() -> str:
    return f"median < {MEDIAN_TARGET_S:g} s, worst < {WORST_TARGET_S:g} s"


def event_name(event: Event) -> str:
    who = f"node {event.node}, the controller" if event.was_controller else f"node {event.node}"
    return f"{event.kind.value} of {who}"


def event_cells(event: Event) -> list[str]:
    return [
        f"{event.partitions_led:,}",
        f"{event.median_s:.2f}",
        f"{event.worst_s:.2f}",
        ", ".join(f"{count:,} × {failure}" for failure, count in event.failures.items()),
        f"{event.away_s:.2f}",
        f"{event.ready_s:.2f}",
        f"{event.in_sync_s:.2f}",
        f"{event.steady_answers:,}",
        f"{event.steady_errors:,}",
        "" if event.steady_p99_ms is None else f"{event.steady_p99_ms:.0f}",
    ]


def event_line(event: Event) -> str:
    """What is printed as soon as it is over."""
    what = "the next acknowledged write" if event.kind is EventKind.KILL else "the slowest write"
    return (
        f"{event_name(event)}: {event.partitions_led:,} partitions, {what} after {event.median_s:.2f} s (median), "
        f"{event.worst_s:.2f} s (worst); in sync {event.in_sync_s:.1f} s after its start"
    )
