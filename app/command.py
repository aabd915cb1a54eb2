"""What the server adds to the `acklog` command."""

import os
import sys

import typer

from app.settings import Settings, SettingsError, option_parser
from cluster.errors import AcklogError
from storage.disk.port import FileLockedError


def register(command: typer.Typer) -> None:
    """Called by the command when this distribution is installed."""
    command.command(
        name="serve",
        help="Run the embedded server: everything in one process.",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )(serve)


def serve(context: typer.Context) -> None:
    """Every setting is an option (--port) and an environment variable (ACKLOG_PORT); see --help."""
    if "--help" in context.args or "-h" in context.args:
        option_parser().print_help()
        return
    # Imported here, so that --help and a mistake in the settings answer at once.
    from app.auth.tokens import TokensFileError
    from app.logging import configure_logging
    from app.node_settings import load_node_settings
    from app.server import run
    from storage.log.data_directory import DataDirectoryError

    try:
        settings = Settings.load(os.environ, context.args)
        configure_logging(settings.log_level)
        run(settings, load_node_settings(os.environ))
    except (SettingsError, TokensFileError) as error:
        _fail(str(error), exit_code=2)
    except FileLockedError:
        _fail(f"Another server uses the data directory {settings.data_dir}. Stop it, or give another --data-dir.")
    except (DataDirectoryError, AcklogError, PermissionError, NotADirectoryError, FileExistsError) as error:
        _fail(f"The data directory {settings.data_dir} cannot be served: {error}")


def _fail(text: str, *, exit_code: int = 1) -> None:
    sys.stderr.write(f"acklog: {text}\n")
    raise SystemExit(exit_code)
