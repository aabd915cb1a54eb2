"""The cluster as the API describes it: nodes, moves of replicas, partitions in trouble."""

import msgspec
from msgspec import field


class ClusterNode(msgspec.Struct):
    """A node that is not `live` is away. One that is `draining` can be stopped for good when `replicas` is 0; one that
    is `leaving` is about to stop, and comes back. `rack` is what fails together, "" a rack of the node's own."""

    node: int
    address: str
    rack: str
    live: bool
    draining: bool
    leaving: bool
    replicas: int
    leaders: int


class MoveProgress(msgspec.Struct, rename="camel"):
    """A move under way; it waits for the new replicas in `waiting_for` to be in sync."""

    topic: str
    partition: int
    from_nodes: list[int] = field(name="from")
    to_nodes: list[int] = field(name="to")
    waiting_for: list[int]


class TroubledPartition(msgspec.Struct, rename="camel"):
    """`trouble` is the worst that the partition lacks: "withoutLeader", "belowMinInsync" (`acks=all` is refused) or
    "underReplicated"."""

    topic: str
    partition: int
    trouble: str
    leader: int | None
    replicas: list[int]
    in_sync_replicas: list[int]


class ClusterStatus(msgspec.Struct, rename="camel"):
    """The counts are those of the whole cluster; `moves` and `troubled` name what the token may see, and `complete` is
    False where there is more than was asked for. While the coordination store is away (`store_reachable`), all is as it
    was last known."""

    embedded: bool
    """One process is everything: there is one node, and nothing to move."""
    controller: int | None
    store_reachable: bool
    automatic_moves: bool
    nodes: list[ClusterNode]
    partitions: int
    without_leader: int
    below_min_insync: int
    under_replicated: int
    decommissioned: int
    moving: int
    orders_waiting: int
    moves: list[MoveProgress]
    troubled: list[TroubledPartition]
    complete: bool


class PlannedMove(msgspec.Struct):
    """One move of a dry run. `kind` is "ordered", "repair", "drain", "replication", "spread" or "balance"."""

    topic: str
    partition: int
    kind: str
    from_nodes: list[int] = field(name="from")
    to_nodes: list[int] = field(name="to")
    reason: str


class StuckPartition(msgspec.Struct):
    topic: str
    partition: int


class MovePlan(msgspec.Struct):
    """`moves` in the order in which they would begin. `stuck` cannot be moved off the nodes that go: no node is left
    for it, or no leader to copy from. Where it is not `complete`, there are more moves than were looked for."""

    moves: list[PlannedMove]
    stuck: list[StuckPartition]
    complete: bool


class MoveOrder(msgspec.Struct):
    """The partition's replicas are to be on these nodes, the preferred leader first."""

    topic: str
    partition: int
    replicas: list[int]
