"""What a group's filter has passed over and no record says yet.

It is gathered, so that a long run of the log in which nothing matches is one small record now and then, and not one for
each look. Progress passes none of it before that record is durable (rule R41); a crash before that costs looking at it
once more.
"""

from collections.abc import Iterable, Sequence

from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.offset_ranges import OffsetRanges
from storage.delivery.records import SkipCause, Skipped, pack_ranges, unpack_ranges


def pass_over_gap(state: PartitionGroupState, gap: Sequence[tuple[int, int]]) -> Skipped:
    """There is no message any more in these ranges, which ascend, whether somebody has it or not: all are done for good
    once the record is durable (rule R41)."""
    for start, end in gap:
        state.skipping.add(start, end)
    return Skipped(state.group_id, state.progress.generation, pack_ranges(gap))


class PassedOver:
    """Of one group in one partition; all of it is in the state's `skipping`, too."""

    def __init__(self, group_id: str, bounds: DeliverySettings) -> None:
        self._group_id = group_id
        self._wait_ms = bounds.skips_gathered_ms
        self._ranges_max = max(bounds.candidate_runs_max // 2, 1)
        self._ranges = OffsetRanges()
        self._since_ms = 0

    def add(self, ranges: Iterable[tuple[int, int]], now_ms: int) -> None:
        """Gather these."""
        if not self._ranges.range_count:
            self._since_ms = now_ms
        for start, end in ranges:
            self._ranges.add(start, end)

    def take_back(self, record: Skipped, now_ms: int) -> None:
        """The record could not be written; another one says it later."""
        self.add(unpack_ranges(record.runs), now_ms)

    def due(self, generation: int, now_ms: int) -> Skipped | None:
        """A record of all of it, where that is time: it has waited for long enough, or there is much of it."""
        deadline_ms = self.deadline_ms
        is_time = deadline_ms is not None and deadline_ms <= now_ms
        return self.record(generation) if is_time or self._ranges.range_count >= self._ranges_max else None

    def record(self, generation: int) -> Skipped | None:
        """A record of all of it."""
        if not self._ranges.range_count:
            return None
        runs = pack_ranges(self._ranges)
        self._ranges.clear()
        return Skipped(self._group_id, generation, runs, SkipCause.FILTERED)

    def clear(self) -> None:
        """The group is elsewhere, or another owner's: it looks again."""
        self._ranges.clear()

    @property
    def deadline_ms(self) -> int | None:
        """When it is to be recorded."""
        return self._since_ms + self._wait_ms if self._ranges.range_count else None
