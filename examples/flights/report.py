"""What a run has shown: as tables for a person, or as JSON."""

import math

from rich.console import Console
from rich.table import Table

from examples.flights.run import Outcome
from examples.latencies import Latencies

GROUPS = 2


def print_report(console: Console, outcome: Outcome) -> None:
    console.print(_rates(outcome))
    console.print(_latencies(outcome))
    console.print(_checks(outcome))
    for finding in outcome.findings:
        for text in finding.examples:
            console.print(f"[red]{finding.name}:[/red] {text}")


def to_json(outcome: Outcome) -> dict[str, object]:
    statistics = outcome.statistics
    return {
        "isOk": outcome.is_ok,
        "messages": outcome.messages,
        "seconds": {
            "start": outcome.start_s,
            "sending": outcome.sending_s,
            "working": outcome.working_s,
            "verifying": outcome.verifying_s,
        },
        "messagesPerSecond": {
            "sent": _rate(outcome.messages, outcome.sending_s),
            "done": _rate(GROUPS * outcome.messages, outcome.working_s),
            "readBack": _rate(outcome.messages, outcome.verifying_s),
        },
        "restarts": [{"atStep": restart.at_steps, "seconds": restart.away_s} for restart in outcome.restarts],
        "deliveries": outcome.deliveries,
        "redeliveries": outcome.redeliveries,
        "staleReceipts": outcome.stale_receipts,
        "requestsCutOff": statistics.cut_off,
        "latenciesMs": {name: _latency_json(latencies) for name, latencies in _requests(outcome)},
        "checks": [
            {
                "name": finding.name,
                "isOk": finding.is_ok,
                "examined": finding.examined,
                "violations": finding.violations,
                "examples": finding.examples,
            }
            for finding in outcome.findings
        ],
    }


def _rates(outcome: Outcome) -> Table:
    table = Table(title="The run", title_justify="left")
    table.add_column("what")
    table.add_column("count", justify="right")
    table.add_column("seconds", justify="right")
    table.add_column("messages/s", justify="right")
    rows = [
        ("sent, durable, kills included", outcome.messages, outcome.sending_s),
        (f"done, over {GROUPS} groups, kills included", GROUPS * outcome.messages, outcome.working_s),
        ("read back and compared", outcome.messages, outcome.verifying_s),
    ]
    for name, count, seconds in rows:
        table.add_row(name, f"{count:,}", f"{seconds:.2f}", f"{_rate(count, seconds):,.0f}")
    table.add_row("delivered again", f"{outcome.redeliveries:,}", "", "")
    table.add_row("requests whose outcome was unknown", f"{outcome.statistics.cut_off:,}", "", "")
    table.add_row("first start", "1", f"{outcome.start_s:.2f}", "")
    for number, restart in enumerate(outcome.restarts, 1):
        table.add_row(f"kill -9 no. {number} until ready again", "1", f"{restart.away_s:.2f}", "")
    return table


def _latencies(outcome: Outcome) -> Table:
    table = Table(title="Requests", title_justify="left")
    table.add_column("request")
    for name in ("answered", "p50 ms", "p99 ms"):
        table.add_column(name, justify="right")
    for name, latencies in _requests(outcome):
        p50, p99 = latencies.percentiles_ms([50, 99])
        table.add_row(name, f"{len(latencies):,}", f"{p50:.1f}", f"{p99:.1f}")
    return table


def _checks(outcome: Outcome) -> Table:
    table = Table(title="Verified", title_justify="left")
    table.add_column("promise")
    table.add_column("examined", justify="right")
    table.add_column("violations", justify="right")
    table.add_column("")
    for finding in outcome.findings:
        verdict = "[green]ok[/green]" if finding.is_ok else "[bold red]FAILED[/bold red]"
        table.add_row(finding.name, f"{finding.examined:,}", f"{finding.violations:,}", verdict)
    return table


def _requests(outcome: Outcome) -> list[tuple[str, Latencies]]:
    statistics = outcome.statistics
    return [
        ("send", statistics.sends),
        ("receive", statistics.receives),
        ("acknowledge", statistics.acknowledgements),
    ]


def _latency_json(latencies: Latencies) -> dict[str, object]:
    p50, p99 = (None if math.isnan(value) else value for value in latencies.percentiles_ms([50, 99]))
    return {"count": len(latencies), "p50": p50, "p99": p99}


def _rate(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0
