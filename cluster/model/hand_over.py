"""To whom a leader that cannot commit hands its partition (rule R36): pure; whoever writes it guards it with the
revision that it was decided on, and with the registrations of both (rules R8, R15)."""

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from cluster.model.values import NodeRegistration, PartitionState


def handed_over(
    state: PartitionState,
    node_id: int,
    *,
    living: Mapping[int, NodeRegistration],
    heard: Collection[int],
    isr_floor: int,
) -> PartitionState | None:
    """What becomes of a partition whose leader `node_id` hears only `heard` of its replicas; None where nobody else in
    the ISR could commit, as far as is known.

    Whose disk takes nothing, or whose copy is damaged, neither leads nor counts. Those that it does not hear may hear
    each other: they come first where they are enough. Else one that it hears may hear the rest. Whoever gave the
    leadership up of late comes last, the one that did so first before the others. The old leader leaves the ISR where
    `isr_floor` others stay, or the new one would have to wait until it is late.
    """
    if state.leader != node_id:
        return None
    others = {node for node in state.replicas if node != node_id and _may_lead(living, state, node)}
    unheard = others.difference(heard)
    members = [node for node in state.replicas if node in others and node in state.isr]
    candidates: list[int] = []
    if len(unheard) >= isr_floor:
        candidates = [node for node in members if node in unheard]
    if not candidates and len(others) + 1 >= isr_floor:
        candidates = [node for node in members if node in heard]
    if not candidates:
        return None
    successor = min(candidates, key=lambda node: (living[node].is_leaving, _turn(state, node), candidates.index(node)))
    isr = tuple(node for node in state.isr if node != node_id) if len(members) >= isr_floor else state.isr
    return replace(
        state,
        leader=successor,
        leader_incarnation=living[successor].incarnation,
        leader_epoch=state.leader_epoch + 1,
        partition_epoch=state.partition_epoch + 1,
        isr=isr,
        damaged=tuple(node for node in state.damaged if node in isr),
        given_up_by=(*(node for node in state.given_up_by if node != node_id), node_id),
    )


def hand_overs_forgotten(state: PartitionState) -> PartitionState | None:
    """None where there are none."""
    if not state.given_up_by:
        return None
    return replace(state, given_up_by=(), partition_epoch=state.partition_epoch + 1)


def _turn(state: PartitionState, node_id: int) -> int:
    return state.given_up_by.index(node_id) + 1 if node_id in state.given_up_by else 0


def _may_lead(living: Mapping[int, NodeRegistration], state: PartitionState, node_id: int) -> bool:
    """It lives, with the directory that its place was earned with, has a disk that takes something, and a copy that is
    not known to be damaged: else the controller would take the leadership back at once, or it would hand it back."""
    registration = living.get(node_id)
    if registration is None or registration.has_impaired_storage or node_id in state.damaged:
        return False
    return state.directory_of(node_id) in {"", registration.directory_id}
