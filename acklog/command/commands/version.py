"""`acklog version`: what is installed here."""

import platform

import typer

from acklog.command.build import commit, versions
from acklog.command.session import session_of
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Fields

command = CommandTyper(name="version")


@command.command("version")
def version(context: typer.Context) -> None:
    """Say which versions are installed here, and which commit they were made from, where that is known.

    It asks no server; acklog doctor compares both sides.
    """
    session = session_of(context)
    found = versions()
    made_from = commit(session.surroundings.environment)
    document = {"versions": found, "commit": made_from, "python": platform.python_version()}
    rows: list[tuple[str, Cell | str]] = [
        (name, Cell("not installed", "muted") if each is None else each) for name, each in found.items()
    ]
    rows.append(("commit", Cell("not known", "muted") if made_from is None else made_from))
    rows.append(("python", platform.python_version()))
    session.output.show(document, Fields(rows))
