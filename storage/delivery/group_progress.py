"""What a group has durably done in a partition: the part of its delivery state that is only ever changed by records.

Replaying the delivery log into this class gives what the leader had; leases and queues are derived beside it
(`group_delivery`). Its snapshot holds committed facts only, so snapshot plus the log's tail equals the whole log
(rule R24).
"""

from typing import NamedTuple

import msgspec

from acklog.wire.failure_reason import FailureReason
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.failures import FailureHistory, FailureReasons
from storage.delivery.group_snapshot import NOBODY, CommittedPosition, GroupSnapshot, PartitionOwner
from storage.delivery.offset_ranges import OffsetRanges
from storage.delivery.records import (
    BLOCKED,
    DEAD_LETTER,
    OUTLIVED,
    Acked,
    Cause,
    Claimed,
    Jumped,
    PositionCommitted,
    ReturnedItem,
    SkipCause,
    Skipped,
    Sought,
    unpack_ranges,
)


class Retry(msgspec.Struct, gc=False):
    """A message that was given back: `attempts` deliveries of it count, the last by the leader of `leader_epoch`.

    It may be leased again `delay_ms` after `wall_ms`; with DEAD_LETTER and BLOCKED its attempts are used up, with
    OUTLIVED its time to live is over.
    `receipt_attempt` is what the receipt of the last of them says, as long as that is remembered (0: it is not).
    It failed first at `first_ms` (-1: at `wall_ms`), and `consumer` had it last ("": that is not known).
    """

    attempts: int
    leader_epoch: int
    wall_ms: int
    delay_ms: int
    receipt_attempt: int = 0
    first_ms: int = -1
    consumer: str = ""

    @property
    def is_dead_lettering(self) -> bool:
        return self.delay_ms in (DEAD_LETTER, OUTLIVED)

    @property
    def is_outlived(self) -> bool:
        return self.delay_ms == OUTLIVED

    @property
    def is_blocked(self) -> bool:
        return self.delay_ms == BLOCKED

    def remaining_ms(self, wall_now_ms: int) -> int:
        """The delay that is left. No clock jump can make it longer than the delay itself."""
        return min(max(self.wall_ms + self.delay_ms - wall_now_ms, 0), max(self.delay_ms, 0))


class GroupTotals(NamedTuple):
    """Messages of one group in one partition, ever. `dead_lettered` went to the dead-letter topic, `lost` were removed
    before they were done, `deleted` of these on purpose and the others by retention, `expired` were not given to
    anybody in time, or not again: of these the group may have made dead letters. `overtaken` is what of `lost` nobody
    deleted on purpose, since somebody last said where the group is."""

    dead_lettered: int
    lost: int
    expired: int
    overtaken: int
    deleted: int


