"""`acklog gateway`: a gateway of a cluster. Whatever of the server is needed is imported when it runs."""

import os
from typing import TYPE_CHECKING

import typer

from app.commands.command_end import PRIVATE_UMASK, USAGE, fail, needs_cluster_extra, wants_help

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.configuration.environment_variables import UnknownVariable
    from app.configuration.etcd_options import EtcdOptions
    from app.configuration.server_settings import Settings


def gateway(context: typer.Context) -> None:
    """Every setting is an option (--port) and an environment variable (ACKLOG_PORT); see --help."""
    from app.configuration.environment_variables import unknown_variables
    from app.configuration.etcd_options import EtcdOptions
    from app.configuration.gateway_options import GATEWAY
    from app.configuration.setting_error import SettingsError
    from app.configuration.server_settings import NODE_PREFIX, Settings

    if wants_help(context.args):
        GATEWAY.parser().print_help()
        return
    try:
        loaded = GATEWAY.load(os.environ, context.args)
        settings, etcd = loaded.make(Settings), loaded.make(EtcdOptions)
    except SettingsError as error:
        fail(str(error), exit_code=USAGE)
    of_nodes = [name for name in os.environ if name.startswith(NODE_PREFIX)]  # one environment may be for both
    _run(settings, etcd, unknown_variables(os.environ, [*GATEWAY.variables(), *of_nodes]))


def _run(settings: "Settings", etcd: "EtcdOptions", unknown: "Sequence[UnknownVariable]") -> None:
    # Imported here, so that --help and a mistake in the settings answer at once.
    with needs_cluster_extra():
        from app.processes.etcd_connection import EtcdStartError
        from app.processes.gateway_process import run
    from app.auth.tokens import TokensFileError
    from app.configuration.setting_error import SettingsError
    from app.processes.logging import configure_logging, log_unknown_variables
    from cluster.ports.coordination import CoordinationError

    os.umask(PRIVATE_UMASK)
    try:
        configure_logging(settings.log_level)
        log_unknown_variables(unknown)
        run(settings, etcd)
    except (SettingsError, TokensFileError) as error:
        fail(str(error), exit_code=USAGE)
    except EtcdStartError as error:
        fail(str(error))
    except CoordinationError as error:
        fail(f"etcd at {etcd.etcd} could not be used: {error}")
