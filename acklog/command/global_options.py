"""The options that may stand before or after any command's name.

They are declared once, here, as parameters of `acklog` itself; the tree gives the same parameters to every command.
Whichever is given last wins.
"""

from typing import Annotated, TypeVar

import typer

from acklog.command.session import DEFAULT_SERVER, DEFAULT_TIMEOUT_S, GlobalOptions, Session

TIMEOUT_S_MAX = 86_400.0
HELP_PANEL = "Everywhere"

_Value = TypeVar("_Value")


def _remember(context: typer.Context, parameter: typer.CallbackParam, value: _Value) -> _Value:
    """Take a value that was given into the session. (Completion runs without a session.)"""
    session = context.find_object(Session)
    if value and session is not None:
        setattr(session.options, str(parameter.name), value)
    return value


def _without_color(context: typer.Context, parameter: typer.CallbackParam, is_wanted: bool) -> bool:
    if is_wanted:
        context.color = False  # for help, which Typer prints
    return _remember(context, parameter, is_wanted)


def _checked_timeout(context: typer.Context, parameter: typer.CallbackParam, value: float | None) -> float | None:
    if value is not None and not 0 < value <= TIMEOUT_S_MAX:
        raise typer.BadParameter(f"{value:g} is not between 0 and {TIMEOUT_S_MAX:g} seconds")
    return _remember(context, parameter, value)


def _print_version(_context: typer.Context, _parameter: typer.CallbackParam, is_wanted: bool) -> None:
    if is_wanted:
        from acklog import __version__

        typer.echo(f"acklog {__version__}")
        raise typer.Exit


def declare(
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="URL",
            help=f"The server [ACKLOG_URL; {DEFAULT_SERVER}].",
            callback=_remember,
            expose_value=False,
            rich_help_panel=HELP_PANEL,
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            metavar="TOKEN",
            help="The bearer token [ACKLOG_TOKEN]. Others on this machine can see options; prefer the variable.",
            callback=_remember,
            expose_value=False,
            rich_help_panel=HELP_PANEL,
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="A server by name [ACKLOG_PROFILE]; see acklog profile.",
            callback=_remember,
            expose_value=False,
            rich_help_panel=HELP_PANEL,
        ),
    ] = None,
    timeout_s: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            help=f"How long a request may take, tries included [{DEFAULT_TIMEOUT_S:g}].",
            callback=_checked_timeout,
            expose_value=False,
            rich_help_panel=HELP_PANEL,
        ),
    ] = None,
    is_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="JSON for programs: a document, or a line per item.",
            callback=_remember,
            expose_value=False,
            rich_help_panel=HELP_PANEL,
        ),
    ] = False,
    is_quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            help="No remarks and no progress.",
            callback=_remember,
            expose_value=False,
            rich_help_panel=HELP_PANEL,
        ),
    ] = False,
    has_no_color: Annotated[
        bool,
        typer.Option(
            "--no-color",
            help="No colours [NO_COLOR].",
            callback=_without_color,
            is_eager=True,
            expose_value=False,
            rich_help_panel=HELP_PANEL,
        ),
    ] = False,
    is_debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            help="Show where a failure comes from.",
            callback=_remember,
            expose_value=False,
            rich_help_panel=HELP_PANEL,
        ),
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True, expose_value=False
        ),
    ] = False,
) -> None:
    """A durable message queue over HTTP."""


GLOBAL_NAMES = frozenset(GlobalOptions.__slots__)
