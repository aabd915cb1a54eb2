"""What each of Acklog's processes is told, by all who may tell it something, and who has told it what."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from app.configuration.configuration_file import (
    FILE_NAME,
    STORAGE_TABLE,
    ConfigurationFile,
    ReadFile,
    read_configuration,
)
from app.configuration.environment_variables import UnknownVariable, unknown_variables
from app.configuration.gateway_options import GATEWAY
from app.configuration.node_options import NODE
from app.configuration.node_settings import (
    OF_A_CLUSTERS_NODE,
    given_numbers,
    load_node_settings,
    node_variables,
    numeric_settings,
)
from app.configuration.server_settings import SERVE
from app.configuration.setting_fields import (
    CONFIGURATION_OPTION,
    CONFIGURATION_VARIABLE,
    NODE_PREFIX,
    LoadedSettings,
    SettingSources,
)
from storage.node.partition.node_settings import NodeSettings

PROCESSES: Mapping[str, SettingSources] = {each.table: each for each in (SERVE, NODE, GATEWAY)}
"""By their tables in the configuration file."""
DEFAULT = "default"
_STORING = {SERVE.table: {}, NODE.table: OF_A_CLUSTERS_NODE}
"""Those that store: what is another default for them."""


class ShownSetting(NamedTuple):
    """`source` is DEFAULT, or what has told it. `name` is that of the file; `table` where it would stand there."""

    table: str
    name: str
    value: object
    source: str


@dataclass(frozen=True, slots=True)
class ConfiguredProcess:
    """Checked, but for files that it names. `storage` is None for a gateway, which stores nothing; `unknown` are
    variables that somebody may have meant for it. `again` reads the file anew, with the options and the environment of
    the start, and raises SettingsError."""

    sources: SettingSources
    loaded: LoadedSettings
    storage: NodeSettings | None
    file: ConfigurationFile | None
    unknown: Sequence[UnknownVariable]
    environment: Mapping[str, str]
    again: "Callable[[], ConfiguredProcess]"

    def shown(self) -> list[ShownSetting]:
        """Everything that it can be told, in the order of its help."""
        return [*self._own(), *self._of_storage()]

    def _own(self) -> Iterable[ShownSetting]:
        known, table = self.sources.known(), self.sources.table
        for names in self.sources.groups.values():
            for name in names:
                if name in known:
                    value = self.loaded.values.get(name, known[name].default)
                    yield ShownSetting(table, name, value, self.loaded.told_by.get(name, DEFAULT))

    def _of_storage(self) -> Iterable[ShownSetting]:
        if self.storage is None:
            return
        given = given_numbers(self.environment, self.file)
        others = _STORING[self.sources.table]
        for each in numeric_settings():
            found = given.get(each.name)
            if found is None:
                yield ShownSetting(STORAGE_TABLE, each.name, others.get(each.name, each.default), DEFAULT)
            else:
                yield ShownSetting(STORAGE_TABLE, each.name, found.value, found.source)


def configure(
    table: str,
    environment: Mapping[str, str],
    arguments: Sequence[str],
    *,
    read_file: ReadFile,
    exists: Callable[[str], bool],
) -> ConfiguredProcess:
    """The process with that table, as it is told. Raises SettingsError."""
    sources = PROCESSES[table]
    path = vars(sources.parser().parse_args(list(arguments)))[CONFIGURATION_OPTION.removeprefix("--")]
    file = find_file(path, environment, read_file=read_file, exists=exists)
    loaded = sources.load(environment, arguments, file)
    storage = None
    if table in _STORING:
        storage = load_node_settings(environment, log_store=_STORING[table], file=file)
    # One environment may be for a gateway and for nodes.
    of_nodes = (
        node_variables() if storage is not None else [name for name in environment if name.startswith(NODE_PREFIX)]
    )
    known = [*sources.variables(), CONFIGURATION_VARIABLE, *of_nodes]
    again = partial(configure, table, environment, arguments, read_file=read_file, exists=exists)
    unknown = unknown_variables(environment, known)
    process = ConfiguredProcess(sources, loaded, storage, file, unknown, environment, again)
    for kind in sources.kinds:
        process.loaded.make(kind)
    return process


def find_file(
    given: str | None, environment: Mapping[str, str], *, read_file: ReadFile, exists: Callable[[str], bool]
) -> ConfigurationFile | None:
    """The one that is named, and must be there; or that of the working directory. An empty name: none. Raises
    SettingsError."""
    path = given if given is not None else environment.get(CONFIGURATION_VARIABLE)
    if path is None:
        path = FILE_NAME if exists(FILE_NAME) else ""
    if not path:
        return None
    file = read_configuration(path, read_file)
    known: dict[str, Any] = {table: list(sources.known()) for table, sources in PROCESSES.items()}
    file.check_names(known | {STORAGE_TABLE: [each.name for each in numeric_settings()]})
    return file
