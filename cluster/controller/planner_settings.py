"""The planner's limits and its patience."""

from dataclasses import dataclass

_MINUTE_MS = 60 * 1000


@dataclass(frozen=True, slots=True)
class PlannerSettings:
    repair_delay_ms: int = 5 * _MINUTE_MS
    """How long a node may be away before its replicas are made anew on others. Elections do not wait for it. Counts
    from when this controller first missed the node, so a new controller begins anew."""

    preferred_delay_ms: int = 30_000
    """How long a node must have lived before it gets its preferred leaderships back."""

    balance_delay_ms: int = _MINUTE_MS
    """How long a node must have lived before replicas are moved for balance only."""

    round_interval_ms: int = 1_000
    """The least time between two looks at moves and preferred leaders."""

    moves_max: int = 8
    """Partitions whose replicas move at the same time; 0 for none, whoever wants it."""

    moves_per_node_max: int = 2
    """Replicas that one node fills at the same time because of moves."""

    leader_moves_max: int = 16
    """Leaderships that are moved in one round while their leaders are well."""
