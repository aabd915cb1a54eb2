"""What the server adds to the `acklog` command.

The command's help imports this module: whatever of the server is needed is imported when a command runs.
"""

import os
import sys
from typing import TYPE_CHECKING, NoReturn

import typer

from app.demo_command import demo
from app.fsck_command import fsck

if TYPE_CHECKING:
    from app.settings import Settings
    from storage.node.settings import NodeSettings

PRIVATE_UMASK = 0o027  # what a queue holds is nobody else's business


def register(command: typer.Typer) -> None:
    """Called by the command when this distribution is installed."""
    command.command(
        name="serve",
        help="Run the embedded server: everything in one process.",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )(serve)
    command.command(name="fsck")(fsck)
    command.command(name="demo")(demo)


def serve(context: typer.Context) -> None:
    """Every setting is an option (--port) and an environment variable (ACKLOG_PORT); see --help."""
    from app.node_settings import load_node_settings
    from app.settings import Settings, SettingsError, option_parser

    if "--help" in context.args or "-h" in context.args:
        option_parser().print_help()
        return
    try:
        settings = Settings.load(os.environ, context.args)
        node_settings = load_node_settings(os.environ)
    except SettingsError as error:
        _fail(str(error), exit_code=2)
    _run(settings, node_settings)


def _run(settings: "Settings", node_settings: "NodeSettings") -> None:
    # Imported here, so that --help and a mistake in the settings answer at once.
    from app.auth.tokens import TokensFileError
    from app.logging import configure_logging
    from app.server import run
    from app.settings import SettingsError
    from cluster.coordination import CoordinationError
    from cluster.errors import AcklogError
    from storage.disk.port import FileLockedError
    from storage.log.data_directory import DataDirectoryError

    os.umask(PRIVATE_UMASK)
    try:
        configure_logging(settings.log_level)
        run(settings, node_settings)
    except (SettingsError, TokensFileError) as error:
        _fail(str(error), exit_code=2)
    except FileLockedError:
        _fail(f"Another server uses the data directory {settings.data_dir}. Stop it, or give another --data-dir.")
    except (DataDirectoryError, CoordinationError, AcklogError, OSError) as error:
        _fail(f"The data directory {settings.data_dir} cannot be served: {error}")


def _fail(text: str, *, exit_code: int = 1) -> NoReturn:
    sys.stderr.write(f"acklog: {text}\n")
    raise SystemExit(exit_code)
