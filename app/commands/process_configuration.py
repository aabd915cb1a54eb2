"""What the three processes' commands begin with: the configuration, or the help, or one line about what is wrong."""

import os
from typing import TYPE_CHECKING

from app.commands.command_end import USAGE, fail, wants_help

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.configuration.configuration_file import ConfigurationFile
    from app.configuration.configured_process import ConfiguredProcess


def configured(table: str, arguments: "Sequence[str]") -> "ConfiguredProcess | None":
    """By the file, the environment and the command line. None: the help was wanted, and is printed. What cannot be
    ends the command."""
    from app.configuration.configured_process import PROCESSES
    from app.configuration.setting_error import SettingsError

    if wants_help(list(arguments)):
        PROCESSES[table].parser().print_help()
        return None
    try:
        return configure_here(table, os.environ, arguments)
    except SettingsError as error:
        fail(str(error), exit_code=USAGE)


def configure_here(table: str, environment: "Mapping[str, str]", arguments: "Sequence[str]") -> "ConfiguredProcess":
    """By the files that are here, seen from the working directory. Raises SettingsError."""
    from app.configuration.configured_process import configure

    return configure(table, environment, arguments, read_file=read_file, exists=os.path.exists)


def file_here(given: str | None, environment: "Mapping[str, str]") -> "ConfigurationFile | None":
    """The configuration file of a process that is given this one, or none. Raises SettingsError."""
    from app.configuration.configured_process import find_file

    return find_file(given, environment, read_file=read_file, exists=os.path.exists)


def read_file(path: str) -> bytes:
    """Before an event loop serves, or on another thread. Raises OSError."""
    from cluster.regular_file import read_regular_file

    return read_regular_file(path)
