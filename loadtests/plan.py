"""What a benchmark run does and for how long."""

import os
from dataclasses import dataclass

CPUS_NEEDED_TO_SPIN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Durations in seconds, per measurement."""

    seconds: float = 6.0
    warm_up_s: float = 1.0
    disk_appends: int = 400
    connection_counts: tuple[int, ...] = (64, 256)
    open_loop_rates: tuple[int, ...] = (1000, 3000)
    open_loop_connections: int = 256
    batch_messages: int = 1000
    batch_connections: int = 4
    receive_messages: int = 1_000_000
    receive_connections: int = 4
    receive_max: int = 1000
    records_bytes: int = 4 * 1024 * 1024


QUICK = Plan(seconds=1.5, warm_up_s=0.5, disk_appends=100, receive_messages=100_000)


@dataclass(frozen=True, slots=True)
class Cpus:
    """Which processors the server and the load generator are pinned to; None where that cannot be had."""

    server: frozenset[int] | None
    client: frozenset[int] | None

    @property
    def is_client_alone(self) -> bool:
        """Then it may spin between sends, which takes nothing from the server."""
        return self.client is not None and (self.server is None or not self.client & self.server)


def share_cpus() -> Cpus:
    """One processor for the load, where there are two; the server may use both, as it would in real life."""
    if not hasattr(os, "sched_getaffinity"):
        return Cpus(None, None)
    available = sorted(os.sched_getaffinity(0))
    if len(available) < CPUS_NEEDED_TO_SPIN:
        return Cpus(None, None)
    return Cpus(frozenset(available), frozenset({available[1]}))
