"""Where a group is in a partition, as gateways are told."""

from storage.delivery.group_in_partition import GroupInPartition
from storage.rpc.messages import CommittedOffset, GroupPosition


def position_of(state: GroupInPartition) -> GroupPosition:
    committed, totals = state.committed, state.totals
    return GroupPosition(
        state.group_id,
        state.progress,
        state.done_above_count,
        state.in_flight_count,
        state.delayed_count,
        totals.dead_lettered,
        totals.lost,
        state.generation,
        None if committed is None else CommittedOffset(committed.offset, committed.leader_epoch, committed.metadata),
        blocked=state.blocked_count,
        expired=totals.expired,
        deleted=totals.deleted,
    )
