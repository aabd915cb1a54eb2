"""`acklog node`: a storage node of a cluster. Whatever of the server is needed is imported when it runs."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.commands.command_end import PRIVATE_UMASK, USAGE, ending_well_at_signals, fail, needs_cluster_extra
from app.commands.process_configuration import configured

if TYPE_CHECKING:
    from app.configuration.configured_process import ConfiguredProcess
    from app.configuration.etcd_options import EtcdOptions
    from app.configuration.node_options import NodeOptions
    from storage.node.partition.node_settings import NodeSettings


def node(arguments: Sequence[str]) -> None:
    """Every setting is an option (--id), a variable (ACKLOG_ID), and a name in acklog.toml; see --help."""
    process = configured("node", arguments)
    if process is None:
        return
    from app.configuration.etcd_options import EtcdOptions
    from app.configuration.node_options import NodeOptions

    assert process.storage is not None
    with ending_well_at_signals():
        _run(process, process.loaded.make(NodeOptions), process.loaded.make(EtcdOptions), process.storage)


def _run(
    process: "ConfiguredProcess", options: "NodeOptions", etcd: "EtcdOptions", node_settings: "NodeSettings"
) -> None:
    # Imported here, so that --help and a mistake in the settings answer at once.
    with needs_cluster_extra():
        from app.processes.etcd_connection import EtcdStartError
        from app.processes.node_process import run
    from app.configuration.setting_error import SettingsError
    from app.processes.logging import configure_logging, log_configuration
    from app.processes.node_end import StorageFailedError
    from cluster.errors import ServerError
    from cluster.life.node_id import DirectoryConflictError
    from cluster.life.registration import ReplacedError
    from cluster.ports.coordination import CoordinationError
    from cluster.tls.tls_files import TlsFilesError
    from storage.disk.port import FileLockedError
    from storage.log.data_directory import DataDirectoryError

    os.umask(PRIVATE_UMASK)
    try:
        configure_logging(options.log_level)
        log_configuration(process.file, process.unknown)
        run(options, etcd, node_settings, process)
    except SettingsError as error:
        fail(str(error), exit_code=USAGE)
    except TlsFilesError as error:
        fail(str(error))  # somebody may be renewing them: a supervisor is to try again
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
