import pytest

from cluster.catalog.topic_defaults import (
    check_min_insync_replicas,
    check_replication_factor,
    counted_nodes,
    default_min_insync_replicas,
    default_replication_factor,
)
from cluster.errors import ServerError
from tests.unit.cluster.controller.states import members, node


@pytest.mark.parametrize(("nodes", "replicas", "in_sync"), [(0, 1, 1), (1, 1, 1), (2, 2, 1), (3, 3, 2), (50, 3, 2)])
def test_defaults(nodes: int, replicas: int, in_sync: int) -> None:
    assert default_replication_factor(nodes) == replicas
    assert default_min_insync_replicas(replicas) == in_sync


def test_more_replicas_than_usual_still_need_two() -> None:
    assert default_min_insync_replicas(5) == 2


def test_nodes_that_count() -> None:
    membership = members(node(1), node(2, is_leaving=True), node(3), draining=(3, 5))
    assert counted_nodes(membership, []) == 2
    assert counted_nodes(membership, [1, 4, 4, 5]) == 3, "4 is away and holds something; 5 is drained"


def test_what_cannot_be() -> None:
    check_replication_factor(3, 3)
    check_replication_factor(1, 0)
    with pytest.raises(ServerError, match="there are 3 node") as caught:
        check_replication_factor(4, 3)
    assert caught.value.field == "replicationFactor"
    check_min_insync_replicas(2, 2)
    with pytest.raises(ServerError, match="the topic has 2 replica") as caught:
        check_min_insync_replicas(3, 2)
    assert caught.value.field == "config.minInsyncReplicas"
