"""Messages whose time to live is over: passed over for good (rule R41), or on their way to the dead-letter topic, as
their group wants it. Either way they hold up nobody, and attempts count no more."""

from collections.abc import Iterable

from cluster.model.values import Expired
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.maybe_removed import is_resting
from storage.delivery.records import (
    OUTLIVED,
    Cause,
    Returned,
    ReturnedItem,
    SkipCause,
    Skipped,
    offsets_of,
    pack_offsets,
)


def outlive(
    state: PartitionGroupState, offsets: Iterable[int], *, on_expired: Expired, leader_epoch: int, wall_now_ms: int
) -> Skipped | Returned | None:
    """Nobody has these, or nobody has seen that he has. A record that makes it so."""
    found = [offset for offset in offsets if offset not in state.pending]
    if not found:
        return None
    if on_expired is Expired.DEAD_LETTER:
        state.mark_pending(found, end=max(found) + 1)
        items = [_outlived(state, offset, leader_epoch) for offset in found]
        return Returned(state.group_id, state.progress.generation, wall_now_ms, items)
    runs = pack_offsets(found)
    state.mark_pending(offsets_of(runs), end=sum(runs))
    return Skipped(state.group_id, state.progress.generation, runs, SkipCause.EXPIRED)


def outlive_given_up(
    state: PartitionGroupState, offsets: Iterable[int], *, on_expired: Expired, leader_epoch: int, wall_now_ms: int
) -> Skipped | Returned | None:
    """The same of messages whose attempts are used up: those that still wait, for a person or the dead-letter topic."""
    waiting = [offset for offset in offsets if is_resting(state, offset) and _is_given_up(state, offset)]
    return outlive(state, waiting, on_expired=on_expired, leader_epoch=leader_epoch, wall_now_ms=wall_now_ms)


def _is_given_up(state: PartitionGroupState, offset: int) -> bool:
    retry = state.progress.retries[offset]
    return retry.is_blocked or (retry.is_dead_lettering and not retry.is_outlived)


def _outlived(state: PartitionGroupState, offset: int, leader_epoch: int) -> ReturnedItem:
    before = state.progress.retries.get(offset)
    attempts, epoch = (0, leader_epoch) if before is None else (before.attempts, before.leader_epoch)
    return ReturnedItem(offset, attempts, OUTLIVED, Cause.OUTLIVED, epoch)
