"""Messages that somebody sees to without a lease of them: dead letters that are sent back."""

from collections.abc import Iterable

from storage.delivery.group_state import PartitionGroupState
from storage.delivery.records import Acked, offsets_of, pack_offsets


class DoneElsewhere:
    """Of one group in one partition, of whatever mode. Who has such a message keeps nothing of it: a later
    acknowledgement finds it done."""

    def __init__(self, state: PartitionGroupState) -> None:
        self._state = state

    def is_done(self, offset: int) -> bool:
        return self._state.progress.is_done(offset)

    @property
    def room(self) -> int:
        """How many messages may be done so before there are too many holes above the group's progress to remember."""
        return max(self._state.bounds.done_ranges_max - self._state.progress.done_above.range_count, 0)

    def decide(self, offsets: Iterable[int]) -> Acked | None:
        """A record by which these are done. None where they are."""
        state = self._state
        runs = pack_offsets(offset for offset in offsets if not state.progress.is_done(offset))
        if not runs:
            return None
        state.mark_pending(offsets_of(runs), end=sum(runs))
        return Acked(state.group_id, state.progress.generation, runs, state.delivered_below)
