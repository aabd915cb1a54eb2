"""The state of a group in a partition that is restored: what it was in the backup, made to fit the log here. Pure."""

from collections.abc import Iterable

from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_progress import GroupProgress
from storage.delivery.group_snapshot import NOBODY, CommittedPosition, GroupSnapshot
from storage.delivery.records import DeliveryFormatError


def adopted_state(backed_up: GroupSnapshot, group_id: str, *, end: int, leader_epoch: int) -> GroupSnapshot:
    """Of the group that has the id `group_id` here, in a log that ends at `end` and is led in `leader_epoch`.

    What is behind the end is nobody's to have done. Deliveries count as this leader's, as the epochs of another history
    mean nothing here; owners and their numbers are left out, as the members of now are others. Raises
    DeliveryFormatError for a state that no group can be in.
    """
    progress = min(backed_up.progress, end)
    retries = [
        (offset, attempts, leader_epoch, wall_ms, delay_ms)
        for offset, attempts, _, wall_ms, delay_ms in backed_up.retries
        if offset < end
    ]
    returned = {offset for offset, *_ in retries}
    committed = backed_up.committed
    state = GroupSnapshot(
        group_id,
        0,
        progress,
        _below(backed_up.done, end),
        retries,
        min(backed_up.delivered_below, end),
        _below(backed_up.dead_lettered, end),
        backed_up.dead_lettered_count,
        backed_up.lost_count,
        None if committed is None else CommittedPosition(min(committed.offset, end), -1, committed.metadata),
        NOBODY,
        0,
        _below(backed_up.filtered, end),
        [each for each in backed_up.failures if each[0] in returned],
        [each for each in backed_up.reasons if each[0] in returned],
        _below(backed_up.expired, end),
        backed_up.expired_count,
        backed_up.overtaken_count,
        backed_up.deleted_count,
    )
    _check(state)
    return state


def _below(ranges: Iterable[tuple[int, int]], end: int) -> list[tuple[int, int]]:
    return [(start, min(stop, end)) for start, stop in ranges if start < end]


def _check(state: GroupSnapshot) -> None:
    """That a group can be so. Raises DeliveryFormatError."""
    numbers = [
        state.progress,
        *(offset for each in state.done for offset in each),
        *(each[0] for each in state.retries),
    ]
    progress = GroupProgress(state.progress, DeliverySettings())
    try:
        progress.restore(state)
        progress.check_invariants()
    except (ValueError, KeyError, AssertionError) as error:
        raise DeliveryFormatError(f"a group cannot be in this state: {error!r}") from error
    if min(numbers) < 0:
        raise DeliveryFormatError("a group cannot be in this state: it names offsets below 0")
