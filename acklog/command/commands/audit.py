"""`acklog audit`: who did what, and who was refused."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from acklog.command.audit_view import audit_line, audit_table
from acklog.command.session import Session, session_of
from acklog.command.times import parse_moment
from acklog.command.tree import CommandTyper

if TYPE_CHECKING:
    from acklog import Client
    from acklog.audit import AuditEntry, AuditPage

command = CommandTyper(name="audit")

PAGE_RECORDS = 1_000
FOLLOW_INTERVAL_S = 1.0


@command.command("audit")
def audit(
    context: typer.Context,
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help="From then on: 15m, 1d (ago), or a time.")
    ] = "1d",
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before then.")] = None,
    who: Annotated[str | None, typer.Option("--who", metavar="NAME", help="Only the token of this name.")] = None,
    operation: Annotated[
        str | None, typer.Option("--operation", metavar="ID", help="Only this one, such as updateTopic.")
    ] = None,
    result: Annotated[
        str | None, typer.Option("--result", metavar="WORD", help="allowed, refused, failed, unknown or intended.")
    ] = None,
    records_max: Annotated[
        int | None, typer.Option("--max", metavar="COUNT", min=1, help="Stop after so many records.")
    ] = None,
    is_followed: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more, until Ctrl-C.")] = False,
) -> None:
    """Show who did what with the server, and who was refused; the oldest first."""
    session = session_of(context)
    now_ms = session.now_ms()
    with session.client() as client:
        reading = _Reading(
            session,
            client,
            since_ms=parse_moment(since, now_ms=now_ms, field="--since"),
            until_ms=None if until is None else parse_moment(until, now_ms=now_ms, field="--until"),
            who=who,
            operation=operation,
            result=result,
            records_max=records_max,
        )
        if is_followed:
            for page in reading.pages_for_ever():
                _show_lines(session, page)
            return
        found = [record for page in reading.pages() for record in page]
    session.output.show({"records": [msgspec.to_builtins(each) for each in found]}, audit_table(found))


class _Reading:
    """One page after another."""

    def __init__(
        self,
        session: Session,
        client: "Client",
        *,
        since_ms: int,
        until_ms: int | None,
        who: str | None,
        operation: str | None,
        result: str | None,
        records_max: int | None,
    ) -> None:
        self._session = session
        self._client = client
        self._since_ms, self._until_ms = since_ms, until_ms
        self._who, self._operation, self._result = who, operation, result
        self._left = records_max
        self._after: int | None = None

    def pages(self) -> "Iterator[list[AuditEntry]]":
        """Up to the end of the log as it is. Raises AcklogError."""
        while self._left is None or self._left > 0:
            page = self._next()
            yield page.records
            if page.at_end:
                return

    def pages_for_ever(self) -> "Iterator[list[AuditEntry]]":
        """Raises AcklogError."""
        while self._left is None or self._left > 0:
            yield from self.pages()
            self._session.pause(FOLLOW_INTERVAL_S)

    def _next(self) -> "AuditPage":
        page = self._client.audit.read(
            since_ms=self._since_ms,
            until_ms=self._until_ms,
            who=self._who,
            operation=self._operation,
            result=self._result,
            limit=PAGE_RECORDS if self._left is None else min(PAGE_RECORDS, self._left),
            after=self._after,
        )
        self._after = page.next
        if self._left is not None:
            self._left -= len(page.records)
        return page


def _show_lines(session: Session, records: "list[AuditEntry]") -> None:
    for record in records:
        session.output.show_item(msgspec.to_builtins(record), audit_line(record))
    session.output.flush()
