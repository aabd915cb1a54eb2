"""The entry point of the server's commands."""

from typing import TYPE_CHECKING

from acklog_server.own_packages import use_own_packages

if TYPE_CHECKING:
    import typer


def register(command: "typer.Typer") -> None:
    """Called by the `acklog` command when this distribution is installed."""
    use_own_packages()
    from app.commands.main import register as register_commands

    register_commands(command)
