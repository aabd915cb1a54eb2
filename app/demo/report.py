"""What a run has shown: for a person, and as JSON."""

from acklog.command.latencies import Latencies
from acklog.command.quantities import count_text
from acklog.command.views import Cell, Column, Fields, Sentence, Table, View
from app.demo.killer import VictimRestart
from app.demo.outcome import RunOutcome


def document(outcome: RunOutcome) -> dict[str, object]:
    """For --json."""
    return {
        "isOk": outcome.is_ok,
        "input": outcome.source,
        "messages": outcome.messages,
        "seconds": {
            "start": outcome.start_s,
            "sending": outcome.sending_s,
            "working": outcome.working_s,
            "verifying": outcome.verifying_s,
        },
        "messagesPerSecond": {
            "sent": outcome.sent_per_s,
            "done": outcome.done_per_s,
            "readBack": outcome.read_per_s,
        },
        "kills": [
            {
                "atStep": restart.at_steps,
                "readySeconds": restart.away_s,
                "resumedSeconds": restart.resumed_s,
                "victim": restart.victim or "the server",
                "waitedSeconds": restart.waited_s,
            }
            for restart in outcome.restarts
        ],
        "deliveries": outcome.deliveries,
        "redeliveries": outcome.redeliveries,
        "staleReceipts": outcome.stale_receipts,
        "requestsCutOff": outcome.statistics.cut_off,
        "latenciesMs": {name: _latency_document(latencies) for name, latencies in _requests(outcome)},
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


def views(outcome: RunOutcome) -> list[View]:
    """Every promise, what was seen of broken ones, and the run in numbers."""
    broken: list[View] = [
        Sentence(f"{finding.name}: {text}", "bad") for finding in outcome.findings for text in finding.examples
    ]
    return [_promises(outcome), *broken, Sentence(""), _summary(outcome)]


def _promises(outcome: RunOutcome) -> Table:
    columns = [
        Column("promise"),
        Column("examined", align="right"),
        Column("violations", align="right"),
        Column("", may_wrap=False),
    ]
    rows: list[list[Cell | str]] = [
        [
            finding.name,
            f"{finding.examined:,}",
            Cell(f"{finding.violations:,}", "bad" if finding.violations else "muted"),
            Cell("held", "good") if finding.is_ok else Cell("BROKEN", "bad"),
        ]
        for finding in outcome.findings
    ]
    return Table(columns, rows)


def _summary(outcome: RunOutcome) -> Fields:
    rows: list[tuple[str, Cell | str]] = [
        ("promises", _verdict(outcome)),
        ("sent, on disk", _rate_text(outcome.messages, outcome.sending_s, outcome.sent_per_s)),
        ("done", _rate_text(outcome.groups * outcome.messages, outcome.working_s, outcome.done_per_s)),
        ("read back", _rate_text(outcome.messages, outcome.verifying_s, outcome.read_per_s)),
    ]
    rows += [(f"kill -9 no. {number}", _restart_text(restart)) for number, restart in enumerate(outcome.restarts, 1)]
    rows.append(("cut off", f"{count_text(outcome.statistics.cut_off, 'request')}, and tried again by the SDK"))
    again = f"{count_text(outcome.redeliveries, 'message')} that nobody had acknowledged"
    rows.append(("came again", again))
    rows += [(f"{name} ms", _latency_text(latencies)) for name, latencies in _requests(outcome) if latencies.count]
    rows.append(("sent + done /s", f"{outcome.timeline.text()}  (a column is {outcome.timeline.column_s:.1f} s)"))
    return Fields(rows, title=f"{outcome.messages:,} flights, {count_text(len(outcome.restarts), 'kill')}")


def _restart_text(restart: VictimRestart) -> str:
    if restart.waited_s is None:
        return f"ready again after {restart.away_s:.2f} s, at work again after {restart.resumed_s:.2f} s"
    waited = f"no partition waited longer than {restart.waited_s:.2f} s"
    return f"{restart.victim}: {waited} (back after {restart.away_s:.1f} s)"


def _verdict(outcome: RunOutcome) -> Cell:
    total = len(outcome.findings)
    if outcome.is_ok:
        return Cell(f"all {total} held", "good")
    return Cell(f"{total - outcome.held} of {total} BROKEN", "bad")


def _rate_text(count: int, seconds: float, rate: float) -> str:
    return f"{count:,} in {seconds:.2f} s: {rate:,.0f}/s"


def _latency_text(latencies: Latencies) -> str:
    p50, p99 = (latencies.percentile_ms(percent) for percent in (50, 99))
    return f"p50 {p50:.1f}, p99 {p99:.1f}, max {latencies.greatest_ms:.1f} ({count_text(latencies.count, 'request')})"


def _latency_document(latencies: Latencies) -> dict[str, object]:
    if not latencies.count:
        return {"count": 0, "p50": None, "p99": None, "max": None}
    p50, p99 = (latencies.percentile_ms(percent) for percent in (50, 99))
    return {"count": latencies.count, "p50": p50, "p99": p99, "max": latencies.greatest_ms}


def _requests(outcome: RunOutcome) -> list[tuple[str, Latencies]]:
    statistics = outcome.statistics
    return [
        ("send", statistics.sends),
        ("receive", statistics.receives),
        ("acknowledge", statistics.acknowledgements),
    ]
