"""`acklog can`: whether a token may do something, and which right says so."""

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from acklog.command.exit_codes import ExitCode
from acklog.command.failures import UsageError
from acklog.command.right_view import right_text
from acklog.command.session import session_of
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Fields

if TYPE_CHECKING:
    from acklog.tokens import NamesakeDecision, TokenDecision

command = CommandTyper(name="can")

_RESOURCES = "topic:NAME, group:NAME or cluster"


@command.command("can")
def can(
    context: typer.Context,
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION", help="send, receive, settle, look, seek, manage, purge or audit.", show_default=False
        ),
    ],
    resource: Annotated[str, typer.Argument(metavar="RESOURCE", help=f"{_RESOURCES}.", show_default=False)],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Another token, by its name; without it, one's own.")
    ] = None,
) -> None:
    """Say whether the token (--token) may do something, and by which right; exit with 4 where it may not.

    With --name also of each token of that name in the gateway's tokens file.
    """
    session = session_of(context)
    topic, group = _named(resource)
    with session.client() as client:
        found = client.tokens.can(action, topic=topic, group=group, name=name)
    rows: list[tuple[str, Cell | str]] = [("token", Cell(found.token, "name")), *_answer(found)]
    for each in found.namesakes:
        rows += [("namesake", "one of the tokens file"), *_answer(each)]
    session.output.show(msgspec.to_builtins(found), Fields(rows))
    if not (found.allowed or any(each.allowed for each in found.namesakes)):
        raise typer.Exit(ExitCode.NOT_ALLOWED)


def _answer(found: "TokenDecision | NamesakeDecision") -> list[tuple[str, Cell | str]]:
    answer = Cell("yes", "good") if found.allowed else Cell("no", "bad")
    by = "nothing allows it" if found.by is None else f"{found.by.source}: {right_text(found.by)}"
    return [("may", answer), ("by", by)]


def _named(resource: str) -> tuple[str | None, str | None]:
    """(topic, group). Raises UsageError."""
    kind, _, name = resource.partition(":")
    if kind == "topic" and name:
        return name, None
    if kind == "group" and name:
        return None, name
    if resource == "cluster":
        return None, None
    raise UsageError(f"{resource!r} is no resource", field="RESOURCE", hint=f"Write {_RESOURCES}.")
