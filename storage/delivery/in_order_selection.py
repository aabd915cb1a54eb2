"""One message behind the other: the selection of groups whose partitions have one owner each.

The cursor is where the owner has got. Below it every message is done or out; what was given back has taken the cursor
back with it (`PartitionGroupState.rewind`), and holds up what is behind it until it goes out again.
"""

from collections.abc import Sequence

from storage.delivery.candidates import CandidateIndex
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.selection import Picked


class InOrderSelection:
    """It never looks, so it is for logs of which every offset is a message."""

    def pick(self, state: PartitionGroupState, candidates: CandidateIndex, *, room: int, readable_end: int) -> Picked:
        again: list[int] = []
        known_until = min(state.ahead_until, readable_end)
        while state.cursor < known_until:
            done_until = state.progress.done_above.end_of(state.cursor)
            if done_until is not None:
                state.cursor = done_until
            elif len(again) == room or _is_held(state, state.cursor):
                return Picked(again)
            else:
                state.returns.discard(state.cursor)
                again.append(state.cursor)
                state.cursor += 1
        end = max(state.cursor, min(state.cursor + room - len(again), readable_end))
        fresh = range(state.cursor, end)
        state.cursor = end
        return Picked(again, fresh)

    @property
    def is_held_back(self) -> bool:
        return False

    def done(self, start: int, end: int) -> None:
        pass

    def forget(self) -> None:
        pass

    def behind(self, offset: int) -> Sequence[int]:
        """All of it; the partition is taken back, and these with it."""
        return ()

    def before(self, offset: int) -> Sequence[int]:
        """All of it; who owns the partition begins with the first (`ExclusiveDelivery.expire`)."""
        return ()

    def may_revive(self) -> bool:
        return False


def _is_held(state: PartitionGroupState, offset: int) -> bool:
    """It is not due, or what becomes of it is being written, here or to the dead-letter topic, or a
    person has to decide that."""
    if offset in state.pending or offset in state.dead_letters or offset in state.blocked:
        return True
    return state.returns.delayed_until(offset) is not None
