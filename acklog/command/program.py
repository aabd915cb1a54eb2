"""A command line from its arguments to its exit code. Nothing that goes wrong ends in a stack trace."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import typer

from acklog.command.exit_codes import ExitCode
from acklog.command.failures import ShownFailure, explain
from acklog.command.output import json_text
from acklog.command.process_end import end, make_tolerant
from acklog.command.session import Session, Surroundings
from acklog.command.tree import build_tree

COMPLETION_VARIABLE = "_ACKLOG_COMPLETE"


def main() -> NoReturn:
    """Run this process's command line, and end with its exit code."""
    if COMPLETION_VARIABLE in os.environ:
        from acklog.command.shell_completion import complete

        complete(os.environ)
    make_tolerant()
    end(run(sys.argv[1:], Surroundings.of_process()))


def run(arguments: Sequence[str], surroundings: Surroundings) -> int:
    """Run one command line; returns the exit code. What could not be done is said on standard error."""
    session = Session(surroundings)
    try:
        exit_code = _invoke(list(arguments), session)
        surroundings.stdout.flush()
    except BrokenPipeError:
        return ExitCode.READER_GONE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as error:
        if session.options.is_debug:
            raise
        return report(error, session, is_json=session.options.is_json or "--json" in arguments)
    return exit_code


def _invoke(arguments: list[str], session: Session) -> int:
    tree = build_tree()
    try:
        color = False if session.surroundings.environment.get("NO_COLOR") else None
        with tree.make_context("acklog", arguments, obj=session, color=color) as context:
            tree.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except typer.Abort:
        return ExitCode.INTERRUPTED
    return ExitCode.DONE


def report(error: Exception, session: Session, *, is_json: bool) -> int:
    """Say on standard error what could not be done; returns the exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(str(error), file=session.surroundings.stderr)
        return ExitCode.USAGE
    failure = _usage_failure(error) or explain(error, server=_server_of(session)) or _bug(error)
    try:
        session.output.complain(json_text(failure.document()) if is_json else failure.text())
    except BrokenPipeError:
        return ExitCode.READER_GONE
    return failure.exit_code


def _server_of(session: Session) -> str:
    """The server that was asked, if the options got so far."""
    server = vars(session).get("server")
    return "" if server is None else server.url


def _usage_failure(error: Exception) -> ShownFailure | None:
    """What Typer finds wrong with a command line."""
    if not isinstance(error, typer.TyperException):
        return None
    context = getattr(error, "ctx", None)
    parameter = getattr(error, "param", None)
    path = context.command_path if context is not None else "acklog"
    what = str(getattr(error, "message", "")) or str(error)
    format_message = getattr(error, "format_message", None)
    if parameter is not None and format_message is not None:
        what = format_message().rstrip(".")
    return ShownFailure(
        what[:1].lower() + what[1:].rstrip("."),
        ExitCode.USAGE,
        near=tuple(getattr(error, "possibilities", None) or ()),
        hint=f"How it is used: {path} --help",
    )


def _bug(error: Exception) -> ShownFailure:
    if isinstance(error, OSError):
        return ShownFailure(str(error), ExitCode.FAILED)
    what = f"this should not happen: {type(error).__name__}: {error}"
    return ShownFailure(what, ExitCode.FAILED, hint="It is a mistake in acklog. See where with --debug, and report it.")
