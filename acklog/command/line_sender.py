"""Sends a stream of lines through a producer, and reports each line's result in order.

The results are told by a thread of their own: `tail -f log | acklog send orders` shows the id of a line that was sent
although the next one has not come yet.
"""

import queue
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from acklog.command.failures import CommandError, UsageError
from acklog.command.input_lines import InputLine
from acklog.command.outgoing import MessageForm
from acklog.command.sent_view import name_of
from acklog.errors import AcklogError

if TYPE_CHECKING:
    from acklog.messages import OutgoingMessage, Sent

PENDING_LINES_MAX = 20_000

# Such a failure is a line's own; after any other, the lines behind it would fail as well.
_OF_THE_LINE = frozenset(
    {
        "INVALID_JSON",
        "INVALID_FIELD",
        "MISSING_FIELD",
        "UNKNOWN_FIELD",
        "INVALID_ARGUMENT",
        "MESSAGE_TOO_LARGE",
        "PARTITION_NOT_FOUND",
        "PARTITION_DECOMMISSIONED",
        "IDEMPOTENCY_KEY_REUSED",
    }
)


class PendingSend(Protocol):
    """What the SDK's producer returns. It has a deadline of its own."""

    def result(self, timeout_s: float | None = None) -> "Sent": ...


class BeginSend(Protocol):
    """Starts to send a message; the SDK's producer behind it waits while its buffer is full."""

    def __call__(self, message: "OutgoingMessage", /) -> PendingSend: ...


class Reporter(Protocol):
    """Told of each line in order, from one thread."""

    def sent(self, line_number: int, sent: "Sent") -> None: ...

    def failed(self, line_number: int, error: Exception) -> None:
        """The line is at fault; the others are not."""

    def given_up(self, line_number: int, error: Exception) -> None:
        """The line was not stored for a reason that the lines behind it share."""

    def caught_up(self) -> None:
        """Nothing more is to be told for the moment."""


@dataclass(slots=True)
class SendTotals:
    """`failed` lines were at fault themselves. `stopped_by` is the failure that made it pointless to go on,
    `stopped_at` its line; it and what was handed over behind it make up `given_up`."""

    sent: int = 0
    failed: int = 0
    given_up: int = 0
    first_id: str = ""
    last_id: str = ""
    stopped_by: Exception | None = None
    stopped_at: int = 0


class LineSender:
    """One run over a stream."""

    def __init__(self, send: BeginSend, form: MessageForm, reporter: Reporter) -> None:
        self._send = send
        self._form = form
        self._reporter = reporter
        self._results: queue.Queue[tuple[int, PendingSend | Exception] | None] = queue.Queue(PENDING_LINES_MAX)
        self._totals = SendTotals()
        self._broken: BaseException | None = None

    def run(self, lines: Iterable[InputLine]) -> SendTotals:
        """Send every line; returns when each has its result. Raises what the reporter raised."""
        thread = threading.Thread(target=self._report_all, name="acklog-send-results", daemon=True)
        thread.start()
        try:
            for line in lines:
                if self._broken is not None or self._totals.stopped_by is not None:
                    break
                self._results.put((line.number, self._start(line)))
        finally:
            self._results.put(None)
            thread.join()
        if self._broken is not None:
            raise self._broken
        return self._totals

    def _start(self, line: InputLine) -> PendingSend | Exception:
        try:
            return self._send(self._form.of_line(line))
        except (AcklogError, CommandError) as error:
            return error

    def _report_all(self) -> None:
        while (item := self._results.get()) is not None:
            if self._broken is None:
                try:
                    self._report(*item)
                    if self._results.empty():
                        self._reporter.caught_up()
                except BaseException as error:
                    self._broken = error

    def _report(self, line_number: int, outcome: PendingSend | Exception) -> None:
        totals = self._totals
        try:
            if isinstance(outcome, Exception):
                raise outcome
            sent = outcome.result()
        except (AcklogError, CommandError) as error:
            self._count_failure(line_number, error)
            return
        totals.sent += 1
        totals.last_id = name_of(sent)
        totals.first_id = totals.first_id or totals.last_id
        self._reporter.sent(line_number, sent)

    def _count_failure(self, line_number: int, error: Exception) -> None:
        totals = self._totals
        if _is_of_the_line(error):
            totals.failed += 1
            self._reporter.failed(line_number, error)
            return
        totals.given_up += 1
        if totals.stopped_by is None:
            totals.stopped_by, totals.stopped_at = error, line_number
        self._reporter.given_up(line_number, error)


def _is_of_the_line(error: Exception) -> bool:
    return isinstance(error, UsageError) or (isinstance(error, AcklogError) and error.code in _OF_THE_LINE)
