"""The delivery of one partition's messages to one group that leases them one by one: what is decided, by whom it may be
settled.

Which messages are leased next is for the group's selection to say, the strategy of its mode. Leases are not logged:
after a failover every message that is not done is waiting again, and an old receipt stays good until somebody else gets
the message (rule R26).
"""

from collections.abc import Callable, Iterable, Sequence

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from storage.delivery.backoff import retry_delay_ms
from storage.delivery.candidates import CandidateIndex
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_in_partition import DueLetter, GroupTerms, ReceiveDecision, SettleDecision
from storage.delivery.group_progress import GroupSnapshot
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.leases import Lease
from storage.delivery.message_view import MessageStatus, view_message
from storage.delivery.receipts import ReceiptClaim, judge, may_be_anothers
from storage.delivery.records import (
    DEAD_LETTER,
    Acked,
    Cause,
    DeadLettered,
    GroupRecord,
    Jumped,
    Returned,
    ReturnedItem,
    Skipped,
    Sought,
    pack_offsets,
    pack_ranges,
    unpack_ranges,
)
from storage.delivery.selection import NewSelection
from storage.delivery.states import MessageEvent, MessageState


class GroupDelivery:
    """`selection_for` is asked whenever the terms change; another selection begins where a new leader's would."""

    def __init__(
        self,
        group_id: str,
        *,
        leader_epoch: int,
        start_offset: int,
        bounds: DeliverySettings,
        selection_for: Callable[[GroupTerms], NewSelection],
    ) -> None:
        self.group_id = group_id
        self.leader_epoch = leader_epoch
        self._selection_for = selection_for
        self._terms = GroupTerms()
        self._selection = selection_for(self._terms)()
        self._state = PartitionGroupState(group_id, self._selection, start_offset=start_offset, bounds=bounds)
        self._last_generation = 0

    def follow(self, terms: GroupTerms) -> None:
        before, self._terms = self._terms, terms
        if terms != before and (new_selection := self._selection_for(terms)) != self._selection_for(before):
            self._selection = new_selection()
            self._state.look_from_progress(self._selection)

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
        self,
        candidates: CandidateIndex,
        *,
        consumer: str,
        max_messages: int,
        visibility_ms: int,
        readable_end: int,
        now_ms: int,
    ) -> ReceiveDecision:
        """Lease what the group's selection picks of what came back and is due, and of the rest below `readable_end`."""
        state = self._state
        state.returns.promote(now_ms)
        room = min(max_messages, self._terms.settings.max_in_flight - len(state.leases.by_offset))
        if room <= 0:
            return ReceiveDecision([])
        picked = self._selection.pick(state, candidates, room=room, readable_end=readable_end)
        again, fresh, deadline_ms = picked.again, picked.fresh, now_ms + visibility_ms
        leases = self._lease_again(again, consumer, deadline_ms) if again else []
        generation, leader_epoch = state.progress.generation, self.leader_epoch
        if fresh:
            self._grant(fresh, 1, consumer, deadline_ms)
            leases += [Lease(offset, 1, generation, leader_epoch) for offset in fresh]
        if not picked.passed_over:
            return ReceiveDecision(leases, None, picked.wanted)
        runs = pack_ranges(sorted(picked.passed_over))
        return ReceiveDecision(leases, Skipped(self.group_id, generation, runs), picked.wanted)

    def empty_reason(self, *, readable_end: int, now_ms: int) -> str:
        """Why a receive gets nothing: IN_FLIGHT_LIMIT, ALL_LEASED, DELAYED or EMPTY."""
        state = self._state
        state.returns.promote(now_ms)
        is_full = state.cursor < readable_end and (state.is_returned_full or state.is_postponed_full)
        if is_full or len(state.leases) >= self._terms.settings.max_in_flight:
            return "IN_FLIGHT_LIMIT"
        if len(state.leases):
            return "ALL_LEASED"
        return "DELAYED" if state.returns.delayed_count else "EMPTY"

    def release(self, items: Iterable[ReceiptClaim]) -> None:
        """The answer with these leases could not be written: they return to the head and the attempts do not count."""
        for item in items:
            delivery = self._state.leases.by_offset.get(item.offset)
            if (
                delivery is not None
                and item.generation == self.generation
                and (item.leader_epoch, item.attempt) == (delivery.leader_epoch, delivery.attempt)
            ):
                self._state.release(item.offset)

    def _lease_again(self, offsets: Sequence[int], consumer: str, deadline_ms: int) -> list[Lease]:
        retries, released = self._state.progress.retries, self._state.released
        leases: list[Lease] = []
        by_attempt: dict[int, list[int]] = {}
        for offset in offsets:
            released.pop(offset, None)
            retry = retries.get(offset)
            attempt = 1 if retry is None else retry.attempts + 1
            by_attempt.setdefault(attempt, []).append(offset)
            leases.append(Lease(offset, attempt, self.generation, self.leader_epoch))
        for attempt, attempted in by_attempt.items():
            self._grant(attempted, attempt, consumer, deadline_ms)
        return leases

    def _grant(self, offsets: Sequence[int], attempt: int, consumer: str, deadline_ms: int) -> None:
        self._state.leases.grant(
            offsets, attempt=attempt, leader_epoch=self.leader_epoch, consumer=consumer, deadline_ms=deadline_ms
        )

    # --- settle ----------------------------------------------------------------------------------------------------

    def ack(self, items: Iterable[ReceiptClaim], *, readable_end: int) -> SettleDecision[Acked]:
        """Done. Results: RECEIPT_STALE, INVALID_RECEIPT; by message id also NOT_DELIVERED and MESSAGE_NOT_FOUND;
        OVERLOADED when too many holes above what this leader has delivered would have to be remembered."""
        results: list[ProblemCode | None] = []
        offsets: list[int] = []
        state = self._state
        leased, generation = state.leases.by_offset, state.progress.generation
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
            problem = self._judge(item, MessageEvent.ACK, readable_end)
            if problem is None and not state.progress.is_done(offset):
                if offset >= state.cursor and state.progress.done_above.range_count >= state.bounds.done_ranges_max:
                    problem = ProblemCode.OVERLOADED
                else:
                    offsets.append(offset)
            results.append(problem)
        if not offsets:
            return SettleDecision(results, None)
        runs = pack_offsets(offsets)
        for start, end in unpack_ranges(runs):
            state.mark_pending(range(start, end), end=end)
        return SettleDecision(results, Acked(self.group_id, generation, runs, state.delivered_below))

    def nack(
        self,
        items: Iterable[ReceiptClaim],
        *,
        delay_ms: int | None,
        jitter: float,
        readable_end: int,
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
            offset, problem = item.offset, self._judge(item, MessageEvent.NACK, readable_end)
            if problem is None and state.message_state(offset) is not MessageState.DEAD_LETTERING:
                if state.is_returned_full and not state.is_tracked(offset):
                    problem = ProblemCode.OVERLOADED
                else:
                    delay = delay_ms
                    if delay is None:
                        delay = retry_delay_ms(self._terms.settings, attempts=item.attempt, jitter=jitter)
                    returned[offset] = self._give_back(item, Cause.NACKED, delay)
            results.append(problem)
        return SettleDecision(results, self._returned(returned, wall_now_ms))

    def extend(
        self,
        items: Iterable[ReceiptClaim],
        *,
        visibility_ms: int,
        readable_end: int,
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
            return self.nack(items, delay_ms=0, jitter=0.0, readable_end=readable_end, wall_now_ms=wall_now_ms)
        state = self._state
        results: list[ProblemCode | None] = []
        kept: dict[tuple[int, int, str], dict[int, None]] = {}
        revived: dict[int, None] = {}
        for item in items:
            offset = item.offset
            problem = self._judge(item, MessageEvent.EXTEND, readable_end)
            if problem is None and may_be_anothers(item, state, leader_epoch=self.leader_epoch):
                problem = ProblemCode.RECEIPT_STALE
            elif problem is None and offset in state.pending:
                problem = ProblemCode.CONFLICT
            elif problem is None and offset not in state.leases.by_offset and offset not in revived:
                if len(state.leases) + len(revived) >= self._terms.settings.max_in_flight:
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
        is_last = item.attempt >= self._terms.settings.max_attempts
        return ReturnedItem(item.offset, item.attempt, DEAD_LETTER if is_last else delay_ms, cause, item.leader_epoch)

    def _returned(self, items: dict[int, ReturnedItem], wall_now_ms: int) -> Returned | None:
        if not items:
            return None
        self._state.mark_pending(items, end=max(items) + 1)
        return Returned(self.group_id, self.generation, wall_now_ms, list(items.values()))

    def _judge(self, item: ReceiptClaim, event: MessageEvent, readable_end: int) -> ProblemCode | None:
        return judge(item, event, self._state, leader_epoch=self.leader_epoch, readable_end=readable_end)

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
        return self._state.next_deadline()

    def describe(self, offset: int, *, readable_end: int, now_ms: int) -> MessageStatus:
        """What became of a message so far. Raises ValueError at or above the readable end."""
        if offset >= readable_end:
            raise ValueError(f"offset {offset} is not below the readable end {readable_end}")
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
        assert len(self._state.leases) <= max(self._terms.settings.max_in_flight, limits.IN_FLIGHT_MAX)
