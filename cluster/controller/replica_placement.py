"""Which replicas are to be where: a working copy that moves are tried out on, with its loads. Pure.

It holds the *targets*: for a partition whose move is under way, where its replicas will be when it is complete. So what
is decided next counts on what was decided before.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from cluster.metadata.membership import Membership

PartitionId = tuple[str, int]


class ReplicaPlacement:
    """Partitions may only be placed on nodes that `usable` names; existing replicas may be anywhere."""

    def __init__(self, membership: Membership, *, unusable: Collection[int] = ()) -> None:
        self.usable = [member.node_id for member in membership.usable() if member.node_id not in unusable]
        self.replicas: dict[PartitionId, tuple[int, ...]] = {}
        self.on_node: dict[int, dict[PartitionId, None]] = {node: {} for node in self.usable}
        self._membership = membership
        self._racks: dict[int, str] = {}
        self._topic_load: Counter[tuple[str, int]] = Counter()
        self._preferred_load: Counter[int] = Counter()
        self._topic_preferred_load: Counter[tuple[str, int]] = Counter()

    def place(self, partition: PartitionId, replicas: tuple[int, ...]) -> None:
        """Its replicas are these from now on, the preferred leader first."""
        self._count(partition, -1)
        self.replicas[partition] = replicas
        self._count(partition, +1)

    def _count(self, partition: PartitionId, change: int) -> None:
        topic_id = partition[0]
        for position, node in enumerate(self.replicas.get(partition, ())):
            held = self.on_node.setdefault(node, {})
            if change > 0:
                held[partition] = None
            else:
                del held[partition]
            self._topic_load[topic_id, node] += change
            if position == 0:
                self._preferred_load[node] += change
                self._topic_preferred_load[topic_id, node] += change

    # --- loads -------------------------------------------------------------------------------------------------------

    def load(self, node_id: int) -> int:
        """Replicas on the node."""
        return len(self.on_node.get(node_id, ()))

    def topic_load(self, topic_id: str, node_id: int) -> int:
        return self._topic_load[topic_id, node_id]

    def preferred_load(self, node_id: int) -> int:
        """Partitions whose preferred leader is the node."""
        return self._preferred_load[node_id]

    # --- racks -------------------------------------------------------------------------------------------------------

    def rack(self, node_id: int) -> str:
        if node_id not in self._racks:
            self._racks[node_id] = self._membership.get(node_id).rack
        return self._racks[node_id]

    def shared_racks(self, replicas: Iterable[int]) -> int:
        """Pairs of replicas that would fail together: the fewer, the better."""
        racks = [self.rack(node) for node in replicas]
        if len(set(racks)) == len(racks):
            return 0
        return sum(racks[:position].count(rack) for position, rack in enumerate(racks))

    def is_worse_spread(self, replicas: Iterable[int], *, without: int, instead: int) -> bool:
        """Whether more replicas would share racks if the one on `without` were on `instead`."""
        old, new = self.rack(without), self.rack(instead)
        if old == new:
            return False
        others = [self.rack(node) for node in replicas if node != without]
        return others.count(new) > others.count(old)

    def fewest_shared_racks(self, replicas: int) -> int:
        """What no placement of so many replicas on the usable nodes can do better than."""
        room = Counter(self.rack(node) for node in self.usable)
        used: Counter[str] = Counter()
        for _ in range(min(replicas, len(self.usable))):
            free = [rack for rack in room if used[rack] < room[rack]]
            used[min(free, key=lambda rack: used[rack])] += 1
        return sum(count * (count - 1) // 2 for count in used.values())

    # --- choosing ----------------------------------------------------------------------------------------------------

    def best_node(self, topic_id: str, beside: Sequence[int]) -> int | None:
        """Where a further replica goes: another rack first, then few replicas of the topic, then few at all."""
        taken = Counter(self.rack(node) for node in beside)
        candidates = [
            (taken[self.rack(node)], self.topic_load(topic_id, node), self.load(node), node)
            for node in self.usable
            if node not in beside
        ]
        return min(candidates)[3] if candidates else None

    def fresh(self, topic_id: str, replication_factor: int) -> tuple[int, ...]:
        """Replicas for a new partition: as many as asked for, or as there are usable nodes."""
        if len(self.usable) == 1:
            return (self.usable[0],)
        chosen: list[int] = []
        while len(chosen) < replication_factor:
            node = self.best_node(topic_id, chosen)
            if node is None:
                break
            chosen.append(node)
        if not chosen:
            return ()
        leader = min(chosen, key=lambda node: (self._topic_preferred_load[topic_id, node], self._preferred_load[node]))
        return (leader, *(node for node in chosen if node != leader))
