"""What the nodes that hold a partition write about it, besides its leader's changes of the ISR: pure; whoever writes it
guards it with the revision that it was decided on (rule R15)."""

from collections.abc import Mapping

from msgspec.structs import replace

from cluster.model.values import Deletion, NodeRegistration, PartitionLife, PartitionState


def without_damaged(
    state: PartitionState, node_id: int, *, living: Mapping[int, NodeRegistration], isr_floor: int
) -> PartitionState | None:
    """What becomes of a partition when the node's copy of it is damaged; None where nothing can be done now.

    The node leaves the ISR where at least `isr_floor` other members are `living`. A leader goes in any case, as soon as
    another member lives: it can neither serve all that it has nor fill those that lack it. Where it has to stay a
    member, it is preferred last from then on, or the controller would give the leadership back. Either takes the next
    leader epoch: what the leader of this one knows of the damaged log will not be true any more.

    Others that are known to be damaged count for nothing: two would hand the leadership to each other for ever, and
    what one of them drops may be all that is left of something.
    """
    if node_id not in state.replicas:
        return None
    unfit = {node_id, *state.damaged}
    others = [
        node for node in state.replicas if node not in unfit and node in state.isr and _is_in(living, state, node)
    ]
    isr = state.isr
    if node_id in isr and len(others) >= isr_floor:
        isr = tuple(node for node in isr if node != node_id)
    leads = state.leader == node_id
    if not others or (node_id in isr and not leads):
        return None
    changed = replace(
        state,
        isr=isr,
        leader_epoch=state.leader_epoch + 1,
        partition_epoch=state.partition_epoch + 1,
        damaged=tuple(sorted({*state.damaged, node_id}.intersection(isr))),
    )
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


def found_empty(state: PartitionState) -> PartitionState | None:
    """Nothing is left in a decommissioned partition, and nothing is scheduled to get there: the controller may remove
    it. None when it is not decommissioned."""
    if state.life is not PartitionLife.DECOMMISSIONED:
        return None
    return replace(state, life=PartitionLife.EMPTY, partition_epoch=state.partition_epoch + 1)


def with_deletion(state: PartitionState, deletion: Deletion) -> PartitionState:
    """What the leader has deleted, by the word of whoever may; who leads later goes by it, too."""
    return replace(state, deletion=deletion, partition_epoch=state.partition_epoch + 1)


def latest_deletion(known: Deletion | None, told: Deletion | None) -> Deletion | None:
    """Of two that were heard of in any order: within an epoch they only go on, and a later epoch knew of the ones
    before."""
    if known is None or told is None:
        return known or told
    return max(known, told, key=lambda deletion: (deletion.leader_epoch, deletion.before))
