"""Which settings a process can be told anew while it serves, and what a second look at its configuration means to it.

Only what is read where it is used can change: a limit that something was built with (a pool, a queue, a timeout that
was handed on) stays until the next start.
"""

from collections.abc import Mapping
from typing import NamedTuple

from app.configuration.configured_process import ConfiguredProcess

LIVE = frozenset(
    {
        "log_level",
        "tokens_file",
        "no_console",
        "audit",
        "audit_timeout_ms",
        "audit_retention_ms",
        "audit_retention_bytes",
        "audit_waiting_bytes_max",
        "auto_create_topics",
        "auto_create_groups",
        "partitions_default",
        "encrypt_topics",
        "body_timeout_ms",
        "header_timeout_ms",
        "write_timeout_ms",
        "header_bytes_max",
        "url_bytes_max",
        "pipelined_requests_max",
        "send_rounds_max",
        "events_interval_ms",
        "events_watchers_max",
        "tails_max",
    }
)
"""By name, of whatever process has them. A node has `log_level` alone of these."""


class Told(NamedTuple):
    """What a process goes by: `live` by the settings' names, `fixed` as TABLE.NAME, as the file would have it."""

    live: Mapping[str, object]
    fixed: Mapping[str, object]


class Changes(NamedTuple):
    """`live` holds the new values, by name; `at_restart` names what waits for one."""

    live: dict[str, object]
    at_restart: list[str]


def told(process: ConfiguredProcess) -> Told:
    live: dict[str, object] = {}
    fixed: dict[str, object] = {}
    for each in process.shown():
        if each.name in LIVE:
            live[each.name] = each.value
        else:
            fixed[f"{each.table}.{each.name}"] = each.value
    return Told(live, fixed)


def changes(running: Told, now: Told) -> Changes:
    live = {name: value for name, value in now.live.items() if value != running.live[name]}
    at_restart = sorted(name for name, value in now.fixed.items() if value != running.fixed[name])
    return Changes(live, at_restart)
