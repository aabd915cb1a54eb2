"""One message behind the other: the selection of groups whose partitions have one owner each.

The cursor is where the owner has got. Below it every message is done or out; what was given back has taken the cursor
back with it (`PartitionGroupState.rewind`), and holds up what is behind it until it goes out again.
"""

from collections.abc import Sequence

from storage.delivery.candidates import CandidateIndex, CandidateKind, WantedRange
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.selection import GroupSelection, Picked
from storage.delivery.untouched import untouched_until


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

    def succeed(self, before: GroupSelection) -> None:
        pass

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


class SeeingInOrderSelection(InOrderSelection):
    """The same for a log of which some is not the group's: that is passed over on the way. Where that could not be
    recorded it stays passed over, so the cursor never goes back behind what is out."""

    def pick(self, state: PartitionGroupState, candidates: CandidateIndex, *, room: int, readable_end: int) -> Picked:
        again: list[int] = []
        fresh: list[int] = []
        passed_over: list[tuple[int, int]] = []
        wanted: WantedRange | None = None
        while state.cursor < readable_end and room > 0 and not self._is_full(state):
            start = state.cursor
            if start < state.ahead_until and _is_held(state, start):
                break
            passed_until = state.passed_until(start)
            if passed_until is not None:
                state.cursor = passed_until
                continue
            run = candidates.run_at(start, readable_end)
            if isinstance(run, WantedRange):
                wanted = run
                break
            is_message = run.kind in (CandidateKind.MESSAGE, CandidateKind.UNREADABLE)
            end = untouched_until(state, start, min(run.end, start + room) if is_message else run.end)
            state.returns.discard(start)
            if is_message:
                (again if start < state.ahead_until else fresh).extend(range(start, end))
                room -= end - start
            else:
                state.skipping.add(start, end)
                passed_over.append((start, end))
            state.cursor = end
        return Picked(again, fresh, passed_over, wanted, is_by_offset=True)

    def _is_full(self, state: PartitionGroupState) -> bool:
        return state.skipping.range_count >= state.bounds.candidate_runs_max


def _is_held(state: PartitionGroupState, offset: int) -> bool:
    """It is not due, or what becomes of it is being written, here or to the dead-letter topic, or a
    person has to decide that."""
    if offset in state.pending or offset in state.dead_letters or offset in state.blocked:
        return True
    return state.returns.delayed_until(offset) is not None
