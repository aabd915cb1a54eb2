"""What must hold of a group's state at any moment, whoever changed it last."""

from storage.delivery.group_state import PartitionGroupState


def check_state(state: PartitionGroupState) -> None:
    """Raises AssertionError. Costs as much as there are messages in flight."""
    progress, cursor = state.progress, state.cursor
    progress.check_invariants()
    state.leases.check_invariants()
    assert cursor >= progress.progress, "the cursor is behind the progress"
    kept = {*state.leases.by_offset, *state.released, *state.interrupted, *progress.retries}
    for offset in kept:
        assert not progress.is_done(offset), f"offset {offset} is done and still kept"
        assert offset < max(cursor, state.ahead_until), f"the fresh scan would deliver offset {offset} twice"
    for offset in state.released:
        assert offset not in state.leases.by_offset, f"offset {offset} is leased and released"
    for offset in state.interrupted:
        assert offset not in state.leases.by_offset, f"offset {offset} is leased and interrupted"
    not_postponed_below = cursor if state.postponed_from is None else min(state.postponed_from, cursor)
    for offset, retry in progress.retries.items():
        queued = state.is_out(offset)
        is_seen_later = offset >= not_postponed_below or offset in state.skipping
        assert (
            (offset in state.dead_letters or offset in state.pending)
            if retry.is_dead_lettering
            else queued or is_seen_later
        ), f"offset {offset} was given back and is in no queue"
    blocked = {offset for offset, retry in progress.retries.items() if retry.is_blocked}
    assert set(state.blocked) == blocked, "who waits for a person is not what the records say"
    tracked = (state.leases.by_offset, state.released, state.interrupted, progress.retries, state.pending.counts)
    known = dict.fromkeys(offset for each in tracked for offset in each if not progress.is_done(offset))
    passed = max(not_postponed_below, progress.progress)
    below = sum(1 for offset in known if offset < passed)
    for start, end in state.skipping:
        first = max(start, progress.progress)
        last = max(min(end, passed), first)
        done = progress.done_above.count_below(last) - progress.done_above.count_below(first)
        below += last - first - done - sum(1 for offset in known if first <= offset < last)
    done_below = progress.done_above.count_below(passed)
    assert passed - progress.progress == below + done_below, "the cursor has passed a message and nobody knows it"
