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

    def stays_registered(self, node: Node) -> bool:
        """It runs and reaches the coordination store, whatever else is wrong with it."""
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


def quorums(state: PartitionState, minimum: int, view: View, *, impaired: Collection[Node]) -> Iterator[Quorum]:
    """Every quorum that could take writes, now or after a change of leader: who is out of the ISR may come back under
    one that is not, unless its disk is among the `impaired`, as those are called that took nothing of late.
    Where the leader itself could commit there is no reason for a change, so a quorum without it does not count."""
    members = set(state.isr) | set(state.replicas).difference(impaired)
    heirs = _heirs(state, view, impaired)
    circles = list(_circles(state, minimum, view, members))
    leads_on = any(state.leader in circle for circle in circles)
    for circle in circles:
        if state.leader not in circle and (leads_on or heirs.isdisjoint(circle)):
            continue
        for gateway in view.sound_gateways():
            if all(view.is_reached(node, gateway) for node in circle):
                yield Quorum(gateway, circle)


def _heirs(state: PartitionState, view: View, impaired: Collection[Node]) -> set[Node]:
    """Who may be the next leader. One that is still registered hands nothing over to a disk that is called impaired or
    a copy that is known to be damaged, and the controller takes nothing away from it for them; of one that is gone,
    any member of the ISR takes the place."""
    if not view.stays_registered(state.leader):
        return set(state.isr)
    return set(state.isr).difference(impaired, state.damaged)


def _circles(state: PartitionState, minimum: int, view: View, members: Collection[Node]) -> Iterator[frozenset[Node]]:
    """Replicas that could commit together under one of them that may be elected."""
    sound = [node for node in state.replicas if node in members and view.is_sound(node)]
    for size in range(max(1, minimum), len(sound) + 1):
        for circle in combinations(sound, size):
            if all(view.hear_each_other(one, other) for one, other in combinations(circle, 2)):
                yield frozenset(circle)
