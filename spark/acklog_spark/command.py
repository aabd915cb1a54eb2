"""The commands: `acklog export` and `acklog replay`."""

import typer

from acklog.command.tree import CommandTyper
from acklog_spark.export_command import RunByDefault, history, run, verify
from acklog_spark.replay_command import replay


def register(command: typer.Typer) -> None:
    """Called by the command when this distribution is installed."""
    export = CommandTyper(
        cls=RunByDefault, help="Topics into files, each row once: run, verify, history.", no_args_is_help=True
    )
    export.command("run")(run)
    export.command("verify")(verify)
    export.command("history")(history)
    command.add_typer(export, name="export")
    command.command(name="replay")(replay)
