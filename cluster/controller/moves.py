"""Which replicas should move, and why: pure, on a placement, so that a dry run is the same code without limits.

What is necessary comes first: replicas on nodes that are away for too long or are drained are made anew elsewhere, and
each partition gets as many replicas as its topic asks for. Then what improves: replicas of one partition in different
racks, then equal loads. Each improvement makes (pairs of replicas that share a rack, sum of squared loads) smaller, and
no necessary move is ever caused by one; so moving comes to an end, and never goes back and forth.
"""

from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass
from enum import Enum

from cluster.controller.replica_placement import PartitionId, ReplicaPlacement


class MoveKind(Enum):
    ORDERED = "ordered"
    REPAIR = "repair"
    DRAIN = "drain"
    REPLICATION = "replication"
    SPREAD = "spread"
    BALANCE = "balance"


@dataclass(frozen=True, slots=True)
class Move:
    """`before` and `after` are the partition's replicas, the preferred leader first; `reason` is for an operator."""

    topic_id: str
    partition: int
    kind: MoveKind
    before: tuple[int, ...]
    after: tuple[int, ...]
    reason: str

    @property
    def partition_id(self) -> PartitionId:
        return self.topic_id, self.partition


@dataclass(frozen=True, slots=True)
class Movable:
    """What a move of a partition depends on beside the placement. `is_moving`: only a necessary move is made."""

    replication_factor: int
    isr: tuple[int, ...]
    leader: int
    is_moving: bool = False


class MoveFinder:
    """`lost` are nodes that are away for too long, `draining` those that are to be emptied. Partitions that are not
    `movable` stay: they have no leader that new replicas could copy from."""

    def __init__(
        self,
        placement: ReplicaPlacement,
        movable: dict[PartitionId, Movable],
        *,
        lost: Collection[int],
        draining: Collection[int],
    ) -> None:
        self._placement = placement
        self._movable = movable
        self._lost = lost
        self._draining = draining

    # --- necessary ---------------------------------------------------------------------------------------------------

    def necessary(self) -> Iterator[Move]:
        """The most urgent first. What the caller does not `place` is only left out."""
        urgent = sorted(
            (len(movable.isr), partition)
            for partition, movable in self._movable.items()
            if self._needs_a_move(partition, movable)
        )
        for _, partition in urgent:
            move = self._necessary_move(partition, self._movable[partition])
            if move is not None:
                yield move

    def _needs_a_move(self, partition: PartitionId, movable: Movable) -> bool:
        replicas = self._placement.replicas[partition]
        if any(node in self._lost or node in self._draining for node in replicas):
            return True
        return len(replicas) != movable.replication_factor and not movable.is_moving

    def _necessary_move(self, partition: PartitionId, movable: Movable) -> Move | None:
        before = self._placement.replicas[partition]
        after = list(before)
        kinds: list[MoveKind] = []
        reasons: list[str] = []
        for node in before:
            if node not in self._lost and node not in self._draining:
                continue
            others = [each for each in after if each != node]
            substitute = self._placement.best_node(partition[0], others)
            if len(others) >= movable.replication_factor:
                after = others
            elif substitute is not None:
                after[after.index(node)] = substitute
            else:
                continue
            is_drained = node in self._draining
            kinds.append(MoveKind.DRAIN if is_drained else MoveKind.REPAIR)
            reasons.append(f"node {node} is drained" if is_drained else f"node {node} is away for too long")
        if len(after) != movable.replication_factor and not movable.is_moving:
            had = len(after)
            self._resize(partition, after, movable)
            if len(after) != had:
                kinds.append(MoveKind.REPLICATION)
                reasons.append(f"the topic asks for {movable.replication_factor} replicas")
        if tuple(after) == before:
            return None
        return Move(*partition, kinds[0], before, tuple(after), ", ".join(reasons))

    def _resize(self, partition: PartitionId, after: list[int], movable: Movable) -> None:
        while len(after) < movable.replication_factor:
            node = self._placement.best_node(partition[0], after)
            if node is None:
                return
            after.append(node)
        while len(after) > movable.replication_factor:
            after.remove(max(after, key=lambda node: self._dispensability(node, after, movable)))

    def _dispensability(self, node: int, replicas: list[int], movable: Movable) -> tuple[bool, bool, int, int, int]:
        shares = self._placement.shared_racks(replicas)
        spared = shares - self._placement.shared_racks(each for each in replicas if each != node)
        return node not in movable.isr, node != movable.leader, spared, self._placement.load(node), node

    # --- improving ---------------------------------------------------------------------------------------------------

    def improving(self, *, but: Container[PartitionId] = ()) -> Iterator[Move]:
        """Each given that the caller placed the one before; ends where nothing is left to improve. What comes to be in
        `but` stays."""
        for find in (self._spread_move, self._balance_move):  # balance never undoes what spread did
            while (move := find(but)) is not None:
                yield move
                if self._placement.replicas[move.partition_id] != move.after:
                    return

    def _spread_move(self, but: Container[PartitionId]) -> Move | None:
        placement = self._placement
        fewest: dict[int, int] = {}
        for partition, movable in self._movable.items():
            before = placement.replicas[partition]
            shared = placement.shared_racks(before)
            if movable.is_moving or not shared or partition in but:
                continue
            if len(before) not in fewest:
                fewest[len(before)] = placement.fewest_shared_racks(len(before))
            if shared <= fewest[len(before)]:
                continue
            after = self._better_spread(before, shared)
            if after is not None:
                reason = "its replicas share racks that they need not share"
                return Move(*partition, MoveKind.SPREAD, before, after, reason)
        return None

    def _better_spread(self, before: tuple[int, ...], shared: int) -> tuple[int, ...] | None:
        """One replica replaced, so that fewer share racks; of the best, from the most to the least loaded node."""
        placement = self._placement
        options = []
        for node in before:
            for candidate in placement.usable:
                if candidate not in before:
                    after = tuple(candidate if each == node else each for each in before)
                    score = placement.shared_racks(after)
                    if score < shared:
                        options.append((score, placement.load(candidate), -placement.load(node), after))
        return min(options)[3] if options else None

    def _balance_move(self, but: Container[PartitionId]) -> Move | None:
        loads = sorted((self._placement.load(node), node) for node in self._placement.usable)
        for high_load, high in reversed(loads):
            for low_load, low in loads:
                if high_load - low_load < 2:
                    break
                move = self._balance_between(high, low, but)
                if move is not None:
                    return move
        return None

    def _balance_between(self, high: int, low: int, but: Container[PartitionId]) -> Move | None:
        placement = self._placement
        reason = f"node {high} holds {placement.load(high)} replicas, node {low} only {placement.load(low)}"
        best: tuple[tuple[int, bool, str, int], Move] | None = None
        for partition in placement.on_node[high]:
            movable = self._movable.get(partition)
            before = placement.replicas[partition]
            if movable is None or movable.is_moving or low in before or partition in but:
                continue
            topic_id, number = partition
            uneven = placement.topic_load(topic_id, low) - placement.topic_load(topic_id, high)
            rank = (uneven, high in {before[0], movable.leader}, topic_id, number)
            if best is not None and rank >= best[0]:
                continue
            if not placement.is_worse_spread(before, without=high, instead=low):
                after = tuple(low if node == high else node for node in before)
                best = rank, Move(topic_id, number, MoveKind.BALANCE, before, after, reason)
        return None if best is None else best[1]
