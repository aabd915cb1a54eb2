"""`acklog doctor`: look at a server and at this machine, and say what is wrong."""

from collections.abc import Iterator
from typing import Annotated

import typer

from acklog.command.certificate_check import certificate_check
from acklog.command.checkup import Check, CheckOutcome, skipped
from acklog.command.exit_codes import ExitCode
from acklog.command.machine_checks import machine_checks
from acklog.command.questions import QUESTION_S, QUESTIONS_S
from acklog.command.server_checks import ServerChecks
from acklog.command.session import Session, session_of
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Column, Sentence, Style, Table, View

command = CommandTyper(name="doctor")

_STYLES: dict[CheckOutcome, Style] = {
    CheckOutcome.OK: "good",
    CheckOutcome.WARN: "warning",
    CheckOutcome.FAIL: "bad",
    CheckOutcome.SKIPPED: "muted",
}


@command.command("doctor")
def doctor(
    context: typer.Context,
    data_dir: Annotated[
        str,
        typer.Option("--data-dir", metavar="DIRECTORY", help="Also look at a data directory's disk, on this machine."),
    ] = "",
) -> None:
    """Look at a server, its topics and groups, and at this machine; say what is wrong and what to do.

    Nothing is changed. With --data-dir a temporary file is written there to measure the disk, and removed. No answer is
    waited for longer than 5 seconds, and what did not come is said. Exit code 0: nothing is broken (there may be
    warnings), 1: something is.
    """
    session = session_of(context)
    checks: list[Check] = []
    with session.output.progress("Looking") as progress:
        for check in _checks(session, data_dir):
            checks.append(check)
            progress.advance()
            progress.describe(f"Looked at {check.name}")
    counts = {outcome: sum(check.outcome is outcome for check in checks) for outcome in CheckOutcome}
    document = {
        "server": session.server.url,
        "checks": [check.document() for check in checks],
        "counts": {outcome.value: count for outcome, count in counts.items()},
        "isHealthy": not counts[CheckOutcome.FAIL],
    }
    session.output.show(document, *_views(checks, counts))
    if counts[CheckOutcome.FAIL]:
        raise typer.Exit(ExitCode.FAILED)


def _checks(session: Session, data_dir: str) -> Iterator[Check]:
    from acklog import __version__

    began_ms = session.now_ms()
    with session.client(timeout_s_max=QUESTION_S) as client:
        yield from ServerChecks(
            client,
            url=session.server.url,
            has_token=session.server.token is not None,
            own_version=__version__,
            now_ms=session.now_ms,
            pause=session.pause,
            is_over=lambda: session.now_ms() - began_ms > QUESTIONS_S * 1000,
        ).run()
    if session.server.url.startswith("https:"):
        yield _certificate(session)
    yield from machine_checks(data_dir)


def _certificate(session: Session) -> Check:
    from acklog.errors import InvalidArgument

    try:
        found = session.surroundings.shown_certificate(session.server)
    except (OSError, InvalidArgument) as error:
        return skipped("certificate", f"it could not be looked at: {error}")
    return certificate_check(found, now_ms=session.now_ms())


def _views(checks: list[Check], counts: dict[CheckOutcome, int]) -> list[View]:
    rows: list[list[Cell | str]] = [
        [Cell(check.outcome.value, _STYLES[check.outcome]), check.name, check.finding] for check in checks
    ]
    columns = [Column(""), Column("check", style="strong", may_wrap=False), Column("finding")]
    advice = [Sentence(f"{check.name}: {check.advice}", _STYLES[check.outcome]) for check in checks if check.advice]
    return [Table(columns, rows), *advice, _verdict(counts)]


def _verdict(counts: dict[CheckOutcome, int]) -> Sentence:
    failed, warned = counts[CheckOutcome.FAIL], counts[CheckOutcome.WARN]
    if failed:
        return Sentence(f"{failed} broken, {warned} to look at.", "bad")
    if warned:
        return Sentence(f"Nothing is broken; {warned} to look at.", "warning")
    return Sentence("All is well.", "good")
