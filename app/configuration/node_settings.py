"""The storage node's settings: in the environment ACKLOG_NODE_ and the field's name, those of compaction with
COMPACTION_ before it, and of table views with TABLE_; in the configuration file those names in its table [storage]. All
are numbers, most of them whole.

They are for operators who know why; the command line keeps to the settings that everybody needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from app.configuration.configuration_file import STORAGE_TABLE, ConfigurationFile
from app.configuration.environment_variables import is_foreign
from app.configuration.server_settings import NODE_PREFIX
from app.configuration.setting_error import SettingsError
from storage.compaction.compaction_settings import CompactionSettings
from storage.delivery.delivery_settings import DeliverySettings
from storage.log.log_settings import LogStoreSettings
from storage.node.partition.node_settings import NodeSettings
from storage.table.table_settings import TableSettings

Kind = (
    type[NodeSettings]
    | type[LogStoreSettings]
    | type[DeliverySettings]
    | type[CompactionSettings]
    | type[TableSettings]
)


@dataclass(frozen=True, slots=True)
class NumericSetting:
    """A field of `kind` that can be set, under `name` behind ACKLOG_NODE_."""

    name: str
    kind: Kind
    field: str
    default: int | float


class GivenNumber(NamedTuple):
    """`source` says what gave it."""

    value: int | float
    source: str


def numeric_settings() -> list[NumericSetting]:
    """All of a storage node, in the order in which they are explained."""
    found = []
    for kind, prefix in _KINDS:
        defaults = kind()
        for each in fields(kind):
            default = getattr(defaults, each.name)
            if isinstance(default, int | float):
                found.append(NumericSetting(prefix + each.name, kind, each.name, default))
    return found


_KINDS: tuple[tuple[Kind, str], ...] = (
    (NodeSettings, ""),
    (LogStoreSettings, ""),
    (DeliverySettings, ""),
    (CompactionSettings, "compaction_"),
    (TableSettings, "table_"),
)


def node_variables() -> list[str]:
    """The environment variables that are settings of a storage node."""
    return [NODE_PREFIX + each.name.upper() for each in numeric_settings()]


OF_A_CLUSTERS_NODE: Mapping[str, int] = {"round_interval_ms": 2}
"""Where a node among others differs from one that is alone: each append is a round on every replica, and a fetch and
its answer for each follower, so small rounds cost three machines what they gain one request."""


def given_numbers(environment: Mapping[str, str], file: ConfigurationFile | None = None) -> dict[str, GivenNumber]:
    """What the environment says, or else the file, by name. Raises SettingsError. Variables that are no setting are
    told by who starts the process, see `app.configuration.environment_variables`."""
    known = {each.name: each for each in numeric_settings()}
    found: dict[str, GivenNumber] = {}
    for name, (value, source) in ({} if file is None else file.values_in(STORAGE_TABLE)).items():
        found[name] = GivenNumber(_number(source, value, like=known[name].default), source)
    for variable in sorted(environment):
        if not variable.startswith(NODE_PREFIX) or is_foreign(variable, environment[variable]):
            continue
        name = variable.removeprefix(NODE_PREFIX).lower()
        if name in known:
            value = _number_of_text(variable, environment[variable], like=known[name].default)
            found[name] = GivenNumber(value, variable)
    return found


def load_node_settings(
    environment: Mapping[str, str],
    *,
    log_store: Mapping[str, int] | None = None,
    file: ConfigurationFile | None = None,
) -> NodeSettings:
    """`log_store` are other defaults of its fields. Raises SettingsError naming where a number came from."""
    known = {each.name: each for each in numeric_settings()}
    values: dict[Kind, dict[str, Any]] = {kind: {} for kind, _ in _KINDS}
    values[LogStoreSettings].update(log_store or {})
    for name, given in given_numbers(environment, file).items():
        values[known[name].kind][known[name].field] = given.value
    try:
        return NodeSettings(
            log_store=LogStoreSettings(**values[LogStoreSettings]),
            delivery=DeliverySettings(**values[DeliverySettings]),
            compaction=CompactionSettings(**values[CompactionSettings]),
            table=TableSettings(**values[TableSettings]),
            **values[NodeSettings],
        )
    except ValueError as error:
        raise SettingsError(f"The {NODE_PREFIX}* settings do not fit together: {error}") from error


def _number_of_text(source: str, given: str, *, like: float) -> int | float:
    """Raises SettingsError."""
    kind, kind_text = _kind_of(like)
    try:
        value = kind(given)
    except ValueError:
        raise SettingsError(f"{source} is {given!r}, it must be {kind_text}") from None
    return _number(source, value, like=like)


def _number(source: str, value: object, *, like: float) -> int | float:
    """Raises SettingsError."""
    kind, kind_text = _kind_of(like)
    if isinstance(value, bool) or not isinstance(value, int | float) or (kind is int and not isinstance(value, int)):
        raise SettingsError(f"{source} is {value!r}, it must be {kind_text}")
    if not 0 <= value < float("inf"):
        raise SettingsError(f"{source} is {value}, it must not be negative, nor without end")
    return kind(value)


def _kind_of(like: float) -> tuple[type[int] | type[float], str]:
    return (int, "a whole number") if isinstance(like, int) else (float, "a number")
