"""Acks, nacks and extensions of many messages: where receipts come from, and what became of each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from acklog.command.exit_codes import ExitCode
from acklog.command.failures import CommandError, ShownFailure, UsageError, explain
from acklog.command.input_lines import input_lines
from acklog.command.session import Session
from acklog.command.views import Cell, Column, Table
from acklog.wire.limits import RECEIPTS_MAX

if TYPE_CHECKING:
    from acklog import AcklogError
    from acklog.messages import Settled

RECEIPTS_AT_ONCE = min(1000, RECEIPTS_MAX)


def receipts_from(session: Session, given: Sequence[str] | None) -> Iterator[str]:
    """The receipts given as arguments, or those of the lines of standard input. Raises UsageError."""
    if given:
        yield from given
        return
    stdin = session.surroundings.stdin
    if stdin.isatty():
        raise UsageError(
            "a receipt is missing",
            field="RECEIPT",
            hint="Give receipts, or pipe them: acklog receive TOPIC | acklog ack",
        )
    for line in input_lines(stdin):
        yield _receipt_of(line.content, line.number)


def settle_all(
    session: Session, receipts: Iterable[str], settle: "Callable[[list[str]], Sequence[Settled]]", *, done: str
) -> None:
    """Settle receipts in batches, and tell what became of each. Raises CommandError when some failed.

    `done` says what happened to those that did not fail.
    """
    total = failed = 0
    remaining = iter(receipts)
    while batch := list(islice(remaining, RECEIPTS_AT_ONCE)):
        total += len(batch)
        failed += report_settled(session, settled_each(batch, settle))
    if not total:
        raise UsageError("there was no receipt on standard input", field="RECEIPT")
    if failed:
        others = f"; the others are {done}" if failed < total else ""
        raise CommandError(f"{failed} of {total} failed{others}")


def settled_each(items: list[str], settle: "Callable[[list[str]], Sequence[Settled]]") -> "Sequence[Settled]":
    """A result for each, also where the server refuses all of a request for one of them."""
    from acklog.errors import InvalidMessageId, InvalidReceipt
    from acklog.messages import Settled

    try:
        return settle(items)
    except (InvalidReceipt, InvalidMessageId) as error:
        if len(items) == 1:
            return [Settled(items[0], None, error)]
    return [settled for item in items for settled in settled_each([item], settle)]


def report_settled(session: Session, settled: "Sequence[Settled]") -> int:
    """Show what became of each; returns how many failed. Failures are told on standard error, too."""
    output = session.output
    failures = [(each.receipt, _explained(each.error)) for each in settled if each.error is not None]
    if output.is_json:
        for each in settled:
            output.show_item(_document(each))
    else:
        rows = [
            [Cell(each.receipt, "muted"), Cell(each.status or "", "good")] for each in settled if each.error is None
        ]
        if rows:
            output.show_views(Table([Column("receipt"), Column("status")], rows))
        for receipt, failure in failures:
            output.complain(f"{receipt}: {failure.line()}")
        hints = dict.fromkeys(failure.hint for _, failure in failures if failure.hint)
        for hint in hints:
            output.complain(f"  {hint}")
    return len(failures)


def _document(settled: "Settled") -> dict[str, object]:
    name = "messageId" if settled.receipt.startswith("m-") else "receipt"
    if settled.error is None:
        return {name: settled.receipt, "status": settled.status}
    return {name: settled.receipt, **_explained(settled.error).document()}


def _explained(error: "AcklogError") -> ShownFailure:
    return explain(error) or ShownFailure(str(error), ExitCode.FAILED)


def _receipt_of(content: bytes, number: int) -> str:
    """The receipt of a line: alone, before a tab, or as a field of a JSON object."""
    text = content.decode(errors="replace").strip()
    if not text.startswith("{"):
        return text.split("\t", 1)[0].split(" ", 1)[0]
    try:
        receipt = msgspec.json.decode(content)["receipt"]
    except (msgspec.DecodeError, KeyError) as error:
        raise UsageError(f"line {number} has no receipt", field="RECEIPT") from error
    return str(receipt)
