"""What a reader that keeps its own position is told when it says how far it is.

A commit says that everything below an offset is done. Forward it may always go: what others have done meanwhile stays.
Back it goes only for who knows where the group is, as a seek: a reader of the past, which has not heard of what others
did since, must not undo it.
"""

from typing import NamedTuple

from acklog.wire.problems import ProblemCode
from storage.delivery.group_snapshot import CommittedPosition
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.records import PositionCommitted, Sought


class CommitDecision(NamedTuple):
    """Why it is refused, or what makes it true: records to be written together, none where it is true already."""

    problem: ProblemCode | None
    records: list[Sought | PositionCommitted]


class PositionCommits:
    """Of one group in one partition: one after the other where a commit goes by what it finds."""

    def __init__(self) -> None:
        self._under_way: list[PositionCommitted] = []

    def decide(
        self,
        state: PartitionGroupState,
        position: CommittedPosition,
        *,
        expected: int | None,
        going_back: Sought,
    ) -> CommitDecision:
        """`expected`: the progress that the reader knows of, which lets it go back; None where it does not say.
        `going_back` is the seek to the position. Problems: COMMIT_CONFLICT, and CONFLICT while another commit is being
        written by which this one may be wrong."""
        progress = state.progress.progress
        if expected is not None and self._under_way:
            return CommitDecision(ProblemCode.CONFLICT, [])
        if position.offset == progress and state.progress.committed == position:
            return CommitDecision(None, [])  # repeated: its answer may have been lost
        if expected is not None and expected != progress:
            return CommitDecision(ProblemCode.COMMIT_CONFLICT, [])
        if position.offset < progress:
            if expected is None:
                return CommitDecision(ProblemCode.COMMIT_CONFLICT, [])
            record = _record(state, position, going_back.generation)
            self._under_way.append(record)
            return CommitDecision(None, [going_back, record])
        record = _record(state, position, state.progress.generation)
        self._under_way.append(record)
        return CommitDecision(None, [record])

    def over(self, record: PositionCommitted) -> None:
        """It is written, or could not be."""
        if record in self._under_way:
            self._under_way.remove(record)


def _record(state: PartitionGroupState, position: CommittedPosition, generation: int) -> PositionCommitted:
    return PositionCommitted(state.group_id, generation, position.offset, position.leader_epoch, position.metadata)
