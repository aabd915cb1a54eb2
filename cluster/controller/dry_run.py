"""What the controller would move, all of it at once: the same decisions as those it makes, without limits. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cluster.controller.image import ClusterImage
from cluster.controller.leadership import is_led
from cluster.controller.moves import Movable, Move, MoveFinder, MoveKind
from cluster.controller.replica_placement import PartitionId, ReplicaPlacement
from cluster.model.steering import PartitionOrder
from cluster.model.values import PartitionLife, PartitionState

MOVES_LISTED_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Proposal:
    """`moves` in the order in which they would be started. `stuck` are partitions that cannot be moved away, since no
    node is left that could take them or no leader that could be copied from. `is_complete` is false where there are
    more moves than the limit; what is stuck is not known then."""

    moves: tuple[Move, ...]
    stuck: tuple[PartitionId, ...]
    is_complete: bool


class DryRun:
    """What would happen if the nodes in `drain` were drained as well, if those in `lost` were away for too long, and if
    `orders` were given: until nothing is left to improve. Nothing is written."""

    def __init__(
        self,
        image: ClusterImage,
        *,
        drain: Sequence[int] = (),
        lost: Sequence[int] = (),
        orders: Iterable[PartitionOrder] = (),
    ) -> None:
        membership = image.membership
        self._draining = (*drain, *(member.node_id for member in membership.members() if member.is_draining))
        self._lost = tuple(lost)
        self._orders = tuple(orders)
        self._placement = ReplicaPlacement(membership, unusable=(*self._draining, *lost))
        self._states: dict[PartitionId, PartitionState] = {}
        self._movable: dict[PartitionId, Movable] = {}
        for entry in image.catalog.entries():
            for number, state in entry.partitions.items():
                if entry.topic is None or state.life is PartitionLife.GONE:
                    continue
                partition = (entry.id, number)
                self._states[partition] = state
                self._placement.place(partition, state.target)
                if is_led(state, membership):
                    factor = entry.topic.replication_factor
                    self._movable[partition] = Movable(factor, state.isr, state.leader, state.is_moving)

    def moves(self) -> Iterator[Move]:
        """In the order in which they would be started; to be asked for once. Each costs up to some microseconds per
        partition of the cluster to find, so a caller with other things to do takes them a few at a time."""
        for order in self._orders:
            partition = (order.topic_id, order.partition)
            if partition in self._states and self._placement.replicas[partition] != order.replicas:
                before = self._placement.replicas[partition]
                yield self._placed(
                    Move(*partition, MoveKind.ORDERED, before, order.replicas, "an operator asked for it")
                )
        finder = MoveFinder(self._placement, self._movable, lost=self._lost, draining=self._draining)
        for found in (finder.necessary(), finder.improving()):
            for move in found:
                yield self._placed(move)

    def stuck(self) -> tuple[PartitionId, ...]:
        """What cannot be moved off the nodes that go: what is still there once `moves` has ended."""
        leaving = (*self._draining, *self._lost)
        return tuple(
            partition
            for partition, replicas in sorted(self._placement.replicas.items())
            if any(node in leaving for node in replicas)
        )

    def _placed(self, move: Move) -> Move:
        self._placement.place(move.partition_id, move.after)
        return move


def propose(
    image: ClusterImage,
    *,
    drain: Sequence[int] = (),
    lost: Sequence[int] = (),
    orders: Iterable[PartitionOrder] = (),
    moves_max: int = MOVES_LISTED_MAX,
) -> Proposal:
    """A whole dry run at once."""
    run = DryRun(image, drain=drain, lost=lost, orders=orders)
    moves: list[Move] = []
    for move in run.moves():
        if len(moves) == moves_max:
            return Proposal(tuple(moves), (), is_complete=False)
        moves.append(move)
    return Proposal(tuple(moves), run.stuck(), is_complete=True)
