"""What a benchmark run does and for how long."""

import os
from dataclasses import dataclass

CPUS_NEEDED_TO_SPIN = 2
SCENARIOS = ("machine", "singles", "open-loop", "batches", "burst", "receives", "records", "sdk")
DEADLINE_S = 570.0  # a run that takes longer is given up: all of it, with starts and stops, ends within ten minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Durations in seconds: of one measurement in one round, after its warm-up, which is not counted. In a round the
    limits are measured right before the result that is held against them. What is bounded in time is bounded in count,
    too: memory and disk stay within bounds however fast the machine is."""

    scenarios: tuple[str, ...] = SCENARIOS
    rounds: int = 3
    seconds: float = 3.0
    limit_seconds: float = 2.0
    warm_up_s: float = 0.7
    open_loop_seconds: float = 6.0
    codec_seconds: float = 1.0
    disk_appends: int = 400
    sequential_bytes: int = 128 * 1024 * 1024
    connection_counts: tuple[int, ...] = (64, 256)
    open_loop_rates: tuple[int, ...] = (1000, 3000)
    open_loop_connections: int = 256
    batch_messages: int = 1000
    batch_connections: int = 4
    burst_messages: int = 250  # in a batch, of 1 KB each
    burst_rate: int = 100  # single sends per second beside the batches
    receive_connections: int = 4
    receive_max: int = 1000
    records_bytes: int = 4 * 1024 * 1024
    stored_messages: int = 1_000_000  # at least so many are stored before any are received or read
    single_answers_max: int = 400_000  # per measurement
    batch_answers_max: int = 6_000  # per measurement

    def planned_s(self) -> float:
        """How long the measurements take at most, without starts of servers, preparations and what is left of
        requests at an end."""
        return self.rounds * sum(self._round_s(name) for name in self.scenarios)

    def _round_s(self, scenario: str) -> float:
        result, limit = self.seconds + self.warm_up_s, self.limit_seconds + self.warm_up_s
        if scenario == "machine":
            return self.codec_seconds
        if scenario == "singles":
            return len(self.connection_counts) * (result + 3 * limit)
        if scenario == "open-loop":
            return len(self.open_loop_rates) * 3 * (self.open_loop_seconds + self.warm_up_s)
        if scenario == "batches":
            return result + limit
        if scenario == "burst":
            return self.open_loop_seconds + self.warm_up_s
        if scenario == "receives":
            return result + limit
        if scenario == "records":
            return 2 * (limit + limit)
        return 2 * limit + 6 * self.seconds  # sdk: two producers, and two consumers that have to be given messages


QUICK = Plan(
    rounds=1,
    seconds=1.0,
    limit_seconds=0.7,
    warm_up_s=0.3,
    open_loop_seconds=1.5,
    codec_seconds=0.3,
    disk_appends=100,
    sequential_bytes=32 * 1024 * 1024,
    stored_messages=100_000,
)


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
