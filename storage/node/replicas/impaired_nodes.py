"""Which nodes say that their disks take nothing at present, told to the leaders: such a node does not join the ISR."""

from collections.abc import Iterable

from cluster.model.values import NodeRegistration
from storage.node.replicas.replica_host import ReplicaHost
from storage.replication.leader_events import NodesImpaired


class ImpairedNodes:
    """Of one node's view."""

    def __init__(self) -> None:
        self._nodes: frozenset[int] = frozenset()

    def tell(self, replicas: Iterable[ReplicaHost], nodes: Iterable[NodeRegistration]) -> None:
        """Again and again while there are any, as replicas come and go; and once when others are, or none any more:
        also to who is alone, as he may not always be."""
        before, self._nodes = self._nodes, frozenset(each.node_id for each in nodes if each.has_impaired_storage)
        if before or self._nodes:
            for replica in replicas:
                if replica.is_replicated or self._nodes != before:
                    replica.step(NodesImpaired(self._nodes))
