"""`acklog.toml`: the settings of any of Acklog's processes, in one file.

    log_level = "warning"      # for every process that has the setting

    [serve]                    # acklog serve; likewise [node] and [gateway]
    data_dir = "/var/lib/acklog"
    port = 8080

    [storage]                  # what the environment calls ACKLOG_NODE_...
    read_ahead_bytes = 1_048_576

A name is that of the option, with underscores. The file is ours alone: a name that is no setting is a mistake, where a
variable of the environment may be somebody else's.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

from app.configuration.setting_error import SettingsError

FILE_NAME = "acklog.toml"
STORAGE_TABLE = "storage"
ReadFile = Callable[[str], bytes]


class FileValue(NamedTuple):
    """`source` says where it stands, for texts."""

    value: object
    source: str


@dataclass(frozen=True, slots=True)
class ConfigurationFile:
    """What the file at `path` says. `tables` are its tables by name; "" is what stands above the first of them."""

    path: str
    tables: Mapping[str, Mapping[str, object]]

    def values(self, table: str, known: Collection[str]) -> dict[str, FileValue]:
        """For a process with a table of its own: what stands there, and above all tables what it knows."""
        above = {name: each for name, each in self.values_in("").items() if name in known}
        return above | self.values_in(table)

    def values_in(self, table: str) -> dict[str, FileValue]:
        """What stands in one table; "" is what stands above the first."""
        return {name: FileValue(value, self._source(table, name)) for name, value in self.tables.get(table, {}).items()}

    def check_names(self, known: Mapping[str, Collection[str]]) -> None:
        """That every table and every name in one is known; `known` are the settings by table. Raises SettingsError."""
        everywhere = {name for table, names in known.items() if table != STORAGE_TABLE for name in names}
        for table, values in self.tables.items():
            if table and table not in known:
                raise SettingsError(f"{self.path} has a table [{table}]{_near(table, known, 'there are')}")
            names = everywhere if not table else known[table]
            for name in values:
                if name not in names:
                    raise SettingsError(f"{self._source(table, name)} is no setting{_near(name, names)}")

    def _source(self, table: str, name: str) -> str:
        return f"{self.path}: {table}.{name}" if table else f"{self.path}: {name}"


def read_configuration(path: str, read_file: ReadFile) -> ConfigurationFile:
    """Raises SettingsError for a file that cannot be read, or is no TOML."""
    try:
        content = read_file(path)
    except OSError as error:
        raise SettingsError(f"The configuration file {path} cannot be read: {error.strerror or error}") from None
    import tomllib  # where there is a file

    try:
        # Editors of Windows begin a file with a byte order mark, which TOML does not know.
        document: dict[str, Any] = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # of TOML, of text, of numbers and of tables without an end
        raise SettingsError(f"The configuration file {path} is no TOML: {error}") from None
    tables: dict[str, Mapping[str, object]] = {"": {}}
    top: dict[str, object] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            tables[name] = value
        else:
            top[name] = value
    return ConfigurationFile(path, tables | {"": top})


def _near(name: str, names: Collection[str], otherwise: str = "") -> str:
    near = get_close_matches(name.replace("-", "_"), sorted(names), n=1, cutoff=0.7)
    if near:
        return f"; is {near[0]} meant?"
    return f"; {otherwise} {', '.join(sorted(names))}" if otherwise else ""
