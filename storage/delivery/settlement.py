"""How leases of a group end: by whom a message may be settled, and what becomes of it then.

Leases are not logged: after a failover every message that is not done is waiting again, and an old receipt stays good
until somebody else gets the message (rule R26).
"""

from collections.abc import Iterable

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from cluster.model.values import Exhausted, GroupSettings
from storage.delivery.backoff import chance_of, retry_delay_ms
from storage.delivery.group_in_partition import SettleDecision
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.leases import Lease, counted_attempt
from storage.delivery.message_view import message_state
from storage.delivery.outlived import outlive
from storage.delivery.receipts import ReceiptClaim, judge, may_be_anothers
from storage.delivery.records import (
    BLOCKED,
    DEAD_LETTER,
    Acked,
    Cause,
    Returned,
    ReturnedItem,
    Skipped,
    offsets_of,
    pack_offsets,
)
from storage.delivery.states import MessageEvent, MessageState

_INSTEAD_OF_DELAY = {Exhausted.DEAD_LETTER: DEAD_LETTER, Exhausted.BLOCK: BLOCKED}
_GIVEN_UP = frozenset({MessageState.DEAD_LETTERING, MessageState.BLOCKED})


class Settlement:
    """Of one group in one partition. `settings` are the group's, as they are now."""

    def __init__(self, state: PartitionGroupState, *, leader_epoch: int, settings: GroupSettings) -> None:
        self.settings = settings
        self._state = state
        self._leader_epoch = leader_epoch

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
        state.mark_pending(offsets_of(runs), end=sum(runs))
        return SettleDecision(results, Acked(state.group_id, generation, runs, state.delivered_below))

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
        """Give back, to be leased again after `delay_ms` or (None) the group's back-off; the attempt counts. `reason`
        says why, to be remembered with the message. Where one takes others back with it, the first one in the log does,
        in whichever order they are named.

        Results: RECEIPT_STALE (also for a message that is done), INVALID_RECEIPT, OVERLOADED (too many given back).
        """
        if delay_ms is not None and not 0 <= delay_ms <= limits.NACK_DELAY_SECONDS_MAX * 1000:
            raise ValueError(f"a delay of {delay_ms} ms is out of range")
        state = self._state
        asked = list(items)
        results: list[ProblemCode | None] = [None] * len(asked)
        returned: dict[int, ReturnedItem] = {}
        for index, item in sorted(enumerate(asked), key=lambda each: each[1].offset):
            offset, problem = item.offset, self._judge(item, MessageEvent.NACK, readable_end)
            if problem is None and offset in state.interrupted:
                pass  # it went back already, with the one before it
            elif problem is None and message_state(state, offset) not in _GIVEN_UP:
                if state.is_returned_full and not state.is_tracked(offset):
                    problem = ProblemCode.OVERLOADED
                else:
                    delay = delay_ms
                    if delay is None:
                        chance = chance_of(len(returned), jitter)
                        delay = retry_delay_ms(self.settings, attempts=counted_attempt(item.attempt), chance=chance)
                    returned[offset] = self._give_back(item, Cause.NACKED, delay, reason)
                    state.interrupt_behind(offset)
            results[index] = problem
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
            if problem is None and may_be_anothers(item, state, leader_epoch=self._leader_epoch):
                problem = ProblemCode.RECEIPT_STALE
            elif problem is None and offset in state.pending:
                problem = ProblemCode.CONFLICT
            elif problem is None and offset not in state.leases.by_offset and offset not in revived:
                if not state.selection.may_revive():
                    problem = ProblemCode.RECEIPT_STALE
                elif len(state.leases) + len(revived) >= self.settings.max_in_flight:
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
        """Give back up to `limit` messages whose lease has run out: they are due at once and the attempts count. Where
        there is an order, the first one is an attempt, whichever was leased first; what is behind it goes back with it.

        To be called at `next_deadline`, also where that is the end of a delay: it makes the message ready.
        """
        state = self._state
        state.returns.promote(now_ms)
        returned: dict[int, ReturnedItem] = {}
        for offset, _ in state.leases.overdue(now_ms):
            if len(returned) == limit:
                break
            if offset in returned or offset in state.pending:
                continue
            first = self._first_overdue(offset, now_ms)
            delivery = state.leases.by_offset[first]
            lease = Lease(first, delivery.attempt, state.progress.generation, delivery.leader_epoch)
            returned[first] = self._give_back(lease, Cause.EXPIRED, 0)
            state.interrupt_behind(first)
        return self._returned(returned, wall_now_ms)

    def expire_first(self, *, wall_now_ms: int, at_or_above: int = 0) -> Returned | None:
        """Give back the first message at or above an offset that is out, as if its lease had run out. For groups in
        which it takes all that is behind it with it."""
        state = self._state
        free = [offset for offset in state.leases.by_offset if offset >= at_or_above and offset not in state.pending]
        if not free:
            return None
        offset = min(free)
        delivery = state.leases.by_offset[offset]
        lease = Lease(offset, delivery.attempt, state.progress.generation, delivery.leader_epoch)
        return self._returned({offset: self._give_back(lease, Cause.EXPIRED, 0)}, wall_now_ms)

    def release(self, items: Iterable[ReceiptClaim]) -> None:
        """The answer with these leases could not be written: they return to the head and the attempts do not count."""
        state = self._state
        for item in items:
            if self.is_out(item):
                state.release(item.offset)
                state.interrupt_behind(item.offset)

    def outlive(self, items: Iterable[ReceiptClaim], *, wall_now_ms: int) -> Skipped | Returned | None:
        """Nobody has seen these leases, and nobody will: the time to live of their messages is over. They are passed
        over for good (rule R41), or go to the dead-letter topic, and hold up nobody; their attempts do not count."""
        return outlive(
            self._state,
            [item.offset for item in items if self.is_out(item)],
            on_expired=self.settings.on_expired,
            leader_epoch=self._leader_epoch,
            wall_now_ms=wall_now_ms,
        )

    def is_out(self, item: ReceiptClaim) -> bool:
        """It names a lease that there is now."""
        state = self._state
        delivery = state.leases.by_offset.get(item.offset)
        if delivery is None or item.generation != state.progress.generation:
            return False
        return (item.leader_epoch, item.attempt) == (delivery.leader_epoch, delivery.attempt)

    def _first_overdue(self, offset: int, now_ms: int) -> int:
        """This lease has run out: the first in the group's order that has, too."""
        state = self._state
        for each in state.selection.before(offset):
            delivery = state.leases.by_offset.get(each)
            if delivery is not None and delivery.deadline_ms <= now_ms and each not in state.pending:
                return each
        return offset

    def _give_back(self, item: ReceiptClaim, cause: Cause, delay_ms: int, reason: str = "") -> ReturnedItem:
        attempts = counted_attempt(item.attempt)
        if attempts >= self.settings.max_attempts:
            delay_ms = _INSTEAD_OF_DELAY.get(self.settings.on_exhausted, delay_ms)
        state = self._state
        delivery = state.leases.by_offset.get(item.offset) or state.released.get(item.offset)
        consumer = "" if delivery is None else delivery.consumer
        return ReturnedItem(item.offset, attempts, delay_ms, cause, item.leader_epoch, consumer, reason)

    def _returned(self, items: dict[int, ReturnedItem], wall_now_ms: int) -> Returned | None:
        if not items:
            return None
        state = self._state
        state.mark_pending(items, end=max(items) + 1)
        return Returned(state.group_id, state.progress.generation, wall_now_ms, list(items.values()))

    def _judge(self, item: ReceiptClaim, event: MessageEvent, readable_end: int) -> ProblemCode | None:
        return judge(item, event, self._state, leader_epoch=self._leader_epoch, readable_end=readable_end)
