"""The delivery of one partition's messages to one group, mode `shared`: what is decided, by whom it may be settled.

Every method but `apply` and `abort` decides: it looks at the state and answers, with a record where the answer must
survive. The host writes the record to the partition's delivery log and then calls `apply`, or `abort` if that failed;
only after `apply` the decision is true. Leases are not logged: after a failover every message that is not done is
waiting again, and an old receipt stays good until somebody else gets the message (rule R26).

No clock, no randomness, no I/O. Times are monotonic milliseconds unless they are called wall time.
"""

from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from cluster.model.values import GroupSettings
from storage.delivery.backoff import retry_delay_ms
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_progress import GroupSnapshot
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.leases import Lease
from storage.delivery.message_view import MessageStatus, view_message
from storage.delivery.receipts import ReceiptClaim, judge
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
from storage.delivery.states import MessageEvent, MessageState

__all__ = ["DueLetter", "GroupDelivery", "Lease", "MessageStatus", "SettleDecision"]

_RecordT = TypeVar("_RecordT", Acked, Returned)


class SettleDecision(NamedTuple, Generic[_RecordT]):
    """A result per item, in order, None for success; and the record that makes the successes true, if one is needed."""

    results: list[ProblemCode | None]
    record: _RecordT | None


class DueLetter(NamedTuple):
    """A message for the dead-letter topic. In each generation it may die once."""

    offset: int
    attempts: int
    generation: int


