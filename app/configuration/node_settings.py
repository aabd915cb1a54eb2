"""The storage node's settings from the environment: ACKLOG_NODE_ and the field's name, all whole numbers.

They are for operators who know why; the command line keeps to the settings that everybody needs.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from app.configuration.environment_variables import is_foreign
from app.configuration.server_settings import NODE_PREFIX, SettingsError
from storage.delivery.delivery_settings import DeliverySettings
from storage.log.log_settings import LogStoreSettings
from storage.node.partition.node_settings import NodeSettings


def numeric_settings(kind: type[NodeSettings] | type[LogStoreSettings] | type[DeliverySettings]) -> dict[str, int]:
    """Names and defaults of the fields that can be set."""
    defaults = kind()
    return {
        each.name: getattr(defaults, each.name)
        for each in fields(kind)
        if isinstance(getattr(defaults, each.name), int)
    }


def node_variables() -> list[str]:
    """The environment variables that are settings of a storage node."""
    kinds = (NodeSettings, LogStoreSettings, DeliverySettings)
    return [NODE_PREFIX + name.upper() for kind in kinds for name in numeric_settings(kind)]


OF_A_CLUSTERS_NODE: Mapping[str, int] = {"round_interval_ms": 2}
"""Where a node among others differs from one that is alone: each append is a round on every replica, and a fetch and
its answer for each follower, so small rounds cost three machines what they gain one request."""


def load_node_settings(environment: Mapping[str, str], *, log_store: Mapping[str, int] | None = None) -> NodeSettings:
    """`log_store` are other defaults of its fields. Raises SettingsError naming the variable."""
    of_node = numeric_settings(NodeSettings)
    of_log_store = numeric_settings(LogStoreSettings)
    of_delivery = numeric_settings(DeliverySettings)
    node_values: dict[str, Any] = {}
    log_store_values: dict[str, Any] = dict(log_store or {})
    delivery_values: dict[str, Any] = {}
    for variable in sorted(environment):
        if not variable.startswith(NODE_PREFIX) or is_foreign(variable, environment[variable]):
            continue
        name = variable.removeprefix(NODE_PREFIX).lower()
        if name in of_node:
            values = node_values
        elif name in of_log_store:
            values = log_store_values
        elif name in of_delivery:
            values = delivery_values
        else:
            continue  # told by who starts the process, see `app.configuration.environment_variables`
        try:
            value = int(environment[variable])
        except ValueError:
            raise SettingsError(f"{variable} is {environment[variable]!r}, it must be a whole number") from None
        if value < 0:
            raise SettingsError(f"{variable} is {value}, it must not be negative")
        values[name] = value
    try:
        return NodeSettings(
            log_store=LogStoreSettings(**log_store_values),
            delivery=DeliverySettings(**delivery_values),
            **node_values,
        )
    except ValueError as error:
        raise SettingsError(f"The {NODE_PREFIX}* settings do not fit together: {error}") from error
