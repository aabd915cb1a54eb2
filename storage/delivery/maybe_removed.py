"""Of which messages it is to be looked up whether compaction has left them.

Most that a group has not done are looked at when it is their turn, and what is gone is passed over then. What came back
and waits for a time, for a person or for the dead-letter topic has no turn before that: were it gone, it would hold up
for nothing whatever its group puts behind it. So it is looked up when compaction has been where it is, when it comes
back from there, and once by each new leader, whose log may be compacted further than that of the one before.
"""

from collections.abc import Iterable

from storage.delivery.group_state import PartitionGroupState
from storage.delivery.records import Returned, SkipCause, Skipped, pack_offsets


class MaybeRemoved:
    """Of one partition, for all its groups. It holds no more than came back to each of them and is not done."""

    def __init__(self) -> None:
        self._compacted_end = 0  # what comes back from below may be gone
        self._offsets: dict[str, set[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._offsets)

    def compacted(self, states: Iterable[PartitionGroupState], start: int, end: int) -> None:
        """Compaction may have removed messages from `start` to `end`."""
        self._compacted_end = max(self._compacted_end, end)
        for state in states:
            self.put(state.group_id, (offset for offset in state.progress.retries if start <= offset < end))

    def came_back(self, record: Returned) -> None:
        if self._compacted_end:
            end = self._compacted_end
            self.put(record.group_id, (item.offset for item in record.items if item.offset < end))

    def put(self, group_id: str, offsets: Iterable[int]) -> None:
        found = set(offsets)
        if found:
            self._offsets.setdefault(group_id, set()).update(found)

    def take(self, state: PartitionGroupState, *, limit: int) -> list[int]:
        """The group's first ones that nobody has, ascending, to be looked up now. Who has one may still do it."""
        asked = self._offsets.pop(state.group_id, set())
        resting = sorted(offset for offset in asked if is_resting(state, offset))
        self.put(state.group_id, resting[limit:])
        return resting[:limit]

    def forget(self, group_id: str) -> None:
        self._offsets.pop(group_id, None)


def is_resting(state: PartitionGroupState, offset: int) -> bool:
    """It came back, nobody has it, and nothing is being decided about it."""
    if offset not in state.progress.retries or offset in state.leases.by_offset:
        return False
    return offset not in state.pending and offset not in state.skipping


def pass_over_removed(state: PartitionGroupState, offsets: Iterable[int]) -> Skipped | None:
    """Compaction has removed these: those that nobody has are done for good once the record is durable (rule R41)."""
    runs = pack_offsets(offset for offset in offsets if is_resting(state, offset))
    if not runs:
        return None
    record = Skipped(state.group_id, state.progress.generation, runs, SkipCause.REMOVED)
    state.mark_pending(record.offsets, end=sum(runs))
    return record
