"""File descriptors: how many the process may have, and who gets how many of them.

Connections come from anybody, and a log that cannot open its next file can store nothing. So the engine's share is set
aside first, and connections get what is left.
"""

import resource
from dataclasses import dataclass

import structlog

from app.configuration.setting_error import SettingsError
from app.http.protocol.server import BACKLOG

_log = structlog.get_logger(__name__)

OWN = 64
"""Standard streams, event loop, coordination store, checkpoints that are being written, files that threads hold open
beyond the cache of open ones."""
PEERS = 128
"""Connections that a process of a cluster makes itself: to nodes and to etcd."""
CONNECTIONS_MIN = 16


@dataclass(frozen=True, slots=True)
class DescriptorPlan:
    """`backlog` connections may be accepted in one turn of the event loop, before the first one is refused."""

    total: int
    open_files: int
    backlog: int
    connections: int
    connections_wanted: int


def raise_descriptor_limit() -> int:
    """Let the process have as many descriptors as it may; how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            return soft
    return hard


def plan_descriptors(
    total: int, *, connections_max: int, open_files_max: int = 0, journal_files_max: int = 0, others: int = 0
) -> DescriptorPlan:
    """`others`: what is needed beside files, connections from outside and OWN. Raises SettingsError where too few are
    left for connections."""
    backlog = min(BACKLOG, total // 8)
    open_files = min(open_files_max, total // 4)
    left = total - OWN - others - journal_files_max - open_files - backlog
    if left < CONNECTIONS_MIN:
        raise SettingsError(
            f"the process may have {total} file descriptors, of which {left} would be left for connections: raise the "
            "limit (ulimit -Hn, LimitNOFILE in systemd)"
        )
    return DescriptorPlan(total, open_files, backlog, min(connections_max, left), connections_max)


def report(plan: DescriptorPlan) -> None:
    """Say at the start what the limits are, and where connections get less than the settings say."""
    _log.info(
        "descriptors",
        total=plan.total,
        open_files_max=plan.open_files,
        connections_max=plan.connections,
        connections_wanted=plan.connections_wanted,
    )
