"""What the server adds to the `acklog` command.

The command's help imports this module: whatever of the server is needed is imported when a command runs.
"""

import os
from typing import TYPE_CHECKING, Any

import typer

from acklog.command.tree import CommandTyper
from app.commands.cluster_demo import demo as cluster_demo
from app.commands.cluster_up import up
from app.commands.command_end import PRIVATE_UMASK, USAGE, ending_well_at_signals, fail
from app.commands.configuration import check, show
from app.commands.demo import demo
from app.commands.fsck import fsck
from app.commands.gateway import gateway
from app.commands.health import health
from app.commands.node import node
from app.commands.pki import init, renew, rotate_ca
from app.commands.pki import show as show_pki
from app.commands.pki_issue import command as issue
from app.commands.process_configuration import configured
from app.commands.rebuild import rebuild

if TYPE_CHECKING:
    from app.configuration.configured_process import ConfiguredProcess
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


def serve(context: typer.Context) -> None:
    """Every setting is an option (--port), a variable (ACKLOG_PORT), and a name in acklog.toml; see --help."""
    process = configured("serve", context.args)
    if process is None:
        return
    from app.configuration.server_settings import Settings

    assert process.storage is not None
    with ending_well_at_signals():
        _run(process, process.loaded.make(Settings), process.storage)


def _run(process: "ConfiguredProcess", settings: "Settings", node_settings: "NodeSettings") -> None:
    # Imported here, so that --help and a mistake in the settings answer at once.
    from app.auth.tokens import TokensFileError
    from app.configuration.setting_error import SettingsError
    from app.processes.logging import configure_logging, log_configuration
    from app.processes.node_end import StorageFailedError
    from app.processes.server import run
    from cluster.errors import ServerError
    from cluster.ports.coordination import CoordinationError
    from cluster.tls.tls_files import TlsFilesError
    from storage.disk.port import FileLockedError
    from storage.log.data_directory import DataDirectoryError

    os.umask(PRIVATE_UMASK)
    try:
        configure_logging(settings.log_level)
        log_configuration(process.file, process.unknown)
        run(settings, node_settings, process)
    except (SettingsError, TokensFileError) as error:
        fail(str(error), exit_code=USAGE)
    except TlsFilesError as error:
        fail(str(error))  # somebody may be renewing them: a supervisor is to try again
    except FileLockedError:
        fail(f"Another server uses the data directory {settings.data_dir}. Stop it, or give another --data-dir.")
    except (StorageFailedError, DataDirectoryError, CoordinationError, ServerError, OSError) as error:
        fail(f"The data directory {settings.data_dir} cannot be served: {error}")
