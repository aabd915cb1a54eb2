"""Of which messages a group knows nothing: long runs of them are dealt with at once."""

from storage.delivery.group_state import PartitionGroupState

_LOOKED_AT_ONCE = 1024


def untouched_until(state: PartitionGroupState, start: int, end: int) -> int:
    """Up to where nobody has, had or has done anything, from a message on that is neither done nor out; at least behind
    that one."""
    if start >= max(state.ahead_until, state.cursor):
        return end
    done, skipping = state.progress.done_above.next_start(start), state.skipping.next_start(start)
    found = range(start, min(end, done or end, skipping or end, start + _LOOKED_AT_ONCE))
    kept = (state.leases.by_offset, state.released, state.interrupted, state.progress.retries, state.pending.counts)
    return found.stop if all(each.keys().isdisjoint(found) for each in kept) else start + 1
