"""Whether what is left of a cluster could take writes of a partition: a pure decision about who is sound, and who
reaches whom."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

from cluster.model.values import PartitionState

Node = int
GatewayName = str


class View(Protocol):
    """The world as nobody within it sees it."""

    def is_sound(self, node: Node) -> bool:
        """It runs, has room on its disk, and reaches the coordination store."""
        ...

    def hear_each_other(self, one: Node, other: Node) -> bool: ...

    def sound_gateways(self) -> Collection[GatewayName]:
        """Those that run, and reach the coordination store."""
        ...

    def is_reached(self, node: Node, gateway: GatewayName) -> bool: ...


@dataclass(frozen=True, slots=True)
class Quorum:
    """`members` are enough to commit, some of them in sync, and `gateway` reaches all of them."""

    gateway: GatewayName
    members: frozenset[Node]


def quorums(state: PartitionState, minimum: int, view: View, *, members: Collection[Node]) -> Iterator[Quorum]:
    """Every quorum of `members` that could take writes, now or after a change of leader: who is out of the ISR may come
    back under one that is not.
    Where the leader itself could commit there is no reason for a change, so a quorum without it does not count."""
    circles = list(_circles(state, minimum, view, members))
    leads_on = any(state.leader in circle for circle in circles)
    for circle in circles:
        if leads_on and state.leader not in circle:
            continue
        for gateway in view.sound_gateways():
            if not set(circle).isdisjoint(state.isr) and all(view.is_reached(node, gateway) for node in circle):
                yield Quorum(gateway, circle)


def _circles(state: PartitionState, minimum: int, view: View, members: Collection[Node]) -> Iterator[frozenset[Node]]:
    """Replicas that could commit together under one of them that may be elected."""
    sound = [node for node in state.replicas if node in members and view.is_sound(node)]
    for size in range(max(1, minimum), len(sound) + 1):
        for circle in combinations(sound, size):
            if all(view.hear_each_other(one, other) for one, other in combinations(circle, 2)):
                yield frozenset(circle)
