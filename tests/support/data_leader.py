"""Changes of the ISR as data leaders propose them, for tests of the controller that have no data leaders.

Guarded by what they were decided on (rules R8, R15).
"""

from collections.abc import Collection
from dataclasses import dataclass

from msgspec.structs import replace

from cluster.model.codec import decode, encode
from cluster.model.values import NodeRegistration, PartitionState
from cluster.ports.coordination import Compare, KeyValue, Put, unchanged


@dataclass(frozen=True, slots=True)
class IsrChange:
    compares: tuple[Compare, ...]
    put: Put


def isr_with(partition: KeyValue, follower: KeyValue, *, incarnation: int) -> IsrChange | None:
    """Add the follower, which caught up in this `incarnation`; None when it must not be added.

    `follower` is its registration as the leader read it. The change fails if the node registered anew since then,
    perhaps with an empty disk, and if anybody changed the partition.
    """
    state = decode(PartitionState, partition.value)
    registration = decode(NodeRegistration, follower.value)
    node_id = registration.node_id
    if node_id not in state.replicas or node_id in state.isr or registration.incarnation != incarnation:
        return None
    if state.directory_of(node_id) not in {"", registration.directory_id}:
        return None  # the controller has not noticed yet that the disk was replaced
    return _change(partition, replace(state, isr=(*state.isr, node_id)), unchanged(follower))


def isr_without(partition: KeyValue, node_ids: Collection[int], *, min_insync_replicas: int) -> IsrChange | None:
    """Remove followers that are too far behind; None when nothing is to be removed.

    The ISR does not shrink below `min_insync_replicas`: below it nothing could be acknowledged in any case, and a
    member that is kept may be elected again, so the last replica standing is not the only one that may lead.
    """
    state = decode(PartitionState, partition.value)
    removable = [node for node in reversed(state.isr) if node in node_ids and node != state.leader]
    removed = removable[: max(0, len(state.isr) - max(1, min_insync_replicas))]
    if not removed:
        return None
    return _change(partition, replace(state, isr=tuple(node for node in state.isr if node not in removed)))


def _change(partition: KeyValue, state: PartitionState, *guards: Compare) -> IsrChange:
    changed = replace(state, partition_epoch=state.partition_epoch + 1)
    return IsrChange((unchanged(partition), *guards), Put(partition.key, encode(changed)))
