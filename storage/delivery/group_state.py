"""All state of one group in one partition, and how records change it.

`GroupDelivery` decides by it; `apply` is the same for a decision that became durable and for a replay; `abort` undoes a
decision whose record could not be written. Between decision and either an offset is *pending*: it is leased to nobody
else and does not expire.

Where a message is, from the group's progress upwards: below `cursor` each one is done, out (leased, given back, or on
its way to be either), being skipped, or postponed, which is whatever is none of these; from `cursor` on each one is
fresh, except for a few that old receipts or a replay speak of.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from storage.delivery.blocked_set import BlockedSet
from storage.delivery.dead_letter_queue import DeadLetterQueue
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.done_listener import DoneListener
from storage.delivery.group_progress import GroupProgress, Retry
from storage.delivery.group_snapshot import GroupSnapshot
from storage.delivery.leases import ATTEMPTS_SPAN, LeaseBatch, LeaseTable
from storage.delivery.offset_ranges import OffsetRanges
from storage.delivery.pending_offsets import PendingOffsets
from storage.delivery.records import (
    Acked,
    Claimed,
    DeadLettered,
    GroupRecord,
    Jumped,
    PositionCommitted,
    Returned,
    Skipped,
    Sought,
    offsets_of,
    unpack_ranges,
)
from storage.delivery.return_queue import ReturnQueue


class PartitionGroupState:
    """`released` are leases whose answer was not written (None: a message that the cursor passed while it was
    pending), `interrupted` those that ended as one before theirs came back; `blocked` messages wait for a person.
    `skipping` are passed over as soon as that is durable. What was seen and left for later is kept nowhere: below the
    cursor it is what is left, and all of it is at `postponed_from` or above (None: there is none). `ahead_until` is the
    end of what is known at or above the cursor. `attempt_base` is what receipts of now add to the attempts that count.
    """

    def __init__(self, group_id: str, selection: DoneListener, *, start_offset: int, bounds: DeliverySettings) -> None:
        self.group_id = group_id
        self.bounds = bounds
        self.progress = GroupProgress(start_offset, bounds)
        self.leases = LeaseTable()
        self.released: dict[int, LeaseBatch | None] = {}
        self.interrupted: dict[int, LeaseBatch] = {}
        self.returns = ReturnQueue()
        self.dead_letters = DeadLetterQueue()
        self.blocked = BlockedSet()
        self.pending = PendingOffsets()
        self.skipping = OffsetRanges()
        self.postponed_from: int | None = None
        self.cursor = self.ahead_until = start_offset
        self.jumping_to = -1
        self.attempt_base = 0
        self.selection = selection

    # --- questions -------------------------------------------------------------------------------------------------

    def is_tracked(self, offset: int) -> bool:
        """Whether a message that is not done is anything but fresh (or pending)."""
        return (
            offset in self.leases.by_offset
            or offset in self.released
            or offset in self.interrupted
            or offset in self.progress.retries
        )

    def is_out(self, offset: int) -> bool:
        """Whether somebody has a message that is not done, or it is in a queue: it is neither fresh nor postponed."""
        if offset in self.leases.by_offset or offset in self.pending.counts:
            return True
        if not (self.progress.retries or self.released or self.interrupted):
            return False
        return offset in self.returns or offset in self.dead_letters or offset in self.blocked

    def postponed_within(self, offsets: range) -> Iterator[range]:
        """What of these was seen and left for later."""
        start, end = offsets.start, min(offsets.stop, self.cursor)
        is_none_out = not (self.progress.retries or self.released or self.pending)
        while start < end:
            passed_until = self.passed_until(start)
            if passed_until is not None:
                start = passed_until
                continue
            done, skipping = self.progress.done_above.next_start(start), self.skipping.next_start(start)
            found = range(start, min(end, done or end, skipping or end))
            if is_none_out and self.leases.by_offset.keys().isdisjoint(found):
                yield found
            else:
                yield from (range(each, each + 1) for each in found if not self.is_out(each))
            start = found.stop

    def passed_until(self, offset: int) -> int | None:
        """The end of what is done, or about to be passed over, where `offset` is a part of it."""
        if offset < self.progress.progress:
            return self.progress.progress
        done_until = self.progress.done_above.end_of(offset)
        return self.skipping.end_of(offset) if done_until is None and self.skipping.range_count else done_until

    @property
    def is_returned_full(self) -> bool:
        """Nothing fresh is leased while so many that were given back are not done."""
        return len(self.progress.retries) >= self.bounds.returned_max

    @property
    def is_full_of_holes(self) -> bool:
        """Nothing fresh is looked at while so much is done in between what was left for later."""
        return self.progress.done_above.range_count >= self.bounds.done_holes_max

    @property
    def delivered_below(self) -> int:
        """Every message below it was delivered at least once, or is done."""
        below = self.cursor
        if self.postponed_from is not None:
            below = min(below, max(self.postponed_from, self.progress.progress))
        if self.skipping.range_count:
            below = min(below, self.skipping.first)
        return below

    def next_deadline(self) -> int | None:
        """When something happens by itself next."""
        deadlines = (self.leases.next_deadline(), self.returns.next_deadline(), self.dead_letters.next_deadline())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    # --- leases ----------------------------------------------------------------------------------------------------

    def take_returned(self, room: int) -> list[int]:
        """Take up to `room` messages that came back and are due, the longest due first."""
        taken: list[int] = []
        while len(taken) < room and (offset := self.returns.pop()) is not None:
            if offset not in self.pending:  # else an abort puts it back
                taken.append(offset)
        return taken

    def take_fresh(self, room: int, readable_end: int) -> Sequence[int]:
        """Move the cursor over up to `room` fresh offsets."""
        taken: list[int] = []
        known_until = min(self.ahead_until, readable_end)
        while self.cursor < known_until and len(taken) < room:
            offset = self.cursor
            passed_until = self.progress.done_above.end_of(offset) or self.skipping.end_of(offset)
            if passed_until is not None:
                self.cursor = passed_until
                continue
            self.cursor += 1
            if offset not in self.pending and not self.is_tracked(offset):
                taken.append(offset)
        stop = min(self.cursor + room - len(taken), readable_end)
        fresh = range(self.cursor, max(self.cursor, stop))
        self.cursor = fresh.stop
        return [*taken, *fresh] if taken else fresh

    def release(self, offset: int) -> None:
        """Nobody has seen this lease: it returns to the head, unless its message is being settled."""
        if offset not in self.pending:
            self.released[offset] = self.leases.remove(offset)
            self.returns.put_first(offset)

    def interrupt_behind(self, offset: int) -> None:
        """This message comes back: where there is an order, leases behind it end, and their attempts do not count."""
        behind = self.selection.behind(offset)
        if behind:
            self.attempt_base += ATTEMPTS_SPAN
        for each in behind:
            if each in self.pending:
                continue
            delivery = self.leases.remove(each)
            if delivery is not None and len(self.interrupted) < self.bounds.interrupted_max:
                self.interrupted[each] = delivery
            self.postpone(each)

    def postpone(self, offset: int) -> None:
        """This was seen and is left for later, as may be what is behind it."""
        if self.postponed_from is None or offset < self.postponed_from:
            self.postponed_from = offset

    def take_back(self, offsets: Iterable[int]) -> None:
        """Take messages from wherever they are, so that they can be leased to whom they were delivered before."""
        for offset in offsets:
            self.leases.remove(offset)
            self.released.pop(offset, None)
            self.interrupted.pop(offset, None)
            self.returns.discard(offset)
            self.ahead_until = max(self.ahead_until, offset + 1)

    def rewind(self, offset: int) -> None:
        """Nothing from `offset` on is out any more, and it comes again; attempts that end with this do not count."""
        self.attempt_base += ATTEMPTS_SPAN
        for leased in [each for each in self.leases.by_offset if each >= offset]:
            self.released[leased] = self.leases.remove(leased)
        self.ahead_until = max(self.ahead_until, self.cursor)
        self.cursor = min(self.cursor, max(offset, self.progress.progress))

    # --- pending ---------------------------------------------------------------------------------------------------

    def mark_pending(self, offsets: Iterable[int], *, end: int) -> None:
        """A record with these offsets, all below `end`, is on its way to the log."""
        self.pending.mark(offsets)
        self.ahead_until = max(self.ahead_until, end)

    def abort(self, record: GroupRecord, *, now_ms: int) -> None:
        """The record could not be written: everything is as before. Leases keep their deadline."""
        if isinstance(record, Jumped):
            self.jumping_to = -1
        elif isinstance(record, Sought | Claimed | PositionCommitted) or record.generation != self.progress.generation:
            return
        elif isinstance(record, Returned):
            self._put_back((item.offset for item in record.items), now_ms)
        elif isinstance(record, Skipped) and not record.was_decided_by_offset:
            self._look_anew(record)
        else:
            for start, end in unpack_ranges(record.runs):
                self._put_back(range(start, end), now_ms)

    def _put_back(self, offsets: Iterable[int], now_ms: int) -> None:
        for offset in offsets:
            self.pending.unmark((offset,))
            if offset in self.pending or offset in self.blocked or self.progress.is_done(offset):
                continue
            retry = self.progress.retries.get(offset)
            if offset in self.leases.by_offset:
                self.leases.rearm(offset)
            elif retry is not None and retry.is_dead_lettering:
                self.dead_letters.put(offset, now_ms)
            elif offset not in self.returns and (retry is not None or offset < self.cursor):
                # It came due, or the cursor came by, while it was pending.
                if retry is None:
                    self.released.setdefault(offset, None)
                self.returns.put_first(offset)

    def look_from_progress(self, selection: DoneListener) -> None:
        """Another selection sees everything that is not done, as a new leader's does."""
        self.selection = selection
        self.leases.tell(None)
        self.ahead_until = max(self.ahead_until, self.cursor)
        self.cursor = self.progress.progress
        self.postponed_from = None
        for offset in (*self.progress.retries, *self.released, *self.interrupted):
            if not self.is_out(offset) and offset not in self.skipping:
                self.returns.put_first(offset)  # the selection of before had postponed it

    def _look_anew(self, record: Skipped) -> None:
        """What was not passed over after all is seen again, and all that is behind it."""
        self.ahead_until = max(self.ahead_until, self.cursor)
        for start, end in unpack_ranges(record.runs):
            self.skipping.remove(start, end)
            self.cursor = max(min(self.cursor, start), self.progress.progress)

    # --- apply -----------------------------------------------------------------------------------------------------

    def apply(self, record: GroupRecord, *, now_ms: int, wall_now_ms: int) -> None:
        """Make a durable record true. A record of an earlier generation is void: a seek was logged before it."""
        if isinstance(record, Acked):  # the most frequent by far
            if record.generation == self.progress.generation:
                self._apply_done(record)
                self.progress.acked(record)
        elif isinstance(record, Sought):
            if self.progress.sought(record):
                self._forget_everything(record.offset)
        elif isinstance(record, Claimed):
            if self.progress.claimed(record):
                self._change_hands()
        elif isinstance(record, Jumped):
            self.jumping_to = -1
            if record.to_offset > self.progress.progress:
                self._forget_within(self.progress.progress, record.to_offset)
                self.progress.jumped(record)
        elif record.generation == self.progress.generation:
            if isinstance(record, Returned):
                self._apply_returned(record, now_ms, wall_now_ms)
            elif isinstance(record, Skipped):
                self._apply_skipped(record)
            elif isinstance(record, PositionCommitted):
                if record.offset > self.progress.progress:
                    self._forget_within(self.progress.progress, record.offset)
                self.progress.position_committed(record)
            else:
                self._apply_done(record)
                self.progress.dead_lettered(record.runs)
        self.cursor = max(self.cursor, self.progress.progress)
        if self.postponed_from is not None and self.progress.progress == self.cursor:
            self.postponed_from = None

    def _apply_done(self, record: Acked | DeadLettered) -> None:
        offsets = offsets_of(record.runs)
        self.pending.unmark(offsets)
        self.ahead_until = max(self.ahead_until, sum(record.runs))
        for start, end in unpack_ranges(record.runs):
            self.selection.done(start, end)
        self._forget(offsets)

    def _apply_skipped(self, record: Skipped) -> None:
        """Costs nothing per offset where nobody had it leased: compaction may leave gaps of billions."""
        if record.was_decided_by_offset:
            self.pending.unmark(record.offsets)
        for start, end in unpack_ranges(record.runs):
            self.skipping.remove(start, end)
            self._forget_within(start, end)
            self.ahead_until = max(self.ahead_until, end)
        self.progress.skipped(record)

    def _apply_returned(self, record: Returned, now_ms: int, wall_now_ms: int) -> None:
        for item in record.items:
            offset = item.offset
            self.pending.unmark((offset,))
            retry = self.progress.returned(item, record.wall_ms)
            if retry is None:
                continue
            delivery = self.leases.remove(offset) or self.released.pop(offset, None)
            if delivery is not None and not retry.is_outlived:  # else nobody was given it
                retry.receipt_attempt = delivery.attempt
            self._queue(offset, retry, now_ms=now_ms, wall_now_ms=wall_now_ms)

    def _queue(self, offset: int, retry: Retry, *, now_ms: int, wall_now_ms: int) -> None:
        self.ahead_until = max(self.ahead_until, offset + 1)
        self.blocked.discard(offset)
        if retry.is_blocked:
            self.returns.discard(offset)
            self.blocked.add(offset)
        elif not retry.is_dead_lettering:
            self.returns.put(offset, now_ms + retry.remaining_ms(wall_now_ms), now_ms=now_ms)
        elif offset not in self.dead_letters:
            self.returns.discard(offset)
            self.dead_letters.put(offset, now_ms)

    def _forget_within(self, start: int, end: int) -> None:
        """Drop what is kept beside the progress for a range that is about to be done. Costs as much as the smaller of
        the range and what is kept: retention may jump over a billion messages."""
        self.selection.done(start, end)
        offsets: Sequence[int] = range(start, end)
        kept_beside: tuple[Collection[int], ...] = (
            self.leases.by_offset,
            self.released,
            self.progress.retries,
            self.interrupted,
        )
        if end - start > sum(len(kept) for kept in kept_beside):
            offsets = [offset for kept in kept_beside for offset in kept if start <= offset < end]
        self._forget(offsets)

    def _forget(self, offsets: Sequence[int]) -> None:
        released, interrupted = self.released, self.interrupted
        self.leases.remove_all(offsets)
        if not released and not interrupted and not self.progress.retries:
            return
        for offset in offsets:
            released.pop(offset, None)
            interrupted.pop(offset, None)
            self.returns.discard(offset)
            self.dead_letters.discard(offset)
            self.blocked.discard(offset)

    def _change_hands(self) -> None:
        """The next owner begins where the one before has got to."""
        for offset in self.released:
            if offset not in self.progress.retries:
                self.returns.discard(offset)
        self.leases.clear()
        self.released.clear()
        self.interrupted.clear()
        self.pending.clear()
        self.skipping.clear()
        self.ahead_until = max(self.ahead_until, self.cursor)
        self.cursor = self.progress.progress

    def _forget_everything(self, offset: int) -> None:
        self.leases.clear()
        self.released.clear()
        self.interrupted.clear()
        self.returns.clear()
        self.dead_letters.clear()
        self.blocked.clear()
        self.pending.clear()
        self.skipping.clear()
        self.postponed_from = None
        self.selection.forget()
        self.cursor = self.ahead_until = offset
        self.jumping_to = -1

    # --- snapshots --------------------------------------------------------------------------------------

    def snapshot(self) -> GroupSnapshot:
        """Committed facts only: no lease, nothing pending."""
        return self.progress.snapshot(self.group_id)

    def restore(self, snapshot: GroupSnapshot, *, now_ms: int, wall_now_ms: int) -> None:
        """Fill a new object: every message that is not done is waiting or delayed again."""
        self.progress.restore(snapshot)
        self.cursor = self.progress.progress
        self.ahead_until = max(self.cursor, self.progress.done_above.end)
        for offset, retry in self.progress.retries.items():
            self._queue(offset, retry, now_ms=now_ms, wall_now_ms=wall_now_ms)
