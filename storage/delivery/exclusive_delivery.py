"""The delivery of one partition to an exclusive group: to one owner, in the order of the log.

Built on `GroupDelivery`, which leases and settles message by message. What is added:

- Whose the partition is, and how it changes hands (`Handover`).
- What is given back, or runs out, takes the partition back: leases behind it end, uncounted, and nothing behind it goes
  out before it does. So at any time the partition is at one place.
- A run whose answer may have got lost holds the partition: the next one goes out when the first message of it is
  settled or extended, which shows that the owner has it. Else an owner that asks again would get what is behind a run
  that it never saw.
"""

from collections.abc import Iterable, Sequence

from acklog.wire.problems import ProblemCode
from storage.delivery.blocked_offsets import BlockedOffset, BlockedVerdict
from storage.delivery.candidates import CandidateIndex
from storage.delivery.group_delivery import GroupDelivery
from storage.delivery.group_in_partition import (
    ClaimDecision,
    DueLetter,
    GroupTerms,
    ReceiveDecision,
    SettleDecision,
)
from storage.delivery.group_progress import GroupTotals
from storage.delivery.group_snapshot import CommittedPosition, GroupSnapshot
from storage.delivery.handover import ClaimVerdict, Handover, OwnershipClaim
from storage.delivery.message_view import MessageStatus
from storage.delivery.pending_offsets import PendingOffsets
from storage.delivery.position_commit import CommitDecision
from storage.delivery.receipts import BY_MESSAGE_ID, ReceiptClaim, judge
from storage.delivery.records import Acked, Claimed, DeadLettered, GroupRecord, Jumped, Returned, Skipped, Sought
from storage.delivery.states import MessageEvent

_NOTHING_OUT = range(0)


