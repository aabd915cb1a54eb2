"""Asking before something is done that cannot be taken back."""

import typer

from acklog.command.failures import CommandError, UsageError
from acklog.command.session import Session


def confirm(session: Session, question: str, *, is_yes: bool) -> None:
    """Return when it is to be done. Raises CommandError when it is not, UsageError when nobody can be asked."""
    if is_yes:
        return
    if not session.surroundings.stdin.isatty():
        raise UsageError("this has to be confirmed, and there is no terminal to ask", hint="Give --yes.")
    if not typer.confirm(question, err=True):
        raise CommandError("nothing was changed: it was not confirmed")
