"""Who has been told that a node is impaired hears that it is not any more."""

from types import SimpleNamespace
from typing import Any

from storage.node.replicas.impaired_nodes import ImpairedNodes
from storage.replication.leader_events import NodesImpaired


class Told:
    """A replica that is alone, or not."""

    def __init__(self) -> None:
        self.is_replicated = True
        self.told: list[NodesImpaired] = []

    def step(self, event: NodesImpaired) -> None:
        self.told.append(event)


def test_a_replica_that_is_alone_meanwhile_hears_when_it_is_over() -> None:
    impaired, replica = ImpairedNodes(), Told()
    replicas: list[Any] = [replica]
    nodes: list[Any] = [SimpleNamespace(node_id=2, has_impaired_storage=True)]
    impaired.tell(replicas, nodes)
    replica.is_replicated = False
    nodes[0].has_impaired_storage = False
    impaired.tell(replicas, nodes)
    assert [event.nodes for event in replica.told] == [frozenset({2}), frozenset()]
    impaired.tell(replicas, nodes)
    assert len(replica.told) == 2
