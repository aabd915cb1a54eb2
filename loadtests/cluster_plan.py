"""What the benchmarks of a cluster do and for how long."""

from dataclasses import dataclass

CLUSTER_SCENARIOS = ("open-loop", "singles", "batches", "receives", "roles")
CLUSTER_DEADLINE_S = 450.0
"""A run that takes longer is given up: all of it, with the stop of the cluster, ends within eight minutes."""
FAILOVER_DEADLINE_S = 150.0
"""Within three minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """Durations in seconds, of one measurement in one round after its warm-up. In a round the embedded server is
    measured right before the cluster. Only one of them has anything to do at a time."""

    scenarios: tuple[str, ...] = CLUSTER_SCENARIOS
    nodes: int = 3
    gateways: int = 1
    rounds: int = 3
    seconds: float = 3.0
    warm_up_s: float = 0.7
    open_loop_seconds: float = 6.0
    open_loop_rates: tuple[int, ...] = (500, 2000)
    open_loop_connections: int = 128
    partitions: int = 9
    single_connections: int = 128
    batch_messages: int = 1000
    batch_connections: int = 4
    receive_connections: int = 4
    receive_max: int = 1000
    stored_messages: int = 300_000  # at least so many are stored before any are received
    single_answers_max: int = 200_000  # per measurement
    batch_answers_max: int = 2_000  # per measurement

    def planned_s(self) -> float:
        """How long the measurements take at most, without starts, preparations and what is left of requests."""
        return self.rounds * sum(self._round_s(name) for name in self.scenarios)

    def _round_s(self, scenario: str) -> float:
        one = self.seconds + self.warm_up_s
        if scenario == "open-loop":
            return len(self.open_loop_rates) * 4 * (self.open_loop_seconds + self.warm_up_s)
        if scenario in ("singles", "batches"):
            return 4 * one  # acks all and 1, each on both
        return 2 * one


QUICK_CLUSTER = ClusterPlan(
    rounds=1, seconds=1.0, warm_up_s=0.3, open_loop_seconds=2.0, stored_messages=60_000, open_loop_rates=(500,)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverPlan:
    """A number of nodes are killed and started again, one after the other, then one is stopped in an orderly way.
    Meanwhile `steady_rate` single sends a second go to all partitions in turn."""

    nodes: int = 3
    gateways: int = 1
    topics: int = 1
    partitions: int = 1000
    """Of all topics together."""
    kills: int = 3
    balanced_kills: int = 2
    """Before so many, each node leads its share again, as the controller sees to it within a minute. What is killed
    after them leads whatever it has got."""
    stops: int = 1
    steady_rate: float = 100.0
    steady_connections: int = 256
    connections_max: int = 1000
    """Partitions that are probed at the same time, each on a connection of its own."""
    retry_pause_s: float = 0.01
    """Between a write that failed and the next one to that partition."""
    stop_probe_pause_s: float = 1.0
    """Between the writes to each partition of a node that is being stopped."""
    calm_s: float = 2.0
    """Before each event."""
    first_write_timeout_s: float = 60.0
    next_write_timeout_s: float = 30.0
    in_sync_timeout_s: float = 40.0
    balance_timeout_s: float = 120.0


QUICK_FAILOVER = FailoverPlan(partitions=60, kills=1, calm_s=0.5)
