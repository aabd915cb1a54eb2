"""Who leads a partition: only a member of the ISR that lives, in its present incarnation (unclean election is off)."""

from collections.abc import Container

from msgspec.structs import replace

from cluster.metadata.membership import Member, Membership
from cluster.model.values import NO_LEADER, PartitionState

NEW_LEADER_EPOCH = 1


def is_led(state: PartitionState, membership: Membership) -> bool:
    """The leader lives, still in the incarnation that was elected, and is in sync."""
    registration = membership.get(state.leader).registration
    return (
        registration is not None and registration.incarnation == state.leader_incarnation and state.leader in state.isr
    )


def reluctance(member: Member) -> int:
    """The lower, the better a leader: 0 for a node that can go on leading, be it drained or not."""
    if member.has_impaired_storage:
        return 2
    return 1 if member.is_leaving else 0


def best_leader(state: PartitionState, membership: Membership, *, among: Container[int]) -> int | None:
    """The best of the ISR's living members that are in `among`: one that is whole, stays, has not given the leadership
    up of late, and is not drained, in the order of preference. A drained one can commit, for all that is known, which
    counts for more than that it is to be emptied (rule R36)."""
    candidates = []
    for at, node in enumerate(state.replicas):
        member = membership.get(node)
        if node in state.isr and node in among and member.is_live:
            faults = node in state.damaged, reluctance(member), node in state.given_up_by
            candidates.append((*faults, member.is_draining, node in state.removing, at))
    return state.replicas[min(candidates)[-1]] if candidates else None


def led_by(state: PartitionState, node_id: int, membership: Membership) -> PartitionState:
    """Every leadership begins with a leader epoch of its own (rules R1, R10)."""
    registration = membership.get(node_id).registration
    assert registration is not None
    assert node_id in state.isr
    return replace(
        state,
        leader=node_id,
        leader_incarnation=registration.incarnation,
        leader_epoch=state.leader_epoch + 1,
    )


def without_leader(state: PartitionState) -> PartitionState:
    return replace(state, leader=NO_LEADER, leader_incarnation=0)
