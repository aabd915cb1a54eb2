"""The cluster as the API describes it: nodes, moves of replicas, partitions in trouble."""

import msgspec
from msgspec import field

from acklog.catalog import UncleanElection


class ClusterNode(msgspec.Struct):
    """A node that is not `live` is away. One that is `draining` can be stopped for good when `replicas` is 0; one that
    is `leaving` is about to stop, and comes back. `rack` is what fails together, "" a rack of the node's own. One whose
    `protocol` is below the cluster's `needed_protocol` cannot serve some group that there is."""

    node: int
    address: str
    rack: str
    live: bool
    draining: bool
    leaving: bool
    replicas: int
    leaders: int
    protocol: int = 0


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
    needed_protocol: int = 0
    """What the groups that there are take of every node."""


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


class LogReach(msgspec.Struct, rename="camel"):
    """How far one log of a replica goes; `last_epoch` is -1 where it is not known."""

    log_start: int
    log_end: int
    last_epoch: int
    high_watermark: int


class UncleanReplica(msgspec.Struct, rename="camel"):
    """`problem` says why it cannot be elected; a node that cannot be asked has no logs here."""

    node: int
    registered: bool
    in_sync: bool
    messages: LogReach | None = None
    delivery: LogReach | None = None
    problem: str | None = None


class UncleanGroup(msgspec.Struct, rename="camel"):
    """How far a group was, as was last heard, and where it would go on."""

    group: str
    progress: int
    progress_then: int


class UncleanLoss(msgspec.Struct, rename="camel"):
    """Messages from `from_offset` on, below `below_offset` as far as is known. The nodes in `unknown_beyond` were in
    sync and cannot be asked: they may have had more."""

    from_offset: int
    below_offset: int
    unknown_beyond: list[int]
    groups: list[UncleanGroup]


class UncleanOrder(msgspec.Struct, rename="camel"):
    """What `elect_unclean` carries out, as long as nothing of it has changed."""

    node: int
    incarnation: int
    directory_id: str
    revision: int


class UncleanPlan(msgspec.Struct, rename="camel"):
    """What an unclean election would do. `loss` and `order` are None where no replica can be elected."""

    topic: str
    partition: int
    leader_epoch: int
    replicas: list[UncleanReplica]
    loss: UncleanLoss | None = None
    order: UncleanOrder | None = None


class UncleanElected(msgspec.Struct, rename="camel"):
    topic: str
    partition: int
    unclean_election: UncleanElection


class MoveOrder(msgspec.Struct):
    """The partition's replicas are to be on these nodes, the preferred leader first."""

    topic: str
    partition: int
    replicas: list[int]
