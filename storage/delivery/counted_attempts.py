"""Which attempt a lease is, where a message's attempts are used up and it comes back all the same."""

from collections.abc import Sequence

from cluster.model.values import Exhausted, GroupSettings
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.leases import ATTEMPTS_SPAN


def counted_before(state: PartitionGroupState, settings: GroupSettings, offsets: Sequence[int]) -> int:
    """How many attempts of these, at most, count for who leases them now. Where messages come back for ever it is the
    last attempt each time: what receipts add from now on tells its lease from the one before (rule R22)."""
    if settings.on_exhausted is not Exhausted.RETRY:
        return ATTEMPTS_SPAN
    retries, counted_max = state.progress.retries, settings.max_attempts - 1
    if any(offset in retries and retries[offset].attempts > counted_max for offset in offsets):
        state.attempt_base += ATTEMPTS_SPAN
    return counted_max
