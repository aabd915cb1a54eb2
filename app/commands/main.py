"""What the server adds to the `acklog` command.

The command's help imports this module: whatever of the server is needed is imported when a command runs.
"""

import os
from typing import TYPE_CHECKING, Any

import typer

from acklog.command.tree import CommandTyper
from app.commands.cluster_demo import demo as cluster_demo
from app.commands.cluster_up import up
from app.commands.command_end import PRIVATE_UMASK, USAGE, fail, wants_help
from app.commands.demo import demo
from app.commands.fsck import fsck
from app.commands.gateway import gateway
from app.commands.node import node
from app.commands.rebuild import rebuild

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.configuration.environment_variables import UnknownVariable
    from app.configuration.server_settings import Settings
    from storage.node.partition.node_settings import NodeSettings

# The settings' own parser reads these command lines, and writes their help.
_OWN_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def register(command: typer.Typer) -> None:
    """Called by the command when this distribution is installed."""
    own: Any = {"context_settings": _OWN_OPTIONS}
    command.command(name="serve", help="Run the embedded server: everything in one process.", **own)(serve)
    command.command(name="node", help="Run a storage node of a cluster.", **own)(node)
    command.command(name="gateway", help="Run a gateway of a cluster.", **own)(gateway)
    command.command(name="fsck")(fsck)
    command.command(name="rebuild")(rebuild)
    command.command(name="demo")(demo)
    cluster = CommandTyper(help="See and steer a cluster, or run one here.", no_args_is_help=True)
    cluster.command(name="up")(up)
    cluster.command(name="demo")(cluster_demo)
    command.add_typer(cluster, name="cluster")


def serve(context: typer.Context) -> None:
    """Every setting is an option (--port) and an environment variable (ACKLOG_PORT); see --help."""
    from app.configuration.environment_variables import unknown_variables
    from app.configuration.node_settings import load_node_settings, node_variables
    from app.configuration.setting_error import SettingsError
    from app.configuration.server_settings import SERVE, Settings, option_parser

    if wants_help(context.args):
        option_parser().print_help()
        return
    try:
        settings = Settings.load(os.environ, context.args)
        node_settings = load_node_settings(os.environ)
    except SettingsError as error:
        fail(str(error), exit_code=USAGE)
    _run(settings, node_settings, unknown_variables(os.environ, [*SERVE.variables(), *node_variables()]))


def _run(settings: "Settings", node_settings: "NodeSettings", unknown: "Sequence[UnknownVariable]") -> None:
    # Imported here, so that --help and a mistake in the settings answer at once.
    from app.auth.tokens import TokensFileError
    from app.configuration.setting_error import SettingsError
    from app.processes.logging import configure_logging, log_unknown_variables
    from app.processes.node_end import StorageFailedError
    from app.processes.server import run
    from cluster.errors import ServerError
    from cluster.ports.coordination import CoordinationError
    from storage.disk.port import FileLockedError
    from storage.log.data_directory import DataDirectoryError

    os.umask(PRIVATE_UMASK)
    try:
        configure_logging(settings.log_level)
        log_unknown_variables(unknown)
        run(settings, node_settings)
    except (SettingsError, TokensFileError) as error:
        fail(str(error), exit_code=USAGE)
    except FileLockedError:
        fail(f"Another server uses the data directory {settings.data_dir}. Stop it, or give another --data-dir.")
    except (StorageFailedError, DataDirectoryError, CoordinationError, ServerError, OSError) as error:
        fail(f"The data directory {settings.data_dir} cannot be served: {error}")
