"""How a node stands with a partition: whether it has all that counts, and whether the partition can do without it."""

from collections.abc import Collection

from cluster.model.values import PartitionLife, PartitionState


def is_expected(state: PartitionState, node_id: int) -> bool:
    """Whether the node is one of those that should have all of the partition by now. One that only gets it by a move
    that is under way is not, and nobody is where nothing is left."""
    return node_id in state.replicas and node_id not in state.adding and state.life is not PartitionLife.GONE


def is_in_sync(state: PartitionState, node_id: int, directory_id: str) -> bool:
    """Whether the node is in sync by what this data directory holds, and not by one that it had before."""
    if node_id not in state.isr or node_id in state.damaged:
        return False
    directory = state.directories[state.replicas.index(node_id)] if state.directories else ""
    return directory in {"", directory_id}


def is_needed(state: PartitionState, node_id: int, *, staying: Collection[int], min_insync_replicas: int) -> bool:
    """Whether the partition would take no writes without the node, and others could yet see to it that it does.

    `staying` are the nodes that live and are not about to stop. Where there are no more replicas than are needed, the
    partition waits for the node whenever it stops, so nothing is gained by putting that off.
    """
    if node_id not in state.isr or state.life is PartitionLife.GONE:
        return False
    others = set(state.target) - {node_id}
    if len(others) < min_insync_replicas:
        return False
    return len(others.intersection(state.isr, staying)) < min_insync_replicas
