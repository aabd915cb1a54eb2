"""How a move of replicas is written into a partition's state: pure.

The new replicas are added beside the old ones, catch up, and only then the old ones go (rule R15). A move that is under
way can be given another target, also the original one, which takes it back.
"""

from msgspec.structs import replace

from cluster.controller.leadership import best_leader, is_led, led_by
from cluster.metadata.membership import Membership
from cluster.model.values import PartitionState


def originals(state: PartitionState) -> tuple[int, ...]:
    """The replicas that the partition had before the move that is under way."""
    return tuple(node for node in state.replicas if node not in state.adding)


def retargeted(
    state: PartitionState, target: tuple[int, ...], membership: Membership, *, isr_floor: int
) -> PartitionState | None:
    """The state in which the replicas begin to become `target`; None while the partition has no leader, and while that
    would leave too few in sync. A mere change of order is done at once.
    """
    if not is_led(state, membership):
        return None
    kept = originals(state)
    adding = tuple(node for node in target if node not in kept)
    removing = tuple(node for node in kept if node not in target)
    replicas = _merged(kept, target)
    isr = tuple(node for node in state.isr if node in replicas)
    if len(isr) < min(isr_floor, len(state.isr)):
        return None
    changed = replace(
        state,
        replicas=replicas,
        directories=_directories(state, replicas, membership),
        isr=isr,
        adding=adding,
        removing=removing,
        partition_epoch=state.partition_epoch + 1,
    )
    if changed.leader in isr:
        return changed
    successor = best_leader(changed, membership, among=isr)
    return None if successor is None else led_by(changed, successor, membership)


def _merged(kept: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """Each replica that goes stands behind the one that comes in its place, so that both orders are kept."""
    merged = list(target)
    for position in range(len(kept) - 1, -1, -1):
        if kept[position] not in target:
            at = merged.index(target[position]) + 1 if position < len(target) else len(merged)
            merged.insert(at, kept[position])
    return tuple(merged)


def _directories(state: PartitionState, replicas: tuple[int, ...], membership: Membership) -> tuple[str, ...]:
    directories = []
    for node in replicas:
        registration = membership.get(node).registration
        registered = "" if registration is None else registration.directory_id
        directories.append(state.directory_of(node) if node in state.replicas else registered)
    return tuple(directories) if any(directories) else ()
