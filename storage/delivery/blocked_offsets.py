"""Messages whose attempts are used up and that wait for a person: what is decided about them.

A group that blocks gives up no message by itself. One that failed too often stays where it is, and holds up whatever
its order puts behind it, until somebody releases it (it goes out again, and its attempts begin anew) or skips it (it is
done without having been handled).
"""

from typing import Generic, NamedTuple, TypeVar

from acklog.wire.problems import ProblemCode
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.leases import ATTEMPTS_SPAN
from storage.delivery.records import Cause, Returned, ReturnedItem, Skipped

_RecordT = TypeVar("_RecordT", Returned, Skipped)


class BlockedOffset(NamedTuple):
    """`since_ms` is wall-clock time."""

    offset: int
    attempts: int
    since_ms: int


class BlockedVerdict(NamedTuple, Generic[_RecordT]):
    """Why it is refused, or the record that makes it true."""

    problem: ProblemCode | None
    record: _RecordT | None


class BlockedOffsets:
    """Of one group in one partition."""

    def __init__(self, state: PartitionGroupState) -> None:
        self._state = state

    def __len__(self) -> int:
        return len(self._state.blocked)

    def listed(self, *, at_or_above: int, limit: int) -> list[BlockedOffset]:
        """The first ones, ascending."""
        retries = self._state.progress.retries
        offsets = sorted(offset for offset in self._state.blocked if offset >= at_or_above)[:limit]
        return [BlockedOffset(offset, retries[offset].attempts, retries[offset].wall_ms) for offset in offsets]

    def release(self, offset: int, *, wall_now_ms: int) -> BlockedVerdict[Returned]:
        """It waits at once, as if it had never been tried. Problems: NOT_BLOCKED, CONFLICT."""
        state = self._state
        problem = self._problem(offset)
        if problem is not None:
            return BlockedVerdict(problem, None)
        leader_epoch = state.progress.retries[offset].leader_epoch
        state.mark_pending((offset,), end=offset + 1)
        state.attempt_base += ATTEMPTS_SPAN  # its attempts begin anew, and no receipt is the same
        item = ReturnedItem(offset, 0, 0, Cause.RELEASED, leader_epoch)
        return BlockedVerdict(None, Returned(state.group_id, state.progress.generation, wall_now_ms, [item]))

    def skip(self, offset: int) -> BlockedVerdict[Skipped]:
        """It is done. Problems: NOT_BLOCKED, CONFLICT."""
        state = self._state
        problem = self._problem(offset)
        if problem is not None:
            return BlockedVerdict(problem, None)
        state.skipping.add(offset, offset + 1)
        return BlockedVerdict(None, Skipped(state.group_id, state.progress.generation, [offset, 1]))

    def _problem(self, offset: int) -> ProblemCode | None:
        state = self._state
        if offset not in state.blocked:
            return ProblemCode.NOT_BLOCKED
        is_being_decided = offset in state.pending or offset in state.skipping
        return ProblemCode.CONFLICT if is_being_decided else None
