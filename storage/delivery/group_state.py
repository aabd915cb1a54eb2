"""All state of one group in one partition, and how records change it.

`GroupDelivery` decides by it; `apply` is the same for a decision that became durable and for a replay; `abort` undoes a
decision whose record could not be written. Between decision and either an offset is *pending*: it is leased to nobody
else and does not expire.

Where a message is, from the group's progress upwards: below `cursor` each one is done, leased, released, in the
retries, pending, postponed or being skipped; from `cursor` on each one is fresh, except for a few that old receipts or
a replay speak of.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from storage.delivery.dead_letter_queue import DeadLetterQueue
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_progress import GroupProgress, GroupSnapshot, Retry
from storage.delivery.leases import LeaseBatch, LeaseTable
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
    unpack_ranges,
)
from storage.delivery.return_queue import ReturnQueue
from storage.delivery.states import MessageState


class DoneListener(Protocol):
    """Who keeps something of messages that are not done: the group's selection."""

    def done(self, start: int, end: int) -> None:
        """These are done just now."""
        ...

    def forget(self) -> None:
        """Nothing of before is true."""
        ...


class PartitionGroupState:
    """`released` are leases whose answer was not written (None: a message that the cursor passed while it was
    pending); `postponed` were seen and left for later, `skipping` are passed over as soon as that is durable.
    `ahead_until` is the end of what is known at or above the cursor.
    """

    def __init__(self, group_id: str, selection: DoneListener, *, start_offset: int, bounds: DeliverySettings) -> None:
        self.group_id = group_id
        self.bounds = bounds
        self.progress = GroupProgress(start_offset, dead_lettered_ranges_max=bounds.dead_lettered_ranges_max)
        self.leases = LeaseTable()
        self.released: dict[int, LeaseBatch | None] = {}
        self.returns = ReturnQueue()
        self.dead_letters = DeadLetterQueue()
        self.pending = PendingOffsets()
        self.postponed = OffsetRanges()
        self.skipping = OffsetRanges()
        self.cursor = start_offset
        self.ahead_until = start_offset
        self.jumping_to = -1
        self._selection = selection

    # --- questions -------------------------------------------------------------------------------------------------

    def is_tracked(self, offset: int) -> bool:
        """Whether a message that is not done is anything but fresh (or pending)."""
        return offset in self.leases.by_offset or offset in self.released or offset in self.progress.retries

    @property
    def is_returned_full(self) -> bool:
        """Nothing fresh is leased while so many that were given back are not done."""
        return len(self.progress.retries) >= self.bounds.returned_max

    @property
    def is_postponed_full(self) -> bool:
        """Nothing fresh is looked at while so many wait."""
        return self.postponed.range_count >= self.bounds.postponed_ranges_max

    @property
    def delivered_below(self) -> int:
        """Every message below it was delivered at least once, or is done."""
        below = self.cursor
        if self.postponed.range_count:
            below = min(below, self.postponed.first)
        if self.skipping.range_count:
            below = min(below, self.skipping.first)
        return below

    def was_delivered(self, offset: int) -> bool:
        """As far as it is remembered; a message that is done counts."""
        if self.is_tracked(offset) or self.progress.is_done(offset) or offset < self.progress.delivered_below:
            return True
        return offset < self.cursor and offset not in self.postponed and offset not in self.skipping

    def message_state(self, offset: int) -> MessageState:
        """As of the last call that knew the time."""
        if offset in self.leases.by_offset:
            return MessageState.LEASED
        if self.progress.is_done(offset):
            return MessageState.DEAD_LETTERED if self.progress.is_dead_lettered(offset) else MessageState.DONE
        retry = self.progress.retries.get(offset)
        if retry is not None and retry.is_dead_lettering:
            return MessageState.DEAD_LETTERING
        return MessageState.WAITING if self.returns.delayed_until(offset) is None else MessageState.DELAYED

    def newest_delivery(self, offset: int) -> tuple[int, int] | None:
        """The newest delivery of a message, as (leader epoch, attempt), as far as it is remembered."""
        delivery = self.leases.by_offset.get(offset) or self.released.get(offset)
        if delivery is not None:
            return delivery.leader_epoch, delivery.attempt
        retry = self.progress.retries.get(offset)
        return None if retry is None else (retry.leader_epoch, retry.attempts)

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

    def take_back(self, offsets: Iterable[int]) -> None:
        """Take messages from wherever they are, so that they can be leased to whom they were delivered before."""
        for offset in offsets:
            self.leases.remove(offset)
            self.released.pop(offset, None)
            self.returns.discard(offset)
            self.postponed.remove(offset, offset + 1)
            self.ahead_until = max(self.ahead_until, offset + 1)

    def rewind(self, offset: int) -> None:
        """Nothing from `offset` on is out any more, and it comes again; attempts that end with this do not count."""
        for leased in [each for each in self.leases.by_offset if each >= offset]:
            self.released[leased] = self.leases.remove(leased)
        self.ahead_until = max(self.ahead_until, self.cursor)
        self.cursor = min(self.cursor, max(offset, self.progress.progress))

    # --- pending ---------------------------------------------------------------------------------------------------

    def mark_pending(self, offsets: Iterable[int], *, end: int) -> None:
        """A record with these offsets, all below `end`, is on its way to the log."""
        self.pending.mark(offsets)
        if self.postponed.range_count:
            ranges = [offsets] if isinstance(offsets, range) else [range(each, each + 1) for each in offsets]
            for each in ranges:
                self.postponed.remove(each.start, each.stop)
        self.ahead_until = max(self.ahead_until, end)

    def abort(self, record: GroupRecord, *, now_ms: int) -> None:
        """The record could not be written: everything is as before. Leases keep their deadline."""
        if isinstance(record, Jumped):
            self.jumping_to = -1
        elif isinstance(record, Sought | Claimed | PositionCommitted) or record.generation != self.progress.generation:
            return
        elif isinstance(record, Returned):
            self._put_back((item.offset for item in record.items), now_ms)
        elif isinstance(record, Skipped):
            self._look_anew(record)
        else:
            for start, end in unpack_ranges(record.runs):
                self._put_back(range(start, end), now_ms)

    def _put_back(self, offsets: Iterable[int], now_ms: int) -> None:
        for offset in offsets:
            self.pending.unmark((offset,))
            if offset in self.pending or self.progress.is_done(offset):
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
        self._selection = selection
        self.leases.listener = None
        self.ahead_until = max(self.ahead_until, self.cursor)
        self.cursor = self.progress.progress
        self.postponed.clear()

    def _look_anew(self, record: Skipped) -> None:
        """What was not passed over after all is seen again, and all that is behind it."""
        self.ahead_until = max(self.ahead_until, self.cursor)
        for start, end in unpack_ranges(record.runs):
            self.skipping.remove(start, end)
            self.cursor = max(min(self.cursor, start), self.progress.progress)
        self.postponed.remove_from(self.cursor)

    # --- apply -----------------------------------------------------------------------------------------------------

    def apply(self, record: GroupRecord, *, now_ms: int, wall_now_ms: int) -> None:
        """Make a durable record true. A record of an earlier generation is void: a seek was logged before it."""
        if isinstance(record, Sought):
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
            if isinstance(record, Acked):
                self._apply_done(record)
                self.progress.acked(record)
            elif isinstance(record, Returned):
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

    def _apply_done(self, record: Acked | DeadLettered) -> None:
        for start, end in unpack_ranges(record.runs):
            self.pending.unmark(range(start, end))
            self._forget_within(start, end)
            self.ahead_until = max(self.ahead_until, end)

    def _apply_skipped(self, record: Skipped) -> None:
        """Costs nothing per offset: compaction may leave gaps of billions."""
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
            self.leases.remove(offset)
            self.released.pop(offset, None)
            self._queue(offset, retry, now_ms=now_ms, wall_now_ms=wall_now_ms)

    def _queue(self, offset: int, retry: Retry, *, now_ms: int, wall_now_ms: int) -> None:
        self.ahead_until = max(self.ahead_until, offset + 1)
        if not retry.is_dead_lettering:
            self.returns.put(offset, now_ms + retry.remaining_ms(wall_now_ms), now_ms=now_ms)
        elif offset not in self.dead_letters:
            self.returns.discard(offset)
            self.dead_letters.put(offset, now_ms)

    def _forget_within(self, start: int, end: int) -> None:
        """Drop what is kept beside the progress for a range that is about to be done. Costs as much as the smaller of
        the range and what is kept: retention may jump over a billion messages."""
        self._selection.done(start, end)
        if self.postponed.range_count:
            self.postponed.remove(start, end)
        leased, released, retries = self.leases.by_offset, self.released, self.progress.retries
        offsets: Iterable[int] = range(start, end)
        if end - start > len(leased) + len(released) + len(retries):
            offsets = [offset for kept in (leased, released, retries) for offset in kept if start <= offset < end]
        if not released and not retries:
            for offset in offsets:
                self.leases.remove(offset)
            return
        for offset in offsets:
            self.leases.remove(offset)
            released.pop(offset, None)
            self.returns.discard(offset)
            self.dead_letters.discard(offset)

    def _change_hands(self) -> None:
        """The next owner begins where the one before has got to."""
        for offset in self.released:
            if offset not in self.progress.retries:
                self.returns.discard(offset)
        self.leases.clear()
        self.released.clear()
        self.pending.clear()
        self.ahead_until = max(self.ahead_until, self.cursor)
        self.cursor = self.progress.progress

    def _forget_everything(self, offset: int) -> None:
        self.leases.clear()
        self.released.clear()
        self.returns.clear()
        self.dead_letters.clear()
        self.pending.clear()
        self.postponed.clear()
        self.skipping.clear()
        self._selection.forget()
        self.cursor = self.ahead_until = offset
        self.jumping_to = -1

    # --- snapshots and checks --------------------------------------------------------------------------------------

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

    def check_invariants(self) -> None:
        """Raises AssertionError. Costs as much as there are messages in flight."""
        progress, cursor = self.progress, self.cursor
        progress.check_invariants()
        self.leases.check_invariants()
        assert cursor >= progress.progress, "the cursor is behind the progress"
        kept = {*self.leases.by_offset, *self.released, *progress.retries}
        for offset in kept:
            assert not progress.is_done(offset), f"offset {offset} is done and still kept"
            assert offset < max(cursor, self.ahead_until), f"the fresh scan would deliver offset {offset} twice"
        for offset in self.released:
            assert offset not in self.leases.by_offset, f"offset {offset} is leased and released"
        for start, end in self.postponed:
            assert progress.progress <= start < end <= cursor, "what is postponed is done, or not seen yet"
            assert progress.done_above.count_below(start) == progress.done_above.count_below(end), "it is done"
        for offset, retry in progress.retries.items():
            queued = offset in self.returns or offset in self.leases.by_offset or offset in self.pending
            is_seen_later = offset in self.postponed or offset in self.skipping or offset >= cursor
            assert (
                (offset in self.dead_letters or offset in self.pending)
                if retry.is_dead_lettering
                else queued or is_seen_later
            ), f"offset {offset} was given back and is in no queue"
        tracked = (self.leases.by_offset, self.released, progress.retries, self.pending.counts)
        known = dict.fromkeys(offset for each in tracked for offset in each if not progress.is_done(offset))
        below = sum(1 for offset in known if offset < cursor)
        for start, end in (*self.postponed, *self.skipping):
            first = max(start, progress.progress)
            last = max(min(end, cursor), first)
            done = progress.done_above.count_below(last) - progress.done_above.count_below(first)
            below += last - first - done - sum(1 for offset in known if first <= offset < last)
        done_below = progress.done_above.count_below(cursor)
        assert cursor - progress.progress == below + done_below, "the cursor has passed a message and nobody knows it"