class GroupProgress:
    """`progress` is the first offset not done; every offset below it is.

    `delivered_below`: below it every message has been delivered at least once in this generation, as far as the
    records say. `retries` is for reading only. `claimed_generations` began with another owner, the others with a seek.
    """

    def __init__(self, offset: int, bounds: DeliverySettings) -> None:
        self.generation = 0
        self.progress = offset
        self.delivered_below = offset
        self.retries: dict[int, Retry] = {}
        self.done_above = OffsetRanges()
        self.dead_lettered_count = 0
        self.lost_count = 0
        self.expired_count = 0
        self.overtaken_count = 0
        self.deleted_count = 0
        self.committed: CommittedPosition | None = None
        self.owner = NOBODY
        self.claimed_generations = 0
        self._reasons = FailureReasons(bounds.failure_reasons_bytes_max)
        self._dead_lettered = OffsetRanges()
        self._dead_lettered_ranges_max = bounds.dead_lettered_ranges_max
        self._filtered = OffsetRanges()
        self._expired = OffsetRanges()
        self._passed_over_ranges_max = bounds.passed_over_ranges_max

    def is_done(self, offset: int) -> bool:
        """Acknowledged, dead-lettered, passed over, lost to retention, or below a seek."""
        return offset < self.progress or offset in self.done_above

    def is_dead_lettered(self, offset: int) -> bool:
        """Done that way, and not forgotten since."""
        return offset in self._dead_lettered

    def is_filtered_out(self, offset: int) -> bool:
        """Done as the group's filter passed it over, and not forgotten since."""
        return offset in self._filtered

    def is_expired(self, offset: int) -> bool:
        """Done as its time to live was over, and not forgotten since."""
        return offset in self._expired

    def acked(self, record: Acked) -> None:
        for start, end in unpack_ranges(record.runs):
            self._done(start, end)
        self.delivered_below = max(self.delivered_below, record.delivered_below)

    def dead_lettered(self, runs: list[int]) -> None:
        """What was acknowledged meanwhile stays acknowledged."""
        for start, end in unpack_ranges(runs):
            for offset in range(start, end):
                if not self.is_done(offset):
                    self._done(offset, offset + 1)
                    self._dead_lettered.add(offset, offset + 1)
                    self.dead_lettered_count += 1
        while self._dead_lettered.range_count > self._dead_lettered_ranges_max:
            self._dead_lettered.remove_first()

    def skipped(self, record: Skipped) -> None:
        for start, end in unpack_ranges(record.runs):
            if record.cause == SkipCause.EXPIRED:
                self.expired_count += sum(not self.is_done(offset) for offset in range(start, end))
                self._expired.add(start, end)
            elif record.cause == SkipCause.FILTERED:
                self._filtered.add(start, end)
            self._done(start, end)
        for ranges in (self._filtered, self._expired):
            while ranges.range_count > self._passed_over_ranges_max:
                ranges.remove_first()

    def returned(self, item: ReturnedItem, wall_ms: int) -> Retry | None:
        """None if the message is done."""
        if self.is_done(item.offset):
            return None
        before = self.retries.get(item.offset)
        if item.delay_ms == OUTLIVED and not (before is not None and before.is_outlived):
            self.expired_count += 1
        retry = self.retries[item.offset] = Retry(
            item.attempts, item.leader_epoch, wall_ms, item.delay_ms, consumer=item.consumer
        )
        if before is not None:
            retry.first_ms = before.first_ms if before.first_ms >= 0 else before.wall_ms
        if before is not None and not item.consumer and before.attempts == item.attempts:
            retry.consumer = before.consumer
        if item.reason:
            self._reasons.add(item.offset, FailureReason(item.attempts, wall_ms, item.reason))
        if before is not None and (before.attempts == item.attempts or item.cause == Cause.RELEASED):
            retry.receipt_attempt = before.receipt_attempt  # by the same receipt once more, or nobody has it since
        return retry

    def history(self, offset: int) -> FailureHistory:
        """How a message failed that is not done."""
        retry = self.retries.get(offset)
        if retry is None:
            return FailureHistory()
        return FailureHistory(self.first_failed_ms(offset), retry.wall_ms, retry.consumer, self._reasons.of(offset))

    def first_failed_ms(self, offset: int) -> int:
        """By the wall clock; -1 where it has not failed, or is done."""
        retry = self.retries.get(offset)
        if retry is None:
            return -1
        return retry.first_ms if retry.first_ms >= 0 else retry.wall_ms

    def position_committed(self, record: PositionCommitted) -> None:
        self._done(self.progress, record.offset)
        self.overtaken_count = 0
        self.committed = CommittedPosition(record.offset, record.leader_epoch, record.metadata)

    def sought(self, record: Sought) -> bool:
        """False if a later seek has overtaken this one."""
        if record.generation <= self.generation:
            return False
        self.generation = record.generation
        self.progress = self.delivered_below = record.offset
        self.committed = None
        self.overtaken_count = 0
        self.retries.clear()
        self._reasons.clear()
        self.done_above.clear()
        self._dead_lettered.remove_from(record.offset)
        self._filtered.remove_from(record.offset)
        self._expired.remove_from(record.offset)
        return True

    def claimed(self, record: Claimed) -> bool:
        """False if a later seek or claim has overtaken this one."""
        if record.generation < self.generation:
            return False
        self.claimed_generations += record.generation - self.generation
        self.generation = record.generation
        self.owner = PartitionOwner(record.ownership, record.member)
        return True

    @property
    def totals(self) -> GroupTotals:
        return GroupTotals(
            self.dead_lettered_count, self.lost_count, self.expired_count, self.overtaken_count, self.deleted_count
        )

    @property
    def seek_generation(self) -> int:
        """Rises with each seek, and with nothing else."""
        return self.generation - self.claimed_generations

    def jumped(self, record: Jumped) -> bool:
        """False if the group has got there by itself."""
        if record.to_offset <= self.progress:
            return False
        self.lost_count += record.lost
        if record.is_deleted:
            self.deleted_count += record.lost
        else:
            self.overtaken_count += record.lost
        self._done(self.progress, record.to_offset)
        self.delivered_below = max(self.delivered_below, self.progress)
        return True

    def snapshot(self, group_id: str) -> GroupSnapshot:
        return GroupSnapshot(
            group_id,
            self.generation,
            self.progress,
            list(self.done_above),
            [
                (offset, retry.attempts, retry.leader_epoch, retry.wall_ms, retry.delay_ms)
                for offset, retry in sorted(self.retries.items())
            ],
            self.delivered_below,
            list(self._dead_lettered),
            self.dead_lettered_count,
            self.lost_count,
            self.committed,
            self.owner,
            self.claimed_generations,
            list(self._filtered),
            [
                (offset, retry.first_ms, retry.consumer)
                for offset, retry in sorted(self.retries.items())
                if retry.consumer or retry.first_ms >= 0
            ],
            self._reasons.snapshot(),
            list(self._expired),
            self.expired_count,
            self.overtaken_count,
            self.deleted_count,
        )

    def restore(self, snapshot: GroupSnapshot) -> None:
        """Fill a new object with what `snapshot` wrote."""
        self.generation = snapshot.generation
        self.progress = snapshot.progress
        self.delivered_below = snapshot.delivered_below
        self.dead_lettered_count = snapshot.dead_lettered_count
        self.lost_count = snapshot.lost_count
        self.committed = snapshot.committed
        self.owner = PartitionOwner(*snapshot.owner)
        self.claimed_generations = snapshot.claimed_generations
        for start, end in snapshot.done:
            self.done_above.add(start, end)
        for start, end in snapshot.dead_lettered:
            self._dead_lettered.add(start, end)
        for start, end in snapshot.filtered:
            self._filtered.add(start, end)
        self.expired_count = snapshot.expired_count
        self.overtaken_count = snapshot.overtaken_count
        self.deleted_count = snapshot.deleted_count
        for start, end in snapshot.expired:
            self._expired.add(start, end)
        for offset, attempts, leader_epoch, wall_ms, delay_ms in snapshot.retries:
            self.retries[offset] = Retry(attempts, leader_epoch, wall_ms, delay_ms)
        for offset, first_ms, consumer in snapshot.failures:
            self.retries[offset].first_ms, self.retries[offset].consumer = first_ms, consumer
        self._reasons.restore(snapshot.reasons)

    def check_invariants(self) -> None:
        previous_end = self.progress
        for start, end in self.done_above:
            assert previous_end < start < end, "progress is not the first offset not done"
            previous_end = end
        for offset in self.retries:
            assert not self.is_done(offset), f"offset {offset} is done and waits for a retry"
        assert self._reasons.offsets <= self.retries.keys(), "why a message failed that does not wait for a retry"
        assert self._dead_lettered.range_count <= self._dead_lettered_ranges_max
        assert max(self._filtered.range_count, self._expired.range_count) <= self._passed_over_ranges_max

    def _done(self, start: int, end: int) -> None:
        start = max(start, self.progress)
        if start >= end:
            return
        if self.retries:
            over = self._retries_within(start, end)
            for offset in over:
                del self.retries[offset]
            if self._reasons.offsets:  # most groups say none
                self._reasons.forget_all(over)
        if start > self.progress:
            self.done_above.add(start, end)
            return
        self.progress = self.done_above.end_of(end) or end
        self.done_above.remove_below(self.progress)

    def _retries_within(self, start: int, end: int) -> list[int]:
        """Costs as much as the smaller of the range and the retries: a jump may be a billion offsets long."""
        if end - start <= len(self.retries):
            return [offset for offset in range(start, end) if offset in self.retries]
        return [offset for offset in self.retries if start <= offset < end]
