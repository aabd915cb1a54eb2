"""`acklog node`: a storage node of a cluster. Whatever of the server is needed is imported when it runs."""

import os
from typing import TYPE_CHECKING

import typer

from app.commands.command_end import PRIVATE_UMASK, USAGE, fail, needs_cluster_extra, wants_help

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.configuration.environment_variables import UnknownVariable
    from app.configuration.etcd_options import EtcdOptions
    from app.configuration.node_options import NodeOptions
    from storage.node.partition.node_settings import NodeSettings


def node(context: typer.Context) -> None:
    """Every setting is an option (--id) and an environment variable (ACKLOG_ID); see --help."""
    from app.configuration.environment_variables import unknown_variables
    from app.configuration.etcd_options import EtcdOptions
    from app.configuration.node_options import NODE, NodeOptions
    from app.configuration.node_settings import OF_A_CLUSTERS_NODE, load_node_settings, node_variables
    from app.configuration.setting_error import SettingsError

    if wants_help(context.args):
        NODE.parser().print_help()
        return
    try:
        loaded = NODE.load(os.environ, context.args)
        options, etcd = loaded.make(NodeOptions), loaded.make(EtcdOptions)
        node_settings = load_node_settings(os.environ, log_store=OF_A_CLUSTERS_NODE)
    except SettingsError as error:
        fail(str(error), exit_code=USAGE)
    _run(options, etcd, node_settings, unknown_variables(os.environ, [*NODE.variables(), *node_variables()]))


def _run(
    options: "NodeOptions", etcd: "EtcdOptions", node_settings: "NodeSettings", unknown: "Sequence[UnknownVariable]"
) -> None:
    # Imported here, so that --help and a mistake in the settings answer at once.
    with needs_cluster_extra():
        from app.processes.etcd_connection import EtcdStartError
        from app.processes.node_process import run
    from app.configuration.setting_error import SettingsError
    from app.processes.logging import configure_logging, log_unknown_variables
    from app.processes.node_end import StorageFailedError
    from cluster.errors import ServerError
    from cluster.life.node_id import DirectoryConflictError
    from cluster.life.registration import ReplacedError
    from cluster.ports.coordination import CoordinationError
    from storage.disk.port import FileLockedError
    from storage.log.data_directory import DataDirectoryError

    os.umask(PRIVATE_UMASK)
    try:
        configure_logging(options.log_level)
        log_unknown_variables(unknown)
        run(options, etcd, node_settings)
    except SettingsError as error:
        fail(str(error), exit_code=USAGE)
    except EtcdStartError as error:
        fail(str(error))
    except FileLockedError:
        fail(f"Another process uses the data directory {options.data_dir}. Stop it, or give another --data-dir.")
    except (DirectoryConflictError, ReplacedError) as error:
        fail(f"This node may not go on: {error}.")
    except CoordinationError as error:
        fail(f"etcd at {etcd.etcd} could not be used: {error}")
    except (StorageFailedError, DataDirectoryError, ServerError) as error:
        fail(f"The data directory {options.data_dir} cannot be served: {error}")
    except OSError as error:
        fail(f"Node {options.id} cannot run on {options.listen} with {options.data_dir}: {error}")
