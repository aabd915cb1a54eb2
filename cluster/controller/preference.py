"""Which replica should lead when all are well: leaderships spread as evenly as the placement allows. Pure.

A change of preference only reorders a partition's replicas. Where no single change helps, a chain does: the overloaded
node's partition is preferred by a second node, one of whose partitions is preferred by a third. Each chain takes one
leadership from a node that has at least two more than the one that gets it, so there is an end.
"""

from collections.abc import Iterator
from itertools import pairwise

from cluster.controller.replica_placement import PartitionId

Reorder = tuple[PartitionId, tuple[int, ...]]


class PreferenceBalance:
    """`replicas` has the partitions whose preference may change, `nodes` those that may be preferred, in order."""

    def __init__(self, replicas: dict[PartitionId, tuple[int, ...]], nodes: list[int]) -> None:
        self._replicas = dict(replicas)
        self._load = dict.fromkeys(nodes, 0)
        self._could_lead: dict[int, dict[int, dict[PartitionId, None]]] = {node: {} for node in nodes}
        for partition in sorted(self._replicas):
            self._count(partition, +1)

    def chains(self) -> Iterator[list[Reorder]]:
        """What evens the load out by one leadership each; nothing when it is as even as it can be."""
        while True:
            path = self._path()
            if path is None:
                return
            chain = []
            for giver, taker in pairwise(path):
                partition = next(iter(self._could_lead[giver][taker]))
                before = self._replicas[partition]
                after = (taker, *(node for node in before if node != taker))
                self._count(partition, -1)
                self._replicas[partition] = after
                self._count(partition, +1)
                chain.append((partition, after))
            yield chain

    def _count(self, partition: PartitionId, change: int) -> None:
        preferred, *others = self._replicas[partition]
        if preferred not in self._load:
            return
        self._load[preferred] += change
        for node in others:
            if node in self._load:
                partitions = self._could_lead[preferred].setdefault(node, {})
                if change > 0:
                    partitions[partition] = None
                else:
                    del partitions[partition]

    def _path(self) -> list[int] | None:
        """The shortest from the most loaded node that can give to one with at least two less."""
        for start in sorted(self._load, key=lambda node: (-self._load[node], node)):
            came_from = {start: start}
            waiting = [start]
            for node in waiting:
                if self._load[node] <= self._load[start] - 2:
                    return _walk_back(came_from, node)
                for follower in sorted(self._could_lead[node]):
                    if self._could_lead[node][follower] and follower not in came_from:
                        came_from[follower] = node
                        waiting.append(follower)
        return None


def _walk_back(came_from: dict[int, int], end: int) -> list[int]:
    path = [end]
    while came_from[path[-1]] != path[-1]:
        path.append(came_from[path[-1]])
    return path[::-1]
