"""`acklog gateway`: a gateway of a cluster. Whatever of the server is needed is imported when it runs."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.commands.command_end import PRIVATE_UMASK, USAGE, ending_well_at_signals, fail, needs_cluster_extra
from app.commands.process_configuration import configured

if TYPE_CHECKING:
    from app.configuration.configured_process import ConfiguredProcess
    from app.configuration.etcd_options import EtcdOptions
    from app.configuration.server_settings import Settings


def gateway(arguments: Sequence[str]) -> None:
    """Every setting is an option (--port), a variable (ACKLOG_PORT), and a name in acklog.toml; see --help."""
    process = configured("gateway", arguments)
    if process is None:
        return
    from app.configuration.etcd_options import EtcdOptions
    from app.configuration.server_settings import Settings

    with ending_well_at_signals():
        _run(process, process.loaded.make(Settings), process.loaded.make(EtcdOptions))


def _run(process: "ConfiguredProcess", settings: "Settings", etcd: "EtcdOptions") -> None:
    # Imported here, so that --help and a mistake in the settings answer at once.
    with needs_cluster_extra():
        from app.processes.etcd_connection import EtcdStartError
        from app.processes.gateway_process import run
    from app.auth.tokens import TokensFileError
    from app.configuration.setting_error import SettingsError
    from app.processes.logging import configure_logging, log_configuration
    from cluster.ports.coordination import CoordinationError
    from cluster.tls.tls_files import TlsFilesError

    os.umask(PRIVATE_UMASK)
    try:
        configure_logging(settings.log_level)
        log_configuration(process.file, process.unknown)
        run(settings, etcd, process)
    except (SettingsError, TokensFileError) as error:
        fail(str(error), exit_code=USAGE)
    except TlsFilesError as error:
        fail(str(error))  # somebody may be renewing them: a supervisor is to try again
    except EtcdStartError as error:
        fail(str(error))
    except CoordinationError as error:
        fail(f"etcd at {etcd.etcd} could not be used: {error}")
