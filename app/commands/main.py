"""What the server adds to the `acklog` command.

The command's help imports this module: whatever of the server is needed is imported when a command runs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import typer

from acklog.command.tree import CommandTyper
from app.commands.cluster_demo import demo as cluster_demo
from app.commands.cluster_up import up
from app.commands.configuration import check, show
from app.commands.demo import demo
from app.commands.fsck import fsck
from app.commands.gateway import gateway
from app.commands.health import health
from app.commands.node import node
from app.commands.pki import init, renew, rotate_ca
from app.commands.pki import show as show_pki
from app.commands.pki_issue import command as issue
from app.commands.rebuild import rebuild
from app.commands.serve import serve

# The settings' own parser reads these command lines, and writes their help.
_OWN_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

_SERVERS = {
    "serve": (serve, "Run the server of one machine: everything in one process, or in several."),
    "node": (node, "Run a storage node of a cluster."),
    "gateway": (gateway, "Run a gateway of a cluster."),
}


def register(command: typer.Typer) -> None:
    """Called by the command when this distribution is installed."""
    own: Any = {"context_settings": _OWN_OPTIONS}
    for name, (run, summary) in _SERVERS.items():
        command.command(name=name, help=summary, **own)(_by_arguments(run))
    command.command(name="health")(health)
    command.command(name="fsck")(fsck)
    command.command(name="rebuild")(rebuild)
    command.command(name="demo")(demo)
    config = CommandTyper(help="What the server's processes are told, and by whom.", no_args_is_help=True)
    config.command(name="show")(show)
    config.command(name="check")(check)
    command.add_typer(config, name="config")
    pki = CommandTyper(help="A small certificate authority, for those who have none.", no_args_is_help=True)
    pki.command(name="init")(init)
    pki.add_typer(issue, name="issue")
    pki.command(name="renew")(renew)
    pki.command(name="show")(show_pki)
    pki.command(name="rotate-ca")(rotate_ca)
    command.add_typer(pki, name="pki")
    cluster = CommandTyper(help="See and steer a cluster, or run one here.", no_args_is_help=True)
    cluster.command(name="up")(up)
    cluster.command(name="demo")(cluster_demo)
    command.add_typer(cluster, name="cluster")


def _by_arguments(run: Callable[[Sequence[str]], None]) -> Callable[[typer.Context], None]:
    def command(context: typer.Context) -> None:
        run(context.args)

    return command
