"""A receive with a filter of its own: it leases what matches, wherever that is, and leaves the rest as it is.

It looks ahead of the group's cursor and moves nothing: what does not match is as fresh as before, for whoever takes it
next. So only groups in which a message's place says nothing can do that, and it looks no further than some messages
beyond where the group is, or what nobody wants would be looked at for ever.
"""

from itertools import islice
from typing import NamedTuple

from storage.delivery.candidates import CandidateIndex, CandidateKind, WantedRange
from storage.delivery.group_delivery import GroupDelivery
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.leases import Lease
from storage.delivery.selection import Picked

_RETURNED_LOOKED_AT_MAX = 1000


class Matching(NamedTuple):
    """`is_reach_used_up`: there is more behind what it may look at."""

    leases: list[Lease]
    wanted: WantedRange | None = None
    is_reach_used_up: bool = False


def receive_matching(
    group: GroupDelivery,
    candidates: CandidateIndex,
    *,
    consumer: str,
    max_messages: int,
    visibility_ms: int,
    readable_end: int,
    reach: int,
    now_ms: int,
) -> Matching:
    """`candidates` are what the group's filter and the call's leave. It looks at `reach` messages beyond the group's
    cursor, at most."""
    state = group.state
    state.returns.promote(now_ms)
    room = min(max_messages, group.settlement.settings.max_in_flight - len(state.leases))
    if room <= 0 or state.is_returned_full or _is_full_of_islands(state):
        return Matching([])
    end = min(readable_end, state.cursor + reach)
    picked = _pick(state, candidates, room=room, end=end)
    leases = group.lease(picked, consumer=consumer, deadline_ms=now_ms + visibility_ms)
    return Matching(leases, picked.wanted, end < readable_end)


def _is_full_of_islands(state: PartitionGroupState) -> bool:
    """Each lease out there may be a done range of its own."""
    return state.progress.done_above.range_count + len(state.leases) >= state.bounds.done_ranges_max


def _pick(state: PartitionGroupState, candidates: CandidateIndex, *, room: int, end: int) -> Picked:
    again: list[int] = []
    for offset in list(islice(state.returns.ready(), _RETURNED_LOOKED_AT_MAX)):
        if len(again) == room or offset in state.pending or offset in state.skipping or offset >= end:
            continue
        run = candidates.run_at(offset, offset + 1)
        if isinstance(run, WantedRange):
            return Picked(again, (), (), run, is_by_offset=True)
        if run.kind is CandidateKind.MESSAGE:
            state.returns.discard(offset)
            again.append(offset)
    fresh: list[int] = []
    taken = set(again)
    position = state.cursor
    wanted: WantedRange | None = None
    while position < end and len(again) + len(fresh) < room:
        passed_until = state.passed_until(position)
        if passed_until is not None:
            position = passed_until
            continue
        run = candidates.run_at(position, end)
        if isinstance(run, WantedRange):
            wanted = run
            break
        if run.kind is not CandidateKind.MESSAGE:
            position = run.end
            continue
        if not state.is_out(position) and position not in taken:
            (again if state.is_tracked(position) else fresh).append(position)
        position += 1
    state.ahead_until = max(state.ahead_until, position if fresh else 0)
    return Picked(again, fresh, (), wanted, is_by_offset=True)
