"""What a data leader writes about its partition: pure, guarded by what it was decided on (rules R8, R15).

The leader counts a replica that it wants to add as in sync from before it writes (the maximal ISR), and one that it
wants to remove as in sync until the removal is known to be done.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from cluster.codec import decode, encode
from cluster.coordination import Compare, KeyValue, Put, unchanged
from cluster.model import NodeRegistration, PartitionLife, PartitionState


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


def without_damaged(
    state: PartitionState, node_id: int, *, living: Mapping[int, NodeRegistration], isr_floor: int
) -> PartitionState | None:
    """What becomes of a partition when the node's copy of it is damaged; None where nothing can be done now.

    The node leaves the ISR where at least `isr_floor` other members are `living`. A leader goes in any case, as soon as
    another member lives: it can neither serve all that it has nor fill those that lack it. Where it has to stay a
    member, it is preferred last from then on, or the controller would give the leadership back. Either takes the next
    leader epoch: what the leader of this one knows of the damaged log will not be true any more.
    """
    if node_id not in state.replicas:
        return None
    others = [node for node in state.replicas if node != node_id and node in state.isr and _is_in(living, state, node)]
    isr = state.isr
    if node_id in isr and len(others) >= isr_floor:
        isr = tuple(node for node in isr if node != node_id)
    leads = state.leader == node_id
    if not others or (node_id in isr and not leads):
        return None
    changed = replace(state, isr=isr, leader_epoch=state.leader_epoch + 1, partition_epoch=state.partition_epoch + 1)
    if leads:
        changed = replace(changed, leader=others[0], leader_incarnation=living[others[0]].incarnation)
    return _preferred_last(changed, node_id) if node_id in isr and not state.is_moving else changed


def _preferred_last(state: PartitionState, node_id: int) -> PartitionState:
    replicas = (*(node for node in state.replicas if node != node_id), node_id)
    directories = tuple(state.directory_of(node) for node in replicas) if state.directories else ()
    return replace(state, replicas=replicas, directories=directories)


def _is_in(living: Mapping[int, NodeRegistration], state: PartitionState, node_id: int) -> bool:
    """With the directory that earned the place."""
    registration = living.get(node_id)
    return registration is not None and state.directory_of(node_id) in {"", registration.directory_id}


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
