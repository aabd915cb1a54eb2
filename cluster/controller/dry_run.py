"""What the controller would move, all of it at once: the same decisions as those it makes, without limits. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cluster.controller.assignment import Assignment, PartitionId
from cluster.controller.image import ClusterImage
from cluster.controller.leadership import is_led
from cluster.controller.moves import Movable, Move, MoveFinder, MoveKind
from cluster.model import PartitionLife, PartitionState
from cluster.steering import PartitionOrder

MOVES_LISTED_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Proposal:
    """`moves` in the order in which they would be started. `stuck` are partitions that cannot be moved away, since no
    node is left that could take them or no leader that could be copied from; `is_complete` is false where there are
    more moves than the limit."""

    moves: tuple[Move, ...]
    stuck: tuple[PartitionId, ...]
    is_complete: bool


def propose(
    image: ClusterImage,
    *,
    drain: Sequence[int] = (),
    lost: Sequence[int] = (),
    orders: Iterable[PartitionOrder] = (),
    moves_max: int = MOVES_LISTED_MAX,
) -> Proposal:
    """What would happen if these nodes were drained as well, if these were away for too long, and if these orders were
    given: until nothing is left to improve. Nothing is written."""
    membership = image.membership
    draining = [*drain, *(member.node_id for member in membership.members() if member.is_draining)]
    assignment = Assignment(membership, unusable=(*draining, *lost))
    states: dict[PartitionId, PartitionState] = {}
    movable: dict[PartitionId, Movable] = {}
    for entry in image.catalog.entries():
        for number, state in entry.partitions.items():
            if entry.topic is None or state.life is PartitionLife.GONE:
                continue
            partition = (entry.id, number)
            states[partition] = state
            assignment.place(partition, state.target)
            if is_led(state, membership):
                factor = entry.topic.replication_factor
                movable[partition] = Movable(factor, state.isr, state.leader, state.is_moving)
    moves: list[Move] = []
    for order in orders:
        partition = (order.topic_id, order.partition)
        if partition in states and assignment.replicas[partition] != order.replicas:
            before = assignment.replicas[partition]
            move = Move(*partition, MoveKind.ORDERED, before, order.replicas, "an operator asked for it")
            moves.append(move)
            assignment.place(partition, move.after)
    finder = MoveFinder(assignment, movable, lost=lost, draining=draining)
    for found in (finder.necessary(), finder.improving()):
        for move in found:
            if len(moves) == moves_max:
                return Proposal(tuple(moves), _stuck(assignment, (*draining, *lost)), is_complete=False)
            moves.append(move)
            assignment.place(move.partition_id, move.after)
    return Proposal(tuple(moves), _stuck(assignment, (*draining, *lost)), is_complete=True)


def _stuck(assignment: Assignment, leaving: Sequence[int]) -> tuple[PartitionId, ...]:
    return tuple(
        partition
        for partition, replicas in sorted(assignment.replicas.items())
        if any(node in leaving for node in replicas)
    )
