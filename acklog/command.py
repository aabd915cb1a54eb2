"""The `acklog` command.

A distribution adds commands of its own by an entry point in the group `acklog.commands`: a function that takes the
command and registers them. That is how the server brings `serve` while this package knows no server.
"""

from importlib.metadata import entry_points

import typer

from acklog import __version__

COMMANDS_GROUP = "acklog.commands"

command = typer.Typer(
    name="acklog", help="A durable message queue over HTTP.", no_args_is_help=True, add_completion=True
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"acklog {__version__}")
        raise typer.Exit


@command.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """A durable message queue over HTTP."""


def main() -> None:
    """Run the command line, with every installed distribution's commands."""
    for entry in sorted(entry_points(group=COMMANDS_GROUP), key=lambda found: found.name):
        entry.load()(command)
    command()


if __name__ == "__main__":
    main()
