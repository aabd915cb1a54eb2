"""What operators ask of the cluster, and how it is shown."""

from typing import Annotated

import msgspec
from msgspec import Meta

from acklog.wire import limits
from cluster.controller.moves import MoveKind
from cluster.controller.progress import (
    PartitionTrouble,
)

NODE_ID_MAX = limits.NODE_ID_MAX


NODES_NAMED_MAX = 1_000


MOVES_NAMED_MAX = 1_000


LISTED_MAX = 10_000


_Node = Annotated[int, Meta(ge=1, le=NODE_ID_MAX)]


_Nodes = Annotated[list[_Node], Meta(max_length=NODES_NAMED_MAX)]


_Replicas = Annotated[
    list[_Node],
    Meta(min_length=1, max_length=limits.REPLICAS_MAX, description="node ids, the preferred leader first"),
]


_Partition = Annotated[int, Meta(ge=0, lt=limits.PARTITIONS_MAX)]


class MoveFields(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `PUT /cluster/moves/{topic}/{partition}`."""

    replicas: _Replicas


class PlannedMoveFields(msgspec.Struct, forbid_unknown_fields=True):
    """A move to try out."""

    topic: str
    partition: _Partition
    replicas: _Replicas


class PlanFields(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `POST /cluster/plan`: what would be moved if this were so. Without a body: as things are."""

    drain: Annotated[_Nodes, Meta(description="as if these nodes were drained")] = []
    lost: Annotated[_Nodes, Meta(description="as if these nodes were away for too long")] = []
    moves: Annotated[
        list[PlannedMoveFields], Meta(max_length=MOVES_NAMED_MAX, description="as if these moves were asked for")
    ] = []
    limit: Annotated[int, Meta(ge=1, le=LISTED_MAX, description="moves found at most")] = 1000


class UncleanPlanFields(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `POST /cluster/partitions/{topic}/{partition}/unclean-election/plan`."""

    node: Annotated[_Node | None, Meta(description="whom to elect; without it the replica that loses least")] = None


class UncleanElectionFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /cluster/partitions/{topic}/{partition}/unclean-election`: the `order` of a plan, as it was
    given. It is carried out only while nothing of it has changed."""

    node: _Node
    incarnation: Annotated[int, Meta(ge=0, description="the life of the node that was looked at")]
    directory_id: Annotated[str, Meta(max_length=200, description="of the node's data directory")]
    revision: Annotated[int, Meta(ge=1, description="of the partition in the coordination store")]


class DecommissionFields(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `PUT /topics/{topic}/decommissioned`. What is decommissioned already stays so."""

    partitions: Annotated[list[_Partition], Meta(min_length=1, max_length=limits.PARTITIONS_MAX)]


class ClusterNodeView(msgspec.Struct, rename="camel"):
    """A node that is not `live` is away. One that is `draining` can be stopped for good when `replicas` is 0; one that
    is `leaving` is about to stop, and comes back. `rack` "" is a rack of the node's own. `protocol` is the newest
    version of the protocol between nodes that it speaks, 0 where it is away, or of a version that does not say."""

    node: int
    address: str
    rack: str
    live: bool
    draining: bool
    leaving: bool
    replicas: int
    leaders: int
    protocol: int


class MoveProgressView(msgspec.Struct, rename="camel"):
    """A move under way, `from` some nodes `to` others; it waits for the new replicas in `waiting_for` to be in sync."""

    topic: str
    partition: int
    from_nodes: list[int] = msgspec.field(name="from")
    to_nodes: list[int] = msgspec.field(name="to")
    waiting_for: list[int]


class TroubledPartitionView(msgspec.Struct, rename="camel"):
    """A partition and the worst that it lacks: no living leader, enough in sync for `acks=all`, or all its replicas."""

    topic: str
    partition: int
    trouble: PartitionTrouble
    leader: int | None
    replicas: list[int]
    in_sync_replicas: list[int]


class ClusterView(msgspec.Struct, rename="camel"):
    """With `embedded`, gateway, node and controller are one process, and there is no other node.

    `controller` is the node that has the office, null while there is none. While the coordination store is away
    (`store_reachable`), data is served as long as nothing changes, and all of this is as it was last known.

    The counts are those of the whole cluster. `moves` and `troubled` name only topics that the token is for; `complete`
    is false where there are more of them than `limit`.

    A live node whose `protocol` is below `neededProtocol` cannot serve some group that there is.
    """

    embedded: bool
    controller: int | None
    needed_protocol: int
    store_reachable: bool
    automatic_moves: bool
    nodes: list[ClusterNodeView]
    partitions: int
    without_leader: int
    below_min_insync: int
    under_replicated: int
    decommissioned: int
    moving: int
    orders_waiting: int
    moves: list[MoveProgressView]
    troubled: list[TroubledPartitionView]
    complete: bool


class PlannedMoveView(msgspec.Struct, rename="camel"):
    """One move of a dry run, and why it would be made."""

    topic: str
    partition: int
    kind: MoveKind
    from_nodes: list[int] = msgspec.field(name="from")
    to_nodes: list[int] = msgspec.field(name="to")
    reason: str


class StuckPartitionView(msgspec.Struct):
    topic: str
    partition: int


class PlanView(msgspec.Struct):
    """`moves` in the order in which they would begin, and `stuck`, what cannot be moved off the nodes that go: no node
    is left for it, or no leader to copy from. Only of topics that the token is for. Where it is not `complete`, there
    are more moves than were looked for, and what is stuck is not known."""

    moves: list[PlannedMoveView]
    stuck: list[StuckPartitionView]
    complete: bool


class OrderView(msgspec.Struct):
    """A move that was asked for: the partition's replicas are to be these, the preferred leader first."""

    topic: str
    partition: int
    replicas: list[int]
