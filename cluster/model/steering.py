"""What operators ask of the controller: values in the coordination store, which it reads and carries out."""

from enum import Enum

import msgspec


class ClusterSteering(msgspec.Struct, frozen=True, rename="camel"):
    """With `automatic_moves` off the controller moves replicas and preferred leaders only on order; elections, and
    what they need, go on."""

    automatic_moves: bool = True


class NodeSteering(msgspec.Struct, frozen=True, rename="camel"):
    """The node is to be drained: it gets no new replicas, and those that it has move to others, leaderships first."""

    node_id: int
    asked_at_ms: int


class OrderKind(Enum):
    MOVE = "move"
    CANCEL = "cancel"


class PartitionOrder(msgspec.Struct, frozen=True, rename="camel"):
    """MOVE: the partition's replicas are to be `replicas`, the preferred leader first. CANCEL: the move that is under
    way is to be taken back. The controller deletes an order once it is carried out."""

    topic_id: str
    partition: int
    asked_at_ms: int
    kind: OrderKind = OrderKind.MOVE
    replicas: tuple[int, ...] = ()
