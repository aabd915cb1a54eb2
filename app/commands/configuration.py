"""`acklog config`: what a process of the server would be told here and now, by whom, and whether it can be used."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.exit_codes import ExitCode
from acklog.command.failures import UsageError
from acklog.command.session import session_of
from acklog.command.views import Cell, Column, Table
from app.commands.process_configuration import configure_here, file_here, read_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.configuration.configured_process import ConfiguredProcess, ShownSetting

_PROCESS = typer.Argument(metavar="PROCESS", help="serve, node or gateway.")
_ARGUMENTS = typer.Argument(metavar="[-- OPTIONS]", help="Options as that command gets them: -- --port 9000.")
_FILE = typer.Option("--config", metavar="FILE", help="The configuration file; as the process finds it.")
_SERVE = "serve"


def show(
    context: typer.Context,
    process: Annotated[str, _PROCESS] = _SERVE,
    arguments: Annotated[list[str] | None, _ARGUMENTS] = None,
    is_all: Annotated[bool, typer.Option("--all", help="Also what nobody has told it: the defaults.")] = False,
    file: Annotated[str | None, _FILE] = None,
) -> None:
    """Show the settings of a process, and where each value comes from.

    The process started here and now, with these options, would have them. Options win over the environment, which wins
    over acklog.toml.
    """
    from app.configuration.configured_process import DEFAULT

    session = session_of(context)
    found = _configured(process, session.surroundings.environment, arguments or [], file)
    shown = [each for each in found.shown() if is_all or each.source != DEFAULT]
    document = {
        "process": process,
        "file": None if found.file is None else found.file.path,
        "settings": [
            {"table": each.table, "name": each.name, "value": each.value, "source": each.source} for each in shown
        ],
        "unknownVariables": [each.name for each in found.unknown],
    }
    columns = [Column("setting"), Column("value", may_wrap=True), Column("from", may_wrap=True)]
    empty = f"acklog {process} has its defaults: nothing else is said. --all shows them."
    session.output.show(document, Table(columns, [_row(each) for each in shown], empty=empty))


def check(
    context: typer.Context,
    process: Annotated[str | None, _PROCESS] = None,
    arguments: Annotated[list[str] | None, _ARGUMENTS] = None,
    file: Annotated[str | None, _FILE] = None,
) -> None:
    """Check that a process could start with its settings: each by itself, all together, and the files that they name.

    Without PROCESS those that have a table in acklog.toml, or else serve. Exit code 0: all can be used, 1: one cannot.
    """
    session = session_of(context)
    names = _processes(process, session.surroundings.environment, file)
    problems = {name: _problems(name, session.surroundings.environment, arguments or [], file) for name in names}
    document = {"processes": [{"process": name, "problems": found} for name, found in problems.items()]}
    rows: list[list[Cell | str]] = [
        [name, Cell("cannot be used", "bad") if found else Cell("can be used", "good"), "\n".join(found)]
        for name, found in problems.items()
    ]
    columns = [Column("process"), Column("its settings"), Column("why", may_wrap=True)]
    session.output.show(document, Table(columns, rows))
    if any(problems.values()):
        raise typer.Exit(ExitCode.FAILED)


def _row(each: "ShownSetting") -> list[Cell | str]:
    from app.configuration.configured_process import DEFAULT

    value = str(each.value).lower() if isinstance(each.value, bool) else str(each.value)
    name = f"{each.table}.{each.name}"
    return [name, value, Cell(each.source, "muted") if each.source == DEFAULT else each.source]


def _configured(
    process: str, environment: "Mapping[str, str]", arguments: list[str], file: str | None
) -> "ConfiguredProcess":
    """Raises UsageError."""
    from app.configuration.setting_error import SettingsError

    _check_name(process)
    given = arguments if file is None else [f"--config={file}", *arguments]
    try:
        return configure_here(process, environment, given)
    except SettingsError as error:
        raise UsageError(str(error)) from None


def _processes(process: str | None, environment: "Mapping[str, str]", file: str | None) -> list[str]:
    """Those to be checked. Raises UsageError for a file that cannot be read."""
    from app.configuration.configured_process import PROCESSES
    from app.configuration.setting_error import SettingsError

    if process is not None:
        _check_name(process)
        return [process]
    try:
        found = file_here(file, environment)
    except SettingsError as error:
        raise UsageError(str(error)) from None
    return [name for name in PROCESSES if found is not None and name in found.tables] or [_SERVE]


def _check_name(process: str) -> None:
    """Raises UsageError."""
    from app.configuration.configured_process import PROCESSES

    if process not in PROCESSES:
        raise UsageError(f"there is no process {process!r}: it is one of {', '.join(PROCESSES)}")


def _problems(process: str, environment: "Mapping[str, str]", arguments: list[str], file: str | None) -> list[str]:
    """Everything that a start would end with before it touches its data."""
    from app.commands.configuration_problems import problems_of

    try:
        found = _configured(process, environment, arguments, file)
    except UsageError as error:
        return [str(error)]
    return problems_of(found, read_file)
