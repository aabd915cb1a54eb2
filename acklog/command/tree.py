"""The tree of commands: found by name, imported when called, with the options that go everywhere.

Another distribution adds commands by an entry point in the group `acklog.commands`: a function that takes a
typer.Typer and registers them there. That is how the server brings `serve` while this package knows no server. A group
that it registers under the name of one in the catalogue that takes more adds its subcommands to that one. Entry points
are asked for commands that are not in the catalogue, for those that take more, and for the help of `acklog` itself.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NoReturn, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from acklog.command.catalogue import CATALOGUE, ELSEWHERE, OPERATION, SECTIONS
from acklog.command.failures import UsageError, near_names
from acklog.command.global_options import GLOBAL_NAMES, declare
from acklog.command.lean_parameters import make_lean

_Function = TypeVar("_Function", bound=Callable[..., Any])

COMMANDS_GROUP = "acklog.commands"
EPILOG = "Exit codes: 0 done, 1 failed, 2 usage, 3 server away, 4 not allowed, 5 not found."


class Command(TyperCommand):
    """A command of ours. Its help tells its own options from those that go everywhere."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _lean(super().get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _format_parameters(self, ctx, formatter)


class CommandGroup(TyperGroup):
    """A command with subcommands, and near names for one that is not there."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _lean(super().get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        _format_parameters(self, ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            name = f"{ctx.command_path} {args[0]}".partition(" ")[2]
            if name in ELSEWHERE:
                distribution = ELSEWHERE[name]
                what = f"{name} comes with {distribution}, which is not installed"
                raise UsageError(what, hint=f"pip install {distribution}")
            _refuse(ctx.command_path, args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


class Tree(CommandGroup):
    """`acklog` itself."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*CATALOGUE, *(name for name in _added_commands() if name not in CATALOGUE)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        entry = CATALOGUE.get(cmd_name)
        if entry is None:
            found = _added_commands().get(cmd_name)
        else:
            found = get_command(import_module(entry.module).command)
            if entry.takes_more:
                _add_more(found, _added_commands().get(cmd_name))
        if found is not None:
            found.name = cmd_name
            _equip(found, self)
        return found

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
        for name, entry in CATALOGUE.items():
            sections[entry.section].append((_named(name), entry.summary))
        for name, added in _added_commands().items():
            if name not in CATALOGUE and not added.hidden:
                sections[OPERATION].append((_named(name), added.get_short_help_str(limit=90)))
        for section, lines in sections.items():
            _write_section(formatter, section, lines)


def build_tree() -> Any:
    """The command that runs a command line, with nothing of it imported yet."""
    typer_tree = typer.Typer(
        cls=Tree,
        name="acklog",
        epilog=EPILOG,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 110},
    )
    typer_tree.callback()(declare)
    return get_command(typer_tree)


class CommandTyper(typer.Typer):
    """A typer.Typer whose commands are ours. `command = CommandTyper(); @command.command("send") def send(...)`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"cls": CommandGroup, "add_completion": False, "rich_markup_mode": None, **settings})

    def command(self, name: str | None = None, **settings: Any) -> Callable[[_Function], _Function]:
        return super().command(name, **{"cls": Command, **settings})


@cache
def _added_commands() -> dict[str, Any]:
    """The commands of other distributions by name."""
    from importlib.metadata import entry_points

    added = CommandTyper(callback=lambda: None)
    for entry in sorted(entry_points(group=COMMANDS_GROUP), key=lambda found: found.name):
        entry.load()(added)
    group = get_command(added)
    assert isinstance(group, TyperGroup)
    return dict(group.commands)


def _add_more(group: Any, added: Any) -> None:
    """Take in subcommands that another distribution has for a command of the catalogue."""
    if isinstance(added, TyperGroup):
        for name, command in added.commands.items():
            group.commands.setdefault(name, command)


def _equip(command: Any, tree: Tree) -> None:
    """Give a command and its subcommands the options that go everywhere, unless they take anything."""
    if isinstance(command, TyperGroup):
        for child in command.commands.values():
            _equip(child, tree)
    own = {parameter.name for parameter in command.params}
    if not command.ignore_unknown_options and not command.context_settings.get("ignore_unknown_options"):
        command.params += [each for each in tree.params if each.name in GLOBAL_NAMES and each.name not in own]


def _lean(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        make_lean(parameter)
    return parameters


def _refuse(path: str, name: str, known: list[str]) -> NoReturn:
    raise UsageError(
        f"{path} has no command {name!r}", near=near_names(name, known), hint=f"See what there is: {path} --help"
    )


def _format_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], "Options everywhere": []}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is None:
            continue
        if not isinstance(parameter, TyperOption):
            section = "Arguments"
        else:
            section = "Options everywhere" if parameter.name in GLOBAL_NAMES else "Options"
        sections[section].append((_named(record[0]), record[1]))
    for section, lines in sections.items():
        _write_section(formatter, section, lines)


def _write_section(formatter: Any, title: str, lines: list[tuple[str, str]]) -> None:
    if lines:
        with formatter.section(typer.style(title, bold=True)):
            formatter.write_dl(lines)


def _named(text: str) -> str:
    return typer.style(text, fg=typer.colors.CYAN)
