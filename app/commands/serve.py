"""`acklog serve`: the embedded server. Whatever of the server is needed is imported when it runs."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.commands.command_end import PRIVATE_UMASK, USAGE, ending_well_at_signals, fail
from app.commands.process_configuration import configured

if TYPE_CHECKING:
    from app.configuration.configured_process import ConfiguredProcess
    from app.configuration.server_settings import Settings
    from storage.node.partition.node_settings import NodeSettings


def serve(arguments: Sequence[str]) -> None:
    """Every setting is an option (--port), a variable (ACKLOG_PORT), and a name in acklog.toml; see --help."""
    process = configured("serve", arguments)
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
    from app.workers.workers_failed import WorkersFailedError
    from cluster.errors import ServerError
    from cluster.ports.coordination import CoordinationError
    from cluster.tls.tls_files import TlsFilesError
    from storage.disk.port import FileLockedError
    from storage.log.data_directory import DataDirectoryError

    os.umask(PRIVATE_UMASK)
    try:
        configure_logging(settings.log_level)
        log_configuration(process.file, process.unknown)
        _run_as_many(settings, node_settings, process)
    except (SettingsError, TokensFileError) as error:
        fail(str(error), exit_code=USAGE)
    except WorkersFailedError as error:
        fail(f"{error}. All of the server has ended with it.", exit_code=error.exit_code)
    except TlsFilesError as error:
        fail(str(error))  # somebody may be renewing them: a supervisor is to try again
    except FileLockedError:
        fail(f"Another server uses the data directory {settings.data_dir}. Stop it, or give another --data-dir.")
    except (StorageFailedError, DataDirectoryError, CoordinationError, ServerError, OSError) as error:
        fail(f"The data directory {settings.data_dir} cannot be served: {error}")


def _run_as_many(settings: "Settings", node_settings: "NodeSettings", process: "ConfiguredProcess") -> None:
    """As many processes as are wanted. Nobody loads what only the others need."""
    from app.configuration.worker_options import WorkerOptions

    if process.loaded.make(WorkerOptions).are_several:
        from app.workers.server import run
    else:
        from app.processes.server import run
    run(settings, node_settings, process)
