"""What a data leader writes about its partition: pure, guarded by what it was decided on (rules R8, R15).

The leader counts a replica that it wants to add as in sync from before it writes (the maximal ISR), and one that it
wants to remove as in sync until the removal is known to be done.
"""

from collections.abc import Collection, Container
from dataclasses import dataclass

from msgspec.structs import replace

from cluster.codec import decode, encode
from cluster.coordination import Compare, KeyValue, Put, unchanged
from cluster.model import NO_LEADER, NodeRegistration, PartitionLife, PartitionState


@dataclass(frozen=True, slots=True)
class IsrChange:
    """A transaction of `compares` and `put`; `state` is the partition's if it succeeds."""

    compares: tuple[Compare, ...]
    put: Put
    state: PartitionState


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


def without_damaged(partition: KeyValue, node_id: int, *, living: Container[int], others_min: int) -> IsrChange | None:
    """Take out of the ISR a replica whose copy is damaged, and the leadership from it if it leads. None where fewer
    than `others_min` of the other members are `living`; one of them is enough for a replica that is no member.

    It takes the next leader epoch in any case: what the leader knows of the replica's log is of before. So a leader
    that is another node begins anew as well; where the damaged one led, the controller elects from who is left.
    """
    state = decode(PartitionState, partition.value)
    others = tuple(node for node in state.isr if node != node_id)
    least = others_min if node_id in state.isr else 1
    if node_id not in state.replicas or sum(node in living for node in others) < least:
        return None
    if state.leader == node_id:
        state = replace(state, leader=NO_LEADER, leader_incarnation=0)
    return _change(partition, replace(state, isr=others, leader_epoch=state.leader_epoch + 1))


def found_empty(partition: KeyValue) -> IsrChange | None:
    """Nothing is left in a decommissioned partition, and nothing is scheduled to get there: the controller may remove
    it. None when it is not decommissioned."""
    state = decode(PartitionState, partition.value)
    if state.life is not PartitionLife.DECOMMISSIONED:
        return None
    return _change(partition, replace(state, life=PartitionLife.EMPTY))


def _change(partition: KeyValue, state: PartitionState, *guards: Compare) -> IsrChange:
    changed = replace(state, partition_epoch=state.partition_epoch + 1)
    return IsrChange((unchanged(partition), *guards), Put(partition.key, encode(changed)), changed)
