"""The master keys of a process, from where its settings say that they are."""

import contextlib
import stat
from collections.abc import Mapping
from pathlib import Path

import structlog

from app.configuration.configured_process import ConfiguredProcess
from app.configuration.master_key_options import MasterKeyOptions
from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import where_to_set
from app.processes.command_master_key import CommandMasterKey
from cluster.ports.entropy import Entropy
from storage.encryption.local_master_key import LocalMasterKey, parse_master_key
from storage.encryption.master_key import MasterKey, MasterKeys

logger = structlog.get_logger(__name__)


def master_keys_of(process: ConfiguredProcess, entropy: Entropy) -> MasterKeys:
    """Blocks. Raises SettingsError, also where topics are to be encrypted and nothing could do that."""
    tell_of_readable_keys(process)
    options = process.loaded.make(MasterKeyOptions)
    if process.loaded.values.get("encrypt_topics") and not options.has_key:
        raise SettingsError(f"encrypt_topics is on, and there is no master key ({where_to_set('master_key_file')})")
    return load_master_keys(options, process.environment, entropy)


def tell_of_readable_keys(process: ConfiguredProcess) -> None:
    """Whoever may run anything on the machine may read such a file: the log says so, and the process goes on, as
    whoever mounts secrets may have no choice. Blocks."""
    options = process.loaded.make(MasterKeyOptions)
    for path in filter(None, (options.master_key_file, options.previous_master_key_file)):
        with contextlib.suppress(OSError):
            mode = Path(path).stat().st_mode
            if stat.S_ISREG(mode) and mode & stat.S_IROTH:
                logger.warning("master_key_readable_by_all", path=path, mode=f"{stat.S_IMODE(mode):o}")


def load_master_keys(options: MasterKeyOptions, environment: Mapping[str, str], entropy: Entropy) -> MasterKeys:
    """Blocks. Raises SettingsError for a key that is not where it should be, or is none; it shows nothing of it."""
    current = _load(options, "", environment, entropy)
    previous = _load(options, "previous_", environment, entropy)
    if current is not None and previous is not None and current.id == previous.id:
        raise SettingsError("the master key and the one before are the same key")
    return MasterKeys(current, previous)


def _load(options: MasterKeyOptions, prefix: str, environment: Mapping[str, str], entropy: Entropy) -> MasterKey | None:
    path, variable, program, name = (
        getattr(options, f"{prefix}master_key_{kind}") for kind in ("file", "variable", "command", "name")
    )
    if path:
        source = f"{prefix}master_key_file: {path}"
        try:
            content, mode = Path(path).read_bytes(), Path(path).stat().st_mode
        except OSError as error:
            raise SettingsError(f"{source} cannot be read: {error.strerror or error}") from None
        if stat.S_ISREG(mode) and mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise SettingsError(
                f"{source} may be written by others than its owner, who could put a key of their own there: chmod 600"
            )
        return _local(content, source, entropy)
    if variable:
        if variable not in environment:
            raise SettingsError(f"{prefix}master_key_variable: there is no environment variable {variable}")
        return _local(environment[variable].encode(), f"{prefix}master_key_variable: {variable}", entropy)
    if program:
        try:
            return CommandMasterKey(program, name=name, timeout_ms=options.master_key_timeout_ms)
        except ValueError as error:
            raise SettingsError(f"{prefix}master_key_command: {error}") from None
    return None


def _local(text: bytes, source: str, entropy: Entropy) -> LocalMasterKey:
    try:
        return LocalMasterKey(parse_master_key(text), entropy)
    except ValueError as error:
        raise SettingsError(f"{source} holds no master key: {error}") from None
