"""Receives that may be repeated: whoever did not get an answer asks again by the same id, and gets the same leases.

They are remembered in memory, beside the leases: what a failover forgets of these nobody can repeat (rule R26).
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from storage.delivery.group_state import PartitionGroupState
from storage.delivery.leases import Lease, LeaseBatch

ATTEMPT_AGE_MAX_MS = 5 * 60_000
"""For how long after the first receive by an id it may be repeated."""
ATTEMPTS_MAX = 10_000
"""That are remembered of one group in one partition; beyond it the oldest is forgotten, and a receive by its id is
another one."""


class ReceivedBefore(NamedTuple):
    """The first receive by an id, by the wall clock."""

    received_at_ms: int
    visibility_ms: int


class _Attempt(NamedTuple):
    """`out` is what each message was leased by: whatever ends a lease, or moves its deadline, gives it another batch
    or none."""

    received: ReceivedBefore
    noted_ms: int
    out: dict[int, LeaseBatch]


class ReceiveAttempts:
    """Of one group in one partition. Times are monotonic where it is not said otherwise."""

    def __init__(self, state: PartitionGroupState, *, attempts_max: int = ATTEMPTS_MAX) -> None:
        self._state = state
        self._attempts_max = attempts_max
        self._attempts: OrderedDict[str, _Attempt] = OrderedDict()

    def __len__(self) -> int:
        return len(self._attempts)

    def note(self, attempt_id: str, offsets: Iterable[int], received: ReceivedBefore, *, now_ms: int) -> None:
        """These messages were just leased by that id, all that it got."""
        leased = self._state.leases.by_offset
        out = {offset: leased[offset] for offset in offsets if offset in leased}
        self._attempts.pop(attempt_id, None)
        self._attempts[attempt_id] = _Attempt(received, now_ms, out)
        self._forget_what_is_over(now_ms)

    def find(self, attempt_id: str, *, now_ms: int) -> tuple[ReceivedBefore, list[Lease]] | None:
        """What was leased by that id, in the same order; None where that is too long ago, or any of it was settled,
        extended, or has run out: then it is forgotten, and a receive by it is another one."""
        attempt = self._attempts.get(attempt_id)
        if attempt is None:
            return None
        if self._is_over(attempt, now_ms):
            del self._attempts[attempt_id]
            return None
        generation = self._state.progress.generation
        leases = [Lease(offset, each.attempt, generation, each.leader_epoch) for offset, each in attempt.out.items()]
        return attempt.received, leases

    def renew(self, attempt_id: str, *, deadline_ms: int, now_ms: int) -> bool:
        """The same leases hold until then; False where `find` finds none of them any more."""
        if self.find(attempt_id, now_ms=now_ms) is None:
            return False
        out = self._attempts[attempt_id].out
        by_batch: dict[LeaseBatch, list[int]] = {}
        for offset, batch in out.items():
            by_batch.setdefault(batch, []).append(offset)
        for batch, offsets in by_batch.items():
            self._state.take_back(offsets)
            renewed = self._state.leases.grant(
                offsets,
                attempt=batch.attempt,
                leader_epoch=batch.leader_epoch,
                consumer=batch.consumer,
                deadline_ms=deadline_ms,
            )
            for offset in offsets:
                out[offset] = renewed
        return True

    def _is_over(self, attempt: _Attempt, now_ms: int) -> bool:
        if now_ms >= attempt.noted_ms + ATTEMPT_AGE_MAX_MS:
            return True
        leased, pending = self._state.leases.by_offset, self._state.pending
        return any(
            leased.get(offset) is not batch or batch.deadline_ms <= now_ms or offset in pending
            for offset, batch in attempt.out.items()
        )

    def _forget_what_is_over(self, now_ms: int) -> None:
        """From the oldest on, as far as that goes: each is looked at once more for each that is noted."""
        while self._attempts:
            oldest = next(iter(self._attempts))
            if len(self._attempts) <= self._attempts_max and not self._is_over(self._attempts[oldest], now_ms):
                return
            del self._attempts[oldest]
