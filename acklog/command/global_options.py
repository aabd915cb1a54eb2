"""The options that may stand before or after any command's name.

They are declared once, here, as parameters of `acklog` itself; the tree gives the same parameters to every command.
Whichever is given last wins.
"""

from typing import Annotated, Any, TypeVar

import typer

from acklog.command.session import DEFAULT_SERVER, DEFAULT_TIMEOUT_S, GlobalOptions, Session

TIMEOUT_S_MAX = 86_400.0

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


def _everywhere(name: str, *more: str, help_text: str, metavar: str | None = None, callback: Any = _remember) -> Any:
    return typer.Option(name, *more, metavar=metavar, help=help_text, callback=callback, expose_value=False)


Url = Annotated[
    str | None, _everywhere("--server", metavar="URL", help_text=f"The server [ACKLOG_URL; {DEFAULT_SERVER}].")
]
Token = Annotated[
    str | None,
    _everywhere(
        "--token",
        metavar="TOKEN",
        help_text="The bearer token [ACKLOG_TOKEN]. Others on this machine can see options; prefer the variable.",
    ),
]
ProfileName = Annotated[
    str | None,
    _everywhere("--profile", metavar="NAME", help_text="A server by name [ACKLOG_PROFILE]; see acklog profile."),
]
Timeout = Annotated[
    float | None,
    _everywhere(
        "--timeout",
        metavar="SECONDS",
        help_text=f"How long a request may take, tries included [{DEFAULT_TIMEOUT_S:g}].",
        callback=_checked_timeout,
    ),
]
CaFile = Annotated[
    str | None,
    _everywhere(
        "--ca-file",
        metavar="FILE",
        help_text="Whose certificates to trust, in PEM [ACKLOG_CA_FILE; the system's authorities].",
    ),
]
CertificateFile = Annotated[
    str | None,
    _everywhere(
        "--certificate-file",
        metavar="FILE",
        help_text="Our certificate, for servers that ask who calls [ACKLOG_CERTIFICATE_FILE].",
    ),
]
KeyFile = Annotated[
    str | None, _everywhere("--key-file", metavar="FILE", help_text="Its private key [ACKLOG_KEY_FILE].")
]
Json = Annotated[bool, _everywhere("--json", help_text="JSON for programs: a document, or a line per item.")]
Quiet = Annotated[bool, _everywhere("--quiet", "-q", help_text="No remarks and no progress.")]
NoColor = Annotated[
    bool,
    typer.Option(
        "--no-color", help="No colours [NO_COLOR].", callback=_without_color, is_eager=True, expose_value=False
    ),
]
Debug = Annotated[bool, _everywhere("--debug", help_text="Show where a failure comes from.")]
Version = Annotated[
    bool,
    typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True, expose_value=False),
]


def declare(
    server: Url = None,
    token: Token = None,
    profile: ProfileName = None,
    timeout_s: Timeout = None,
    ca_file: CaFile = None,
    certificate_file: CertificateFile = None,
    key_file: KeyFile = None,
    is_json: Json = False,
    is_quiet: Quiet = False,
    has_no_color: NoColor = False,
    is_debug: Debug = False,
    version: Version = False,
) -> None:
    """A durable message queue over HTTP."""


GLOBAL_NAMES = frozenset(GlobalOptions.__slots__)
