"""The delivery state of one group in one partition, mode `shared`: who has which message, what is done.

Decisions (`receive`, `ack`, `nack`, `expire`, …) look at the state and answer with records; `apply` changes what must
survive. Between the two an offset is *pending*: it is leased to nobody else and does not expire, and another settlement
of it is decided anew. `abort` undoes a decision whose record could not be written. Leases themselves are not logged:
after a failover every message that is not done is waiting again, and old receipts stay good until somebody else gets
the message (rule R26).

Where a message is, from the group's progress upwards: below `cursor` each one is done, leased, released, in the
retries or pending; from `cursor` on each one is fresh, except for a few that old receipts or a replay speak of.
No clock, no randomness, no I/O: times are monotonic milliseconds unless they are called wall time.
"""

from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from cluster.model import GroupSettings
from storage.delivery.backoff import retry_delay_ms
from storage.delivery.dead_letter_queue import DeadLetterQueue
from storage.delivery.group_progress import GroupProgress, GroupSnapshot, Retry
from storage.delivery.leases import Delivery, Lease, LeaseTable
from storage.delivery.pending_offsets import PendingOffsets
from storage.delivery.receipts import BY_MESSAGE_ID, SettleItem, forged, judge
from storage.delivery.records import (
    DEAD_LETTER,
    Acked,
    Cause,
    DeadLettered,
    GroupRecord,
    Jumped,
    Returned,
    ReturnedItem,
    Sought,
    pack_offsets,
    unpack_ranges,
)
from storage.delivery.return_queue import ReturnQueue
from storage.delivery.settings import DeliverySettings
from storage.delivery.states import Event, MessageState, accepts

__all__ = ["DeadLetter", "GroupDelivery", "Lease", "MessageView", "Settlement"]

_RecordT = TypeVar("_RecordT", Acked, Returned)


class Settlement(NamedTuple, Generic[_RecordT]):
    """A result per item, in order, None for success; and the record that makes the successes true, if one is needed.

    Nothing is true before the record is durable and applied.
    """

    results: list[ProblemCode | None]
    record: _RecordT | None


class MessageView(NamedTuple):
    """A message as the group sees it; `state` as in `MessageState`. `until_ms` is a duration from now, -1 for none."""

    state: str
    attempts: int
    until_ms: int
    consumer: str


class DeadLetter(NamedTuple):
    """A message to append to the dead-letter topic."""

    offset: int
    attempts: int