class ExclusiveDelivery:
    """`group` selects in order. It may have been replayed, and nothing of it is out yet."""

    def __init__(self, group: GroupDelivery) -> None:
        self.group_id = group.group_id
        self._group = group
        self.state = self._state = group.state
        self._settlement, self.elsewhere = group.settlement, group.elsewhere
        self._handover = Handover(self._state.progress)
        self._returning = PendingOffsets()
        self._unconfirmed = _NOTHING_OUT

    def follow(self, terms: GroupTerms) -> None:
        """Below the cursor all is done or out, whatever the selection: it goes on from there."""
        cursor = self._state.cursor
        self._group.follow(terms)
        self._state.cursor = max(cursor, self._state.cursor)

    # --- whose it is -----------------------------------------------------------------------------------------------

    def claim(self, claim: OwnershipClaim | None, *, now_ms: int, wall_now_ms: int) -> ClaimDecision:
        """Whether the partition is the claimant's. With records, it is once they are committed, in one batch."""
        if claim is None:
            return ClaimDecision(ClaimVerdict.FENCED)
        handover, is_anything_out = self._handover, len(self._state.leases) > 0
        verdict = handover.judge(
            claim,
            is_anything_out=is_anything_out,
            rebalance_timeout_ms=self._rebalance_timeout_ms,
            now_ms=now_ms,
        )
        if verdict is not ClaimVerdict.DUE:
            return ClaimDecision(verdict, needed=handover.needed(claim) if verdict is ClaimVerdict.FENCED else 0)
        # Who has left knows what it did not do; nobody else does, and what was out then may be what it died of.
        is_untried = claim.says_left(self._state.progress.owner.ownership)
        returned = None if is_untried else self._settlement.expire_first(wall_now_ms=wall_now_ms)
        if returned is not None:
            self._returning.mark(item.offset for item in returned.items)
        handover.writing = Claimed(self.group_id, self._group.next_generation(), claim.ownership, claim.member)
        records: list[Returned | Claimed] = [handover.writing]
        return ClaimDecision(verdict, records if returned is None else [returned, *records])

    def fencing_problem(self, claim: OwnershipClaim | None) -> ProblemCode | None:
        owner = self._state.progress.owner
        if claim is None or claim.ownership < owner.ownership:
            return ProblemCode.MEMBER_FENCED
        if self._handover.writing is not None or claim.ownership > owner.ownership:
            return ProblemCode.UNAVAILABLE  # whose it is will be sure soon
        return None if claim.member == owner.member else ProblemCode.MEMBER_FENCED

    @property
    def passes_damage(self) -> bool:
        """It is a run of its own then, which holds the next one until its lease is over."""
        return False

    @property
    def _rebalance_timeout_ms(self) -> int:
        return self._settlement.settings.rebalance_timeout_ms

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
        """For who owns the partition."""
        if self._handover.is_under_way or len(self._returning) or self._is_unconfirmed() or self._is_overdue(now_ms):
            return ReceiveDecision([])
        decision = self._group.receive(
            candidates,
            consumer=consumer,
            max_messages=max_messages,
            visibility_ms=visibility_ms,
            readable_end=readable_end,
            now_ms=now_ms,
        )
        if decision.leases:
            self._unconfirmed = range(decision.leases[0].offset, decision.leases[-1].offset + 1)
        return decision

    def empty_reason(self, *, readable_end: int, now_ms: int) -> str:
        """REBALANCING, or as in a shared group."""
        if self._handover.is_under_way:
            return "REBALANCING"
        return self._group.empty_reason(readable_end=readable_end, now_ms=now_ms)

    def release(self, items: Iterable[ReceiptClaim]) -> None:
        """The answer with these leases could not be written: it goes on with the first of them."""
        offsets = [
            item.offset for item in items if self._settlement.is_out(item) and item.offset not in self._state.pending
        ]
        if offsets:
            self._rewind(min(offsets))

    def _is_overdue(self, now_ms: int) -> bool:
        """A lease has run out: the partition goes back first, however late that is noticed."""
        deadline_ms = self._state.leases.next_deadline()
        return deadline_ms is not None and deadline_ms <= now_ms

    def _is_unconfirmed(self) -> bool:
        leased, unconfirmed = self._state.leases.by_offset, self._unconfirmed
        if len(leased) < len(unconfirmed):  # there may be a long way from one to the next
            return any(offset in unconfirmed for offset in leased)
        return any(offset in leased for offset in unconfirmed)

    def _confirm(self, items: Sequence[ReceiptClaim]) -> None:
        if self._unconfirmed and any(
            item.offset in self._unconfirmed and self._settlement.is_out(item) for item in items
        ):
            self._unconfirmed = _NOTHING_OUT

    def _rewind(self, offset: int) -> None:
        self._state.rewind(offset)
        self._unconfirmed = range(self._unconfirmed.start, min(self._unconfirmed.stop, offset))

    # --- settle ----------------------------------------------------------------------------------------------------

    def ack(self, items: Iterable[ReceiptClaim], *, readable_end: int) -> SettleDecision[Acked]:
        """As in a shared group, and WRONG_GROUP_MODE for message ids, which say nothing of who settles. UNAVAILABLE
        while the partition changes hands: an ack of now would be void."""
        named = list(items)
        refusals = self._refusals(named)
        self._confirm(named)
        settlement = self._settlement.ack(_without(named, refusals), readable_end=readable_end)
        return settlement._replace(results=_merged(refusals, settlement.results))

    def nack(
        self,
        items: Iterable[ReceiptClaim],
        *,
        delay_ms: int | None,
        jitter: float,
        readable_end: int,
        wall_now_ms: int,
        reason: str = "",
    ) -> SettleDecision[Returned]:
        named = list(items)
        refusals = self._refusals(named)
        settlement = self._settlement.nack(
            _without(named, refusals),
            delay_ms=delay_ms,
            jitter=jitter,
            readable_end=readable_end,
            wall_now_ms=wall_now_ms,
            reason=reason,
        )
        if settlement.record is not None:
            self._returning.mark(item.offset for item in settlement.record.items)
        return settlement._replace(results=_merged(refusals, settlement.results))

    def extend(
        self,
        items: Iterable[ReceiptClaim],
        *,
        visibility_ms: int,
        readable_end: int,
        now_ms: int,
        wall_now_ms: int,
    ) -> SettleDecision[Returned]:
        """Of what is out. A lease that is over does not come back: the partition is elsewhere by now."""
        if visibility_ms == 0:
            return self.nack(items, delay_ms=0, jitter=0.0, readable_end=readable_end, wall_now_ms=wall_now_ms)
        named = list(items)
        refusals = self._refusals(named)
        for index, item in enumerate(named):
            if refusals[index] is None and (self._handover.is_under_way or not self._settlement.is_out(item)):
                problem = judge(
                    item,
                    MessageEvent.EXTEND,
                    self._state,
                    leader_epoch=self._group.leader_epoch,
                    readable_end=readable_end,
                )
                refusals[index] = problem or ProblemCode.RECEIPT_STALE
        self._confirm(named)
        settlement = self._settlement.extend(
            _without(named, refusals),
            visibility_ms=visibility_ms,
            readable_end=readable_end,
            now_ms=now_ms,
            wall_now_ms=wall_now_ms,
        )
        return settlement._replace(results=_merged(refusals, settlement.results))

    def _refusals(self, items: Sequence[ReceiptClaim]) -> list[ProblemCode | None]:
        if self._handover.writing is not None:
            return [ProblemCode.UNAVAILABLE] * len(items)
        return [ProblemCode.WRONG_GROUP_MODE if item.attempt == BY_MESSAGE_ID else None for item in items]

    def outlive(self, items: Iterable[ReceiptClaim], *, wall_now_ms: int) -> Skipped | Returned | None:
        record = None if self._handover.writing else self._settlement.outlive(items, wall_now_ms=wall_now_ms)
        self._returning.mark(item.offset for item in (record.items if isinstance(record, Returned) else ()))
        return record

    def expire(self, *, now_ms: int, wall_now_ms: int, limit: int) -> Returned | None:
        """Of the leases that have run out, the first one is an attempt. What is behind it was never begun with."""
        self._handover.pass_time(now_ms, self._rebalance_timeout_ms)
        self._state.returns.promote(now_ms)
        if self._handover.writing is not None:
            return None
        overdue = [offset for offset, _ in self._state.leases.overdue(now_ms) if offset not in self._state.pending]
        if not overdue:
            return None
        record = self._settlement.expire_first(wall_now_ms=wall_now_ms, at_or_above=min(overdue))
        if record is not None:
            self._returning.mark(item.offset for item in record.items)
        return record

    # --- dead letters ----------------------------------------------------------------------------------------------

    def dead_letters(self, *, limit: int, now_ms: int) -> list[DueLetter]:
        return [] if self._handover.writing is not None else self._group.dead_letters(limit=limit, now_ms=now_ms)

    def dead_lettered(self, offsets: Iterable[int]) -> DeadLettered:
        """While the partition changes hands nothing is recorded: the letter is written again then, under its name."""
        if self._handover.writing is None:
            return self._group.dead_lettered(offsets)
        self._group.dead_letter_failed(offsets, retry_at_ms=0)
        return DeadLettered(self.group_id, self.generation, [])

    def dead_letter_failed(self, offsets: Iterable[int], *, retry_at_ms: int) -> None:
        self._group.dead_letter_failed(offsets, retry_at_ms=retry_at_ms)

    def record_passed_over(self) -> Skipped | None:
        return self._group.record_passed_over()

    # --- what waits for a person -----------------------------------------------------------------------------------

    @property
    def blocked_count(self) -> int:
        return self._group.blocked_count

    def blocked(self, *, at_or_above: int, limit: int) -> list[BlockedOffset]:
        return self._group.blocked(at_or_above=at_or_above, limit=limit)

    def release_blocked(self, offset: int, *, wall_now_ms: int) -> BlockedVerdict[Returned]:
        """As in any group, and CONFLICT while the partition changes hands: a decision of now would be void."""
        if self._handover.writing is not None:
            return BlockedVerdict(ProblemCode.CONFLICT, None)
        decision = self._group.release_blocked(offset, wall_now_ms=wall_now_ms)
        if decision.record is not None:
            self._returning.mark((offset,))
        return decision

    def skip_blocked(self, offset: int) -> BlockedVerdict[Skipped]:
        """As `release_blocked`."""
        if self._handover.writing is not None:
            return BlockedVerdict(ProblemCode.CONFLICT, None)
        return self._group.skip_blocked(offset)

    # --- records ---------------------------------------------------------------------------------------------------

    def apply(self, record: GroupRecord, *, now_ms: int, wall_now_ms: int) -> None:
        is_void = isinstance(record, Returned) and record.generation != self.generation
        self._group.apply(record, now_ms=now_ms, wall_now_ms=wall_now_ms)
        if isinstance(record, Returned) and not is_void:
            self._returning.unmark(item.offset for item in record.items)
            given_back = [item.offset for item in record.items if item.offset in self._state.progress.retries]
            if given_back:
                self._rewind(min(given_back))
        elif isinstance(record, Claimed | Sought):
            self._returning.clear()
            self._unconfirmed = _NOTHING_OUT
            if isinstance(record, Claimed):
                self._handover.applied(record)

    def abort(self, record: GroupRecord, *, now_ms: int) -> None:
        self._group.abort(record, now_ms=now_ms)
        if isinstance(record, Claimed):
            self._handover.aborted()
        elif isinstance(record, Returned) and record.generation == self.generation:
            self._returning.unmark(item.offset for item in record.items)
            for offset in self._state.leases.by_offset:
                self._state.leases.rearm(offset)

    def restore(self, snapshot: GroupSnapshot, *, now_ms: int, wall_now_ms: int) -> None:
        self._group.restore(snapshot, now_ms=now_ms, wall_now_ms=wall_now_ms)

    def next_deadline(self) -> int | None:
        if self._handover.writing is not None:
            return None  # its host asks again when that is written
        deadlines = (self._group.next_deadline(), self._handover.deadline_ms(self._rebalance_timeout_ms))
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        self._group.check_invariants()
        state = self._state
        assert all(offset < state.cursor for offset in state.leases.by_offset), "it is out ahead of its turn"
        out = len(state.leases)
        done_below = state.progress.done_above.count_below(state.cursor) + state.skipping.count_below(state.cursor)
        assert state.cursor - state.progress.progress == out + done_below, "what is behind it went out first"

    # --- as in any group -------------------------------------------------------------------------------------------

    @property
    def progress(self) -> int:
        return self._group.progress

    @property
    def generation(self) -> int:
        return self._group.generation

    @property
    def done_above_count(self) -> int:
        return self._group.done_above_count

    @property
    def in_flight_count(self) -> int:
        return self._group.in_flight_count

    def in_flight_of(self, consumer: str) -> int:
        return self._group.in_flight_of(consumer)

    @property
    def delayed_count(self) -> int:
        return self._group.delayed_count

    @property
    def totals(self) -> GroupTotals:
        return self._group.totals

    @property
    def committed(self) -> CommittedPosition | None:
        return self._group.committed

    def seek(self, offset: int) -> Sought:
        return self._group.seek(offset)

    def commit(self, position: CommittedPosition, *, expected: int | None) -> CommitDecision:
        """As in any group, and CONFLICT while the partition changes hands: a commit of now would be void."""
        if self._handover.writing is not None:
            return CommitDecision(ProblemCode.CONFLICT, [])
        return self._group.commit(position, expected=expected)

    def undone_below(self, offset: int) -> int:
        return self._group.undone_below(offset)

    def advance_log_start(self, log_start: int, *, deleted_below: int) -> Jumped | None:
        return self._group.advance_log_start(log_start, deleted_below=deleted_below)

    def describe(self, offset: int, *, readable_end: int, now_ms: int) -> MessageStatus:
        return self._group.describe(offset, readable_end=readable_end, now_ms=now_ms)

    def snapshot(self) -> GroupSnapshot:
        return self._group.snapshot()


def _without(items: Sequence[ReceiptClaim], refusals: Sequence[ProblemCode | None]) -> list[ReceiptClaim]:
    return [item for item, refusal in zip(items, refusals, strict=True) if refusal is None]


def _merged(refusals: Sequence[ProblemCode | None], results: Sequence[ProblemCode | None]) -> list[ProblemCode | None]:
    others = iter(results)
    return [next(others) if refusal is None else refusal for refusal in refusals]
