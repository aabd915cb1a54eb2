"""The entry points of the server's commands."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acklog_server.own_packages import use_own_packages

if TYPE_CHECKING:
    import typer


def register(command: "typer.Typer") -> None:
    """Called by the `acklog` command when this distribution is installed."""
    use_own_packages()
    from app.commands.main import register as register_commands

    register_commands(command)


def run_server(name: str, arguments: Sequence[str]) -> None:
    """Called by the `acklog` command for `serve`, `node` and `gateway`, whose options are the server's own business."""
    use_own_packages()
    from app.commands.servers import run_server as run_by_name

    run_by_name(name, arguments)