class GroupDelivery:
    """`settings` may be replaced at any time; what is decided already stays as it is."""

    def __init__(
        self,
        group_id: str,
        *,
        leader_epoch: int,
        settings: GroupSettings,
        start_offset: int,
        limits: DeliverySettings,
    ) -> None:
        self.group_id = group_id
        self.leader_epoch = leader_epoch
        self.settings = settings
        self._limits = limits
        self._progress = GroupProgress(start_offset, dead_lettered_ranges_max=limits.dead_lettered_ranges_max)
        self._leases = LeaseTable()
        self._released: dict[int, Delivery | None] = {}
        self._returns = ReturnQueue()
        self._dead_letters = DeadLetterQueue()
        self._pending = PendingOffsets()
        self._cursor = start_offset
        self._ahead_until = start_offset
        self._next_generation = 1
        self._jumping_to = -1

    # --- positions -------------------------------------------------------------------------------------------------

    @property
    def progress(self) -> int:
        """The first offset not done."""
        return self._progress.progress

    @property
    def cursor(self) -> int:
        """The first offset that this leader has not delivered yet."""
        return self._cursor

    @property
    def generation(self) -> int:
        """How often the group has sought in this partition."""
        return self._progress.generation

    @property
    def done_above_count(self) -> int:
        """Done offsets above `progress`."""
        return self._progress.done_above.offset_count

    @property
    def in_flight_count(self) -> int:
        """Leased messages."""
        return len(self._leases)

    @property
    def delayed_count(self) -> int:
        """Given back and not due yet, as of the last call that knew the time."""
        return self._returns.delayed_count

    @property
    def dead_lettered_count(self) -> int:
        """Messages that went to the dead-letter topic, ever."""
        return self._progress.dead_lettered_count

    @property
    def lost_count(self) -> int:
        """Messages that retention removed before they were done, ever."""
        return self._progress.lost_count

    # --- receive ---------------------------------------------------------------------------------------------------

    def receive(
        self, *, consumer: str, max_messages: int, visibility_ms: int, high_watermark: int, now_ms: int
    ) -> list[Lease]:
        """Lease what came back and is due, the longest due first, then fresh messages below the high watermark."""
        self._returns.promote(now_ms)
        room = min(max_messages, self.settings.max_in_flight - len(self._leases))
        if room <= 0:
            return []
        deadline_ms = now_ms + visibility_ms
        leases = self._lease_returned(room, consumer, deadline_ms) if self._returns.has_ready else []
        room -= len(leases)
        if room and self._cursor < high_watermark and len(self._progress.retries) < self._limits.returned_max:
            fresh = self._take_fresh(room, high_watermark)
            if fresh:
                self._grant(fresh, 1, consumer, deadline_ms)
                generation, leader_epoch = self.generation, self.leader_epoch
                leases += [Lease(offset, 1, generation, leader_epoch) for offset in fresh]
        return leases

    def empty_reason(self, *, high_watermark: int, now_ms: int) -> str:
        """Why a receive gets nothing: IN_FLIGHT_LIMIT, ALL_LEASED, DELAYED or EMPTY."""
        self._returns.promote(now_ms)
        if len(self._leases) >= self.settings.max_in_flight:
            return "IN_FLIGHT_LIMIT"
        if self._cursor < high_watermark and len(self._progress.retries) >= self._limits.returned_max:
            return "IN_FLIGHT_LIMIT"
        if len(self._leases):
            return "ALL_LEASED"
        return "DELAYED" if self._returns.delayed_count else "EMPTY"

    def release(self, items: Iterable[SettleItem]) -> None:
        """The answer with these leases could not be written: they return to the head and the attempts do not count."""
        for item in items:
            delivery = self._leases.by_offset.get(item.offset)
            if delivery is not None and self._is_of(item, delivery) and item.offset not in self._pending:
                self._leases.remove(item.offset)
                self._released[item.offset] = delivery
                self._returns.put_first(item.offset)

    def _lease_returned(self, room: int, consumer: str, deadline_ms: int) -> list[Lease]:
        leases: list[Lease] = []
        by_attempt: dict[int, list[int]] = {}
        while len(leases) < room and (offset := self._returns.pop()) is not None:
            if offset in self._pending:
                continue  # `abort` puts it back
            self._released.pop(offset, None)
            retry = self._progress.retries.get(offset)
            attempt = 1 if retry is None else retry.attempts + 1
            by_attempt.setdefault(attempt, []).append(offset)
            leases.append(Lease(offset, attempt, self.generation, self.leader_epoch))
        for attempt, offsets in by_attempt.items():
            self._grant(offsets, attempt, consumer, deadline_ms)
        return leases

    def _take_fresh(self, room: int, high_watermark: int) -> Sequence[int]:
        """Move the cursor over up to `room` fresh offsets."""
        taken: list[int] = []
        known_until = min(self._ahead_until, high_watermark)
        while self._cursor < known_until and len(taken) < room:
            offset = self._cursor
            done_until = self._progress.done_above.end_of(offset)
            if done_until is not None:
                self._cursor = done_until
                continue
            self._cursor += 1
            if offset not in self._pending and not self._is_tracked(offset):
                taken.append(offset)
        fresh = range(self._cursor, max(self._cursor, min(self._cursor + room - len(taken), high_watermark)))
        self._cursor = fresh.stop
        return [*taken, *fresh] if taken else fresh

    def _grant(self, offsets: Sequence[int], attempt: int, consumer: str, deadline_ms: int) -> None:
        self._leases.grant(
            offsets, attempt=attempt, leader_epoch=self.leader_epoch, consumer=consumer, deadline_ms=deadline_ms
        )

    # --- settle ----------------------------------------------------------------------------------------------------

    def ack(self, items: Iterable[SettleItem], *, high_watermark: int) -> Settlement[Acked]:
        """Done. Results: RECEIPT_STALE, INVALID_RECEIPT; by message id also NOT_DELIVERED and MESSAGE_NOT_FOUND;
        OVERLOADED when too many holes above what this leader has delivered would have to be remembered."""
        results: list[ProblemCode | None] = []
        offsets: list[int] = []
        leased = self._leases.by_offset
        generation = self.generation
        for item in items:
            offset = item.offset
            delivery = leased.get(offset)
            if (
                delivery is not None
                and item.attempt == delivery.attempt
                and item.leader_epoch == delivery.leader_epoch
                and item.generation == generation
            ):
                offsets.append(offset)
                results.append(None)
                continue
            problem = self._judge(item, Event.ACK, high_watermark)
            if problem is None and not self._progress.is_done(offset):
                if offset >= self._cursor and self._progress.done_above.range_count >= self._limits.done_ranges_max:
                    problem = ProblemCode.OVERLOADED
                else:
                    offsets.append(offset)
            results.append(problem)
        if not offsets:
            return Settlement(results, None)
        runs = pack_offsets(offsets)
        for start, end in unpack_ranges(runs):
            self._mark_pending(range(start, end))
        return Settlement(results, Acked(self.group_id, generation, runs, self._cursor))

    def nack(
        self,
        items: Iterable[SettleItem],
        *,
        delay_ms: int | None,
        jitter: float,
        high_watermark: int,
        wall_now_ms: int,
    ) -> Settlement[Returned]:
        """Give back: leased again after `delay_ms`, or after the group's back-off; the attempt counts.

        Results: RECEIPT_STALE (also for a message that is done), INVALID_RECEIPT, OVERLOADED (too many given back).
        """
        if delay_ms is not None and not 0 <= delay_ms <= limits.NACK_DELAY_SECONDS_MAX * 1000:
            raise ValueError(f"a delay of {delay_ms} ms is out of range")
        results: list[ProblemCode | None] = []
        returned: dict[int, ReturnedItem] = {}
        retries = self._progress.retries
        for item in items:
            offset = item.offset
            problem = self._judge(item, Event.NACK, high_watermark)
            if problem is None and self._state(offset) is not MessageState.DEAD_LETTERING:
                if not self._is_tracked(offset) and len(retries) >= self._limits.returned_max:
                    problem = ProblemCode.OVERLOADED
                else:
                    delay = retry_delay_ms(self.settings, attempts=item.attempt, jitter=jitter)
                    returned[offset] = self._give_back(
                        offset, item.attempt, item.leader_epoch, Cause.NACKED, delay if delay_ms is None else delay_ms
                    )
            results.append(problem)
        return Settlement(results, self._returned_record(returned, wall_now_ms))

    def extend(
        self,
        items: Sequence[SettleItem],
        *,
        visibility_ms: int,
        high_watermark: int,
        now_ms: int,
        wall_now_ms: int,
    ) -> Settlement[Returned]:
        """Keep the leases for `visibility_ms` from now on; a lease that ran out comes back to life if nobody else has
        got the message. 0 gives the messages back at once: only then there is a record.

        Results: as for nack, and CONFLICT while another settlement of the message is being written.
        """
        if not 0 <= visibility_ms <= limits.VISIBILITY_SECONDS_MAX * 1000:
            raise ValueError(f"a visibility of {visibility_ms} ms is out of range")
        if visibility_ms == 0:
            return self.nack(items, delay_ms=0, jitter=0.0, high_watermark=high_watermark, wall_now_ms=wall_now_ms)
        results: list[ProblemCode | None] = []
        kept: dict[tuple[int, int, str], dict[int, None]] = {}
        revived: dict[int, None] = {}
        for item in items:
            offset = item.offset
            problem = self._judge(item, Event.EXTEND, high_watermark)
            if problem is None and offset in self._pending:
                problem = ProblemCode.CONFLICT
            if problem is None and offset not in self._leases.by_offset:
                if len(self._leases) + len(revived) >= self.settings.max_in_flight and offset not in revived:
                    problem = ProblemCode.OVERLOADED
                else:
                    revived[offset] = None
            if problem is None:
                delivery = self._leases.by_offset.get(offset) or self._released.get(offset)
                consumer = "" if delivery is None else delivery.consumer
                kept.setdefault((item.attempt, item.leader_epoch, consumer), {})[offset] = None
            results.append(problem)
        for (attempt, leader_epoch, consumer), offsets in kept.items():
            self._lease_again(list(offsets), attempt, leader_epoch, consumer, now_ms + visibility_ms)
        return Settlement(results, None)

    def _lease_again(
        self, offsets: list[int], attempt: int, leader_epoch: int, consumer: str, deadline_ms: int
    ) -> None:
        for offset in offsets:
            self._leases.remove(offset)
            self._released.pop(offset, None)
            self._returns.discard(offset)
            self._ahead_until = max(self._ahead_until, offset + 1)
        self._leases.grant(
            offsets, attempt=attempt, leader_epoch=leader_epoch, consumer=consumer, deadline_ms=deadline_ms
        )

    def expire(self, *, now_ms: int, wall_now_ms: int, limit: int) -> Returned | None:
        """Give back up to `limit` messages whose lease has run out: they are due at once and the attempts count.

        To be called at `next_deadline`, also for what comes due without an expiry.
        """
        self._returns.promote(now_ms)
        returned: dict[int, ReturnedItem] = {}
        for offset, delivery in self._leases.overdue(now_ms):
            if len(returned) == limit:
                break
            if offset not in self._pending:
                returned[offset] = self._give_back(
                    offset, delivery.attempt, delivery.leader_epoch, Cause.EXPIRED, delay_ms=0
                )
        return self._returned_record(returned, wall_now_ms)

    def _give_back(
        self, offset: int, attempts: int, leader_epoch: int, cause: Cause, delay_ms: int
    ) -> ReturnedItem:
        if attempts >= self.settings.max_attempts:
            delay_ms = DEAD_LETTER
        return ReturnedItem(offset, attempts, delay_ms, cause, leader_epoch)

    def _returned_record(self, returned: dict[int, ReturnedItem], wall_now_ms: int) -> Returned | None:
        if not returned:
            return None
        self._mark_pending(returned)
        return Returned(self.group_id, self.generation, wall_now_ms, list(returned.values()))