class GroupDelivery:
    """`settings` may be replaced at any time; what is decided already stays as it is."""

    def __init__(
        self,
        group_id: str,
        *,
        leader_epoch: int,
        settings: GroupSettings,
        start_offset: int,
        delivery_settings: DeliverySettings,
    ) -> None:
        self.group_id = group_id
        self.leader_epoch = leader_epoch
        self.settings = settings
        self._bounds = delivery_settings
        self._state = PartitionGroupState(
            group_id,
            start_offset=start_offset,
            dead_lettered_ranges_max=delivery_settings.dead_lettered_ranges_max,
        )
        self._last_generation = 0

    # --- positions -------------------------------------------------------------------------------------------------

    @property
    def progress(self) -> int:
        """The first offset not done."""
        return self._state.progress.progress

    @property
    def generation(self) -> int:
        """How often the group has sought in this partition."""
        return self._state.progress.generation

    @property
    def done_above_count(self) -> int:
        """Done offsets above `progress`."""
        return self._state.progress.done_above.offset_count

    @property
    def in_flight_count(self) -> int:
        """Leased messages."""
        return len(self._state.leases)

    @property
    def delayed_count(self) -> int:
        """Given back and not due yet, as of the last call that knew the time."""
        return self._state.returns.delayed_count

    @property
    def dead_lettered_count(self) -> int:
        """Messages that went to the dead-letter topic, ever."""
        return self._state.progress.dead_lettered_count

    @property
    def lost_count(self) -> int:
        """Messages that retention removed before they were done, ever."""
        return self._state.progress.lost_count

    # --- receive ---------------------------------------------------------------------------------------------------

    def receive(
        self, *, consumer: str, max_messages: int, visibility_ms: int, high_watermark: int, now_ms: int
    ) -> list[Lease]:
        """Lease what came back and is due, the longest due first, then fresh messages below the high watermark."""
        state = self._state
        state.returns.promote(now_ms)
        room = min(max_messages, self.settings.max_in_flight - len(state.leases))
        if room <= 0:
            return []
        deadline_ms = now_ms + visibility_ms
        leases = self._lease_returned(room, consumer, deadline_ms) if state.returns.has_ready else []
        if len(leases) < room and not self._is_returned_full():
            fresh = state.take_fresh(room - len(leases), high_watermark)
            if fresh:
                self._grant(fresh, 1, consumer, deadline_ms)
                generation, leader_epoch = self.generation, self.leader_epoch
                leases += [Lease(offset, 1, generation, leader_epoch) for offset in fresh]
        return leases

    def empty_reason(self, *, high_watermark: int, now_ms: int) -> str:
        """Why a receive gets nothing: IN_FLIGHT_LIMIT, ALL_LEASED, DELAYED or EMPTY."""
        state = self._state
        state.returns.promote(now_ms)
        if len(state.leases) >= self.settings.max_in_flight:
            return "IN_FLIGHT_LIMIT"
        if state.cursor < high_watermark and self._is_returned_full():
            return "IN_FLIGHT_LIMIT"
        if len(state.leases):
            return "ALL_LEASED"
        return "DELAYED" if state.returns.delayed_count else "EMPTY"

    def release(self, items: Iterable[ReceiptClaim]) -> None:
        """The answer with these leases could not be written: they return to the head and the attempts do not count."""
        state = self._state
        for item in items:
            offset = item.offset
            delivery = state.leases.by_offset.get(offset)
            if (
                delivery is not None
                and item.generation == self.generation
                and (item.leader_epoch, item.attempt) == (delivery.leader_epoch, delivery.attempt)
                and offset not in state.pending
            ):
                state.leases.remove(offset)
                state.released[offset] = delivery
                state.returns.put_first(offset)

    def _lease_returned(self, room: int, consumer: str, deadline_ms: int) -> list[Lease]:
        state = self._state
        leases: list[Lease] = []
        by_attempt: dict[int, list[int]] = {}
        while len(leases) < room and (offset := state.returns.pop()) is not None:
            if offset in state.pending:
                continue  # an abort puts it back
            state.released.pop(offset, None)
            retry = state.progress.retries.get(offset)
            attempt = 1 if retry is None else retry.attempts + 1
            by_attempt.setdefault(attempt, []).append(offset)
            leases.append(Lease(offset, attempt, self.generation, self.leader_epoch))
        for attempt, offsets in by_attempt.items():
            self._grant(offsets, attempt, consumer, deadline_ms)
        return leases

    def _grant(self, offsets: Sequence[int], attempt: int, consumer: str, deadline_ms: int) -> None:
        self._state.leases.grant(
            offsets, attempt=attempt, leader_epoch=self.leader_epoch, consumer=consumer, deadline_ms=deadline_ms
        )

    def _is_returned_full(self) -> bool:
        return len(self._state.progress.retries) >= self._bounds.returned_max

    # --- settle ----------------------------------------------------------------------------------------------------

    def ack(self, items: Iterable[ReceiptClaim], *, high_watermark: int) -> SettleDecision[Acked]:
        """Done. Results: RECEIPT_STALE, INVALID_RECEIPT; by message id also NOT_DELIVERED and MESSAGE_NOT_FOUND;
        OVERLOADED when too many holes above what this leader has delivered would have to be remembered."""
        results: list[ProblemCode | None] = []
        offsets: list[int] = []
        state = self._state
        leased = state.leases.by_offset
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
            problem = self._judge(item, MessageEvent.ACK, high_watermark)
            if problem is None and not state.progress.is_done(offset):
                if offset >= state.cursor and state.progress.done_above.range_count >= self._bounds.done_ranges_max:
                    problem = ProblemCode.OVERLOADED
                else:
                    offsets.append(offset)
            results.append(problem)
        if not offsets:
            return SettleDecision(results, None)
        runs = pack_offsets(offsets)
        for start, end in unpack_ranges(runs):
            state.mark_pending(range(start, end), end=end)
        return SettleDecision(results, Acked(self.group_id, generation, runs, state.cursor))

    def nack(
        self,
        items: Iterable[ReceiptClaim],
        *,
        delay_ms: int | None,
        jitter: float,
        high_watermark: int,
        wall_now_ms: int,
    ) -> SettleDecision[Returned]:
        """Give back, to be leased again after `delay_ms` or (None) the group's back-off; the attempt counts.

        Results: RECEIPT_STALE (also for a message that is done), INVALID_RECEIPT, OVERLOADED (too many given back).
        """
        if delay_ms is not None and not 0 <= delay_ms <= limits.NACK_DELAY_SECONDS_MAX * 1000:
            raise ValueError(f"a delay of {delay_ms} ms is out of range")
        state = self._state
        results: list[ProblemCode | None] = []
        returned: dict[int, ReturnedItem] = {}
        for item in items:
            offset = item.offset
            problem = self._judge(item, MessageEvent.NACK, high_watermark)
            if problem is None and state.message_state(offset) is not MessageState.DEAD_LETTERING:
                if self._is_returned_full() and not state.is_tracked(offset):
                    problem = ProblemCode.OVERLOADED
                else:
                    delay = delay_ms
                    if delay is None:
                        delay = retry_delay_ms(self.settings, attempts=item.attempt, jitter=jitter)
                    returned[offset] = self._give_back(item, Cause.NACKED, delay)
            results.append(problem)
        return SettleDecision(results, self._returned(returned, wall_now_ms))

    def extend(
        self,
        items: Iterable[ReceiptClaim],
        *,
        visibility_ms: int,
        high_watermark: int,
        now_ms: int,
        wall_now_ms: int,
    ) -> SettleDecision[Returned]:
        """Keep the leases for `visibility_ms` from now on; one that ran out comes back to life if nobody else has got
        the message. 0 gives the messages back at once, and only then there is a record.

        Results: as for nack, and CONFLICT while another settlement of the message is being written.
        """
        if not 0 <= visibility_ms <= limits.VISIBILITY_SECONDS_MAX * 1000:
            raise ValueError(f"a visibility of {visibility_ms} ms is out of range")
        if visibility_ms == 0:
            return self.nack(items, delay_ms=0, jitter=0.0, high_watermark=high_watermark, wall_now_ms=wall_now_ms)
        state = self._state
        results: list[ProblemCode | None] = []
        kept: dict[tuple[int, int, str], dict[int, None]] = {}
        revived: dict[int, None] = {}
        for item in items:
            offset = item.offset
            problem = self._judge(item, MessageEvent.EXTEND, high_watermark)
            if problem is None and self._may_be_anothers(item):
                problem = ProblemCode.RECEIPT_STALE
            elif problem is None and offset in state.pending:
                problem = ProblemCode.CONFLICT
            elif problem is None and offset not in state.leases.by_offset and offset not in revived:
                if len(state.leases) + len(revived) >= self.settings.max_in_flight:
                    problem = ProblemCode.OVERLOADED
                else:
                    revived[offset] = None
            if problem is None:
                delivery = state.leases.by_offset.get(offset) or state.released.get(offset)
                consumer = "" if delivery is None else delivery.consumer
                kept.setdefault((item.attempt, item.leader_epoch, consumer), {})[offset] = None
            results.append(problem)
        for (attempt, leader_epoch, consumer), offsets in kept.items():
            state.take_back(offsets)
            state.leases.grant(
                list(offsets),
                attempt=attempt,
                leader_epoch=leader_epoch,
                consumer=consumer,
                deadline_ms=now_ms + visibility_ms,
            )
        return SettleDecision(results, None)

    def _may_be_anothers(self, item: ReceiptClaim) -> bool:
        """An attempt that ended under an earlier leader: whether it has leased the message again is not known here, so
        nobody gets another lease by such a receipt. An ack by it is taken: that the work was done is as true."""
        retry = self._state.progress.retries.get(item.offset)
        if retry is None or item.leader_epoch == self.leader_epoch or item.offset in self._state.leases.by_offset:
            return False
        return retry.attempts >= item.attempt

    def expire(self, *, now_ms: int, wall_now_ms: int, limit: int) -> Returned | None:
        """Give back up to `limit` messages whose lease has run out: they are due at once and the attempts count.

        To be called at `next_deadline`, also where that is the end of a delay: it makes the message ready.
        """
        state = self._state
        state.returns.promote(now_ms)
        returned: dict[int, ReturnedItem] = {}
        for offset, delivery in state.leases.overdue(now_ms):
            if len(returned) == limit:
                break
            if offset not in state.pending:
                lease = Lease(offset, delivery.attempt, self.generation, delivery.leader_epoch)
                returned[offset] = self._give_back(lease, Cause.EXPIRED, 0)
        return self._returned(returned, wall_now_ms)

    def _give_back(self, item: ReceiptClaim, cause: Cause, delay_ms: int) -> ReturnedItem:
        is_last = item.attempt >= self.settings.max_attempts
        return ReturnedItem(item.offset, item.attempt, DEAD_LETTER if is_last else delay_ms, cause, item.leader_epoch)

    def _returned(self, items: dict[int, ReturnedItem], wall_now_ms: int) -> Returned | None:
        if not items:
            return None
        self._state.mark_pending(items, end=max(items) + 1)
        return Returned(self.group_id, self.generation, wall_now_ms, list(items.values()))

    def _judge(self, item: ReceiptClaim, event: MessageEvent, high_watermark: int) -> ProblemCode | None:
        return judge(item, event, self._state, leader_epoch=self.leader_epoch, high_watermark=high_watermark)

    # --- dead letters ----------------------------------------------------------------------------------------------

    def dead_letters(self, *, limit: int, now_ms: int) -> list[DueLetter]:
        """Messages whose attempts are used up, handed over: the host appends them to the dead-letter topic first and
        then commits `dead_lettered` (rule R29), or calls `dead_letter_failed`."""
        state = self._state
        letters: list[DueLetter] = []
        while len(letters) < limit and (offset := state.dead_letters.pop(now_ms)) is not None:
            if offset in state.pending:
                state.dead_letters.discard(offset)  # an abort puts it back
            else:
                letters.append(DueLetter(offset, state.progress.retries[offset].attempts, self.generation))
        return letters

    def dead_lettered(self, offsets: Iterable[int]) -> DeadLettered:
        """The dead-letter topic has these durably. What was acknowledged or sought away meanwhile is left out."""
        runs = pack_offsets(offset for offset in offsets if self._state.dead_letters.is_handed(offset))
        for start, end in unpack_ranges(runs):
            self._state.mark_pending(range(start, end), end=end)
        return DeadLettered(self.group_id, self.generation, runs)

    def dead_letter_failed(self, offsets: Iterable[int], *, retry_at_ms: int) -> None:
        """The dead-letter topic could not take these: `dead_letters` names them again from `retry_at_ms` on."""
        for offset in offsets:
            if self._state.dead_letters.is_handed(offset):
                self._state.dead_letters.put(offset, retry_at_ms)

    # --- jumps -----------------------------------------------------------------------------------------------------

    def seek(self, offset: int) -> Sought:
        """Read from `offset` on: everything below it is done, nothing from it on. Attempts start again, and every
        receipt of before is stale."""
        self._last_generation = max(self._last_generation, self.generation) + 1
        return Sought(self.group_id, self._last_generation, offset)

    def advance_log_start(self, log_start: int) -> Jumped | None:
        """Retention removed everything below `log_start`. None if the group has done all that, or the jump is under
        way. An ack that is being written at this moment is counted as lost too."""
        state = self._state
        if log_start <= max(self.progress, state.jumping_to):
            return None
        state.jumping_to = log_start
        lost = log_start - self.progress - state.progress.done_above.count_below(log_start)
        return Jumped(self.group_id, log_start, lost)

    # --- time and looks --------------------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        """When to call `expire` and `dead_letters` next."""
        state = self._state
        deadlines = (state.leases.next_deadline(), state.returns.next_deadline(), state.dead_letters.next_deadline())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def describe(self, offset: int, *, high_watermark: int, now_ms: int) -> MessageStatus:
        """What became of a message so far. Raises ValueError at or above the high watermark."""
        if offset >= high_watermark:
            raise ValueError(f"offset {offset} is not below the high watermark {high_watermark}")
        self._state.returns.promote(now_ms)
        return view_message(self._state, offset, now_ms=now_ms)

    # --- records ---------------------------------------------------------------------------------------------------

    def apply(self, record: GroupRecord, *, now_ms: int, wall_now_ms: int) -> None:
        """The record is durable: it is true from now on. The same for live decisions and for a replay."""
        self._state.apply(record, now_ms=now_ms, wall_now_ms=wall_now_ms)

    def abort(self, record: GroupRecord, *, now_ms: int) -> None:
        """The record could not be written: its decision is undone, leases keep their deadline."""
        self._state.abort(record, now_ms=now_ms)

    def snapshot(self) -> GroupSnapshot:
        """What the applied records say: no leases, no decisions under way."""
        return self._state.snapshot()

    def restore(self, snapshot: GroupSnapshot, *, now_ms: int, wall_now_ms: int) -> None:
        """Fill a new object. Every message that is not done waits, or is delayed for what is left of its delay."""
        self._state.restore(snapshot, now_ms=now_ms, wall_now_ms=wall_now_ms)

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        self._state.check_invariants()
        assert len(self._state.leases) <= max(self.settings.max_in_flight, limits.IN_FLIGHT_MAX)
