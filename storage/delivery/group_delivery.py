"""The delivery of one partition's messages to one group that leases them one by one.

Which messages are leased next is for the group's selection to say, the strategy of its mode; how leases end, for its
`Settlement`.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from storage.delivery.blocked_offsets import BlockedOffset, BlockedOffsets, BlockedVerdict
from storage.delivery.candidates import CandidateIndex
from storage.delivery.counted_attempts import counted_before
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.done_elsewhere import DoneElsewhere
from storage.delivery.group_in_partition import (
    ClaimDecision,
    DueLetter,
    GroupTerms,
    ReceiveDecision,
    SettleDecision,
)
from storage.delivery.group_progress import GroupTotals
from storage.delivery.group_snapshot import CommittedPosition, GroupSnapshot
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.handover import ClaimVerdict, OwnershipClaim
from storage.delivery.leases import Lease
from storage.delivery.message_view import MessageStatus, view_message
from storage.delivery.passed_over import PassedOver
from storage.delivery.position_commit import CommitDecision, PositionCommits
from storage.delivery.receipts import ReceiptClaim
from storage.delivery.records import (
    Acked,
    DeadLettered,
    GroupRecord,
    Jumped,
    PositionCommitted,
    Returned,
    SkipCause,
    Skipped,
    Sought,
    pack_offsets,
    pack_ranges,
    unpack_ranges,
)
from storage.delivery.selection import NewSelection, Picked
from storage.delivery.settlement import Settlement
from storage.delivery.state_check import check_state


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
        self.state = self._state = PartitionGroupState(
            group_id, self._selection, start_offset=start_offset, bounds=bounds
        )
        self.settlement = self._settlement = Settlement(
            self._state, leader_epoch=leader_epoch, settings=self._terms.settings
        )
        self.elsewhere = DoneElsewhere(self._state)
        self._blocked = BlockedOffsets(self._state)
        self._passed_over = PassedOver(group_id, bounds)
        self._commits = PositionCommits()
        self._last_generation = 0

    def follow(self, terms: GroupTerms) -> None:
        before, self._terms = self._terms, terms
        self._settlement.settings = terms.settings
        if terms == before:
            return
        new_selection, has_other_filter = self._selection_for(terms), terms.settings.filter != before.settings.filter
        if has_other_filter or new_selection != self._selection_for(before):
            selection_before, self._selection = self._selection, new_selection()
            self._selection.succeed(selection_before)
            self._state.look_from_progress(self._selection)

    # --- whose it is -----------------------------------------------------------------------------------------------

    def claim(self, claim: OwnershipClaim | None, *, now_ms: int, wall_now_ms: int) -> ClaimDecision:
        """A partition is everybody's."""
        return ClaimDecision(ClaimVerdict.OWNED if claim is None else ClaimVerdict.FENCED)

    def fencing_problem(self, claim: OwnershipClaim | None) -> ProblemCode | None:
        return None if claim is None else ProblemCode.MEMBER_FENCED

    @property
    def passes_damage(self) -> bool:
        return True

    # --- positions -------------------------------------------------------------------------------------------------

    @property
    def progress(self) -> int:
        """The first offset not done."""
        return self._state.progress.progress

    @property
    def generation(self) -> int:
        """Rises with each seek, and each other owner, in this partition."""
        return self._state.progress.generation

    @property
    def done_above_count(self) -> int:
        """Done offsets above `progress`."""
        return self._state.progress.done_above.offset_count

    @property
    def in_flight_count(self) -> int:
        """Leased messages."""
        return len(self._state.leases)

    def in_flight_of(self, consumer: str) -> int:
        """Messages leased to a consumer."""
        return self._state.leases.held_by(consumer)

    @property
    def delayed_count(self) -> int:
        """Given back and not due yet, as of the last call that knew the time."""
        return self._state.returns.delayed_count

    @property
    def totals(self) -> GroupTotals:
        return self._state.progress.totals

    @property
    def committed(self) -> CommittedPosition | None:
        """What a reader that keeps its own position said last, since the last seek."""
        return self._state.progress.committed

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
        leases, generation = self.lease(picked, consumer=consumer, deadline_ms=now_ms + visibility_ms), self.generation
        skipped = self._passed_over.due(generation, now_ms)
        if picked.passed_over and self._terms.settings.filter is None:
            skipped = Skipped(self.group_id, generation, pack_ranges(sorted(picked.passed_over)))
        elif picked.passed_over:
            self._passed_over.add(picked.passed_over, now_ms)
            skipped = self._passed_over.due(generation, now_ms) if skipped is None else skipped
        return ReceiveDecision(leases, skipped, picked.wanted)

    def lease(self, picked: Picked, *, consumer: str, deadline_ms: int) -> list[Lease]:
        """Lease what was picked."""
        again, fresh = picked.again, picked.fresh
        leases = self._lease_again(again, consumer, deadline_ms) if again else []
        if fresh:
            attempt, generation, leader_epoch = self._state.attempt_base + 1, self.generation, self.leader_epoch
            self._grant(fresh, attempt, consumer, deadline_ms)
            leases += [Lease(offset, attempt, generation, leader_epoch) for offset in fresh]
            if again and picked.is_by_offset:
                leases.sort(key=attrgetter("offset"))
        return leases

    def record_passed_over(self) -> Skipped | None:
        return self._passed_over.record(self.generation)

    def empty_reason(self, *, readable_end: int, now_ms: int) -> str:
        """Why a receive gets nothing: a limit (of what is leased, of a key or a header's value, of what was given
        or put back), ALL_LEASED, DELAYED, BLOCKED, FILTER_REACH (there is more to look at) or EMPTY."""
        state = self._state
        state.returns.promote(now_ms)
        if len(state.leases) >= self._terms.settings.max_in_flight:
            return "IN_FLIGHT_LIMIT"
        if state.cursor < readable_end and (state.is_returned_full or state.is_full_of_holes):
            return "IN_FLIGHT_LIMIT_OF_RETURNED"
        if self._selection.is_held_back:
            return "IN_FLIGHT_LIMIT_PER_HEADER" if self._terms.settings.fair_by_header else "IN_FLIGHT_LIMIT_PER_KEY"
        if len(state.leases):
            return "ALL_LEASED"
        if state.returns.delayed_count:
            return "DELAYED"
        if state.blocked:
            return "BLOCKED"
        is_looking = self._terms.settings.filter is not None and state.cursor < readable_end
        return "FILTER_REACH" if is_looking else "EMPTY"

    def _lease_again(self, offsets: Sequence[int], consumer: str, deadline_ms: int) -> list[Lease]:
        retries, released, interrupted = self._state.progress.retries, self._state.released, self._state.interrupted
        counted_max = counted_before(self._state, self._terms.settings, offsets)
        first_attempt = self._state.attempt_base + 1
        leases: list[Lease] = []
        by_attempt: dict[int, list[int]] = {}
        for offset in offsets:
            released.pop(offset, None)
            interrupted.pop(offset, None)
            retry = retries.get(offset)
            attempt = first_attempt if retry is None else first_attempt + min(retry.attempts, counted_max)
            by_attempt.setdefault(attempt, []).append(offset)
            leases.append(Lease(offset, attempt, self.generation, self.leader_epoch))
        for attempt, attempted in by_attempt.items():
            self._grant(attempted, attempt, consumer, deadline_ms)
        return leases

    def _grant(self, offsets: Sequence[int], attempt: int, consumer: str, deadline_ms: int) -> None:
        self._state.leases.grant(
            offsets, attempt=attempt, leader_epoch=self.leader_epoch, consumer=consumer, deadline_ms=deadline_ms
        )

    # --- settle, as `Settlement` says ------------------------------------------------------------------------------

    def release(self, items: Iterable[ReceiptClaim]) -> None:
        self._settlement.release(items)

    def outlive(self, items: Iterable[ReceiptClaim], *, wall_now_ms: int) -> Skipped | Returned | None:
        return self._settlement.outlive(items, wall_now_ms=wall_now_ms)

    def ack(self, items: Iterable[ReceiptClaim], *, readable_end: int) -> SettleDecision[Acked]:
        return self._settlement.ack(items, readable_end=readable_end)

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
        return self._settlement.nack(
            items, delay_ms=delay_ms, jitter=jitter, readable_end=readable_end, wall_now_ms=wall_now_ms, reason=reason
        )

    def extend(
        self,
        items: Iterable[ReceiptClaim],
        *,
        visibility_ms: int,
        readable_end: int,
        now_ms: int,
        wall_now_ms: int,
    ) -> SettleDecision[Returned]:
        return self._settlement.extend(
            items, visibility_ms=visibility_ms, readable_end=readable_end, now_ms=now_ms, wall_now_ms=wall_now_ms
        )

    def expire(self, *, now_ms: int, wall_now_ms: int, limit: int) -> Returned | None:
        return self._settlement.expire(now_ms=now_ms, wall_now_ms=wall_now_ms, limit=limit)

    # --- dead letters ----------------------------------------------------------------------------------------------

    def dead_letters(self, *, limit: int, now_ms: int) -> list[DueLetter]:
        """Messages that are to be dead letters, handed over: the host appends them to the dead-letter topic first and
        then commits `dead_lettered` (rule R29), or calls `dead_letter_failed`."""
        state = self._state
        letters: list[DueLetter] = []
        while len(letters) < limit and (offset := state.dead_letters.pop(now_ms)) is not None:
            if offset in state.pending:
                state.dead_letters.discard(offset)  # an abort puts it back
            else:
                progress, retry = state.progress, state.progress.retries[offset]
                history, generation = progress.history(offset), progress.seek_generation
                letters.append(DueLetter(offset, retry.attempts, generation, history, retry.is_outlived))
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

    # --- what waits for a person, as `BlockedOffsets` says ----------------------------------------------------------

    @property
    def blocked_count(self) -> int:
        return len(self._blocked)

    def blocked(self, *, at_or_above: int, limit: int) -> list[BlockedOffset]:
        return self._blocked.listed(at_or_above=at_or_above, limit=limit)

    def release_blocked(self, offset: int, *, wall_now_ms: int) -> BlockedVerdict[Returned]:
        return self._blocked.release(offset, wall_now_ms=wall_now_ms)

    def skip_blocked(self, offset: int) -> BlockedVerdict[Skipped]:
        return self._blocked.skip(offset)

    # --- jumps -----------------------------------------------------------------------------------------------------

    def seek(self, offset: int) -> Sought:
        """Read from `offset` on: everything below it is done, nothing from it on. Attempts start again, and every
        receipt of before is stale."""
        return Sought(self.group_id, self.next_generation(), offset)

    def next_generation(self) -> int:
        """For a record that ends the present one. No other record gets it, whatever becomes of this one."""
        self._last_generation = max(self._last_generation, self.generation) + 1
        return self._last_generation

    def commit(self, position: CommittedPosition, *, expected: int | None) -> CommitDecision:
        """Everything below the position is done, as its reader says: see `PositionCommits`."""
        before, next_generation = self._last_generation, self.next_generation()
        going_back = Sought(self.group_id, next_generation, position.offset)
        decision = self._commits.decide(self._state, position, expected=expected, going_back=going_back)
        if going_back not in decision.records:
            self._last_generation = before
        return decision

    def undone_below(self, offset: int) -> int:
        """How many messages a jump to there would pass that are not done. An ack that is being written at this moment
        does not count."""
        if offset <= self.progress:
            return 0
        return offset - self.progress - self._state.progress.done_above.count_below(offset)

    def advance_log_start(self, log_start: int, *, deleted_below: int) -> Jumped | None:
        """Everything below `log_start` was removed, and what is `deleted_below` on purpose. None if the group has done
        all that, or the jump is under way. An ack that is being written at this moment is counted as lost too."""
        state = self._state
        if log_start <= max(self.progress, state.jumping_to):
            return None
        state.jumping_to = log_start
        return Jumped(self.group_id, log_start, self.undone_below(log_start), log_start <= deleted_below)

    # --- time and looks --------------------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        """When to call `expire`, `dead_letters` and `record_passed_over` next."""
        deadline_ms, skips_ms = self._state.next_deadline(), self._passed_over.deadline_ms
        return deadline_ms if skips_ms is None else min(skips_ms, skips_ms if deadline_ms is None else deadline_ms)

    def describe(self, offset: int, *, readable_end: int, now_ms: int) -> MessageStatus:
        """What became of a message so far. Raises ValueError at or above the readable end."""
        if offset >= readable_end:
            raise ValueError(f"offset {offset} is not below the readable end {readable_end}")
        self._state.returns.promote(now_ms)
        return view_message(self._state, offset, now_ms=now_ms)

    # --- records ---------------------------------------------------------------------------------------------------

    def apply(self, record: GroupRecord, *, now_ms: int, wall_now_ms: int) -> None:
        """The record is durable: it is true from now on. The same for live decisions and for a replay."""
        generation = self.generation
        self._state.apply(record, now_ms=now_ms, wall_now_ms=wall_now_ms)
        if self.generation != generation:
            self._passed_over.clear()
        if isinstance(record, PositionCommitted):
            self._commits.over(record)

    def abort(self, record: GroupRecord, *, now_ms: int) -> None:
        """The record could not be written: its decision is undone, leases keep their deadline. What a filter passed
        over stays so, and is recorded later."""
        if isinstance(record, Skipped) and record.cause == SkipCause.FILTERED:
            if record.generation == self.generation:
                self._passed_over.take_back(record, now_ms)
            return
        self._state.abort(record, now_ms=now_ms)
        if isinstance(record, PositionCommitted):
            self._commits.over(record)

    def snapshot(self) -> GroupSnapshot:
        """What the applied records say: no leases, no decisions under way."""
        return self._state.snapshot()

    def restore(self, snapshot: GroupSnapshot, *, now_ms: int, wall_now_ms: int) -> None:
        """Fill a new object. Every message that is not done waits, or is delayed for what is left of its delay."""
        self._state.restore(snapshot, now_ms=now_ms, wall_now_ms=wall_now_ms)

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        check_state(self._state)
        assert len(self._state.leases) <= max(self._terms.settings.max_in_flight, limits.IN_FLIGHT_MAX)
