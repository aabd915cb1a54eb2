"""The time within which a delivery surely was leased: after its answer was there, before anything could end it."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tests.sim.checkers import LeasePlace, ReceiptOrder, lease_place_of, receipt_order_of
from tests.sim.history import Delivered, History, Outcome, Settled

CLOCK_GRAINS_MS = 2
"""One of the leader's clock, and one of the history's."""

_Scope = tuple[str, str, int, int, int]  # group, queue, partition, generation, leader epoch


@dataclass(frozen=True, slots=True)
class Lease:
    """`interrupted_ms`: when it may have been taken back with a message before it, in a group that keeps an order."""

    delivered: Delivered
    from_ms: float
    until_ms: float
    interrupted_ms: float = math.inf


@dataclass(frozen=True, slots=True)
class _Return:
    """When a message may have gone back: before it was delivered again, if it was."""

    offset: int
    from_ms: float
    until_ms: float


class SureLeases:
    """Leases go by the leader's clock, whose second may be `clock_drift` shorter than the history's. What comes back in
    one of `ordered_groups` takes with it what is behind it, whose attempt does not count."""

    def __init__(self, history: History, *, clock_drift: float = 0.0, ordered_groups: Iterable[str] = ()) -> None:
        self._second = 1 - clock_drift
        self._endings: dict[tuple[LeasePlace, ReceiptOrder], list[Settled]] = defaultdict(list)
        for settled in history.of(Settled):
            self._endings[lease_place_of(settled), receipt_order_of(settled)].append(settled)
        for endings in self._endings.values():
            endings.sort(key=lambda each: each.began_ms)
        ordered = frozenset(ordered_groups)
        self._returns: dict[_Scope, list[_Return]] = defaultdict(list)
        comes_again_ms: dict[LeasePlace, float] = {}
        for delivered in sorted(history.of(Delivered), key=lambda each: -each.began_ms):
            if delivered.group in ordered and not delivered.is_auto_acked:
                place = lease_place_of(delivered)
                from_ms, until_ms = self._may_return_ms(delivered), comes_again_ms.get(place, math.inf)
                comes_again_ms[place] = delivered.ended_ms
                if from_ms < math.inf:
                    self._returns[_scope_of(delivered)].append(_Return(delivered.offset, from_ms, until_ms))

    def of(self, delivered: Delivered) -> Lease:
        interrupted_ms = min(
            (
                max(each.from_ms, delivered.began_ms)
                for each in self._returns.get(_scope_of(delivered), ())
                if each.offset < delivered.offset and each.until_ms >= delivered.began_ms
            ),
            default=math.inf,
        )
        until_ms = min(self._until_ms(delivered), interrupted_ms)
        return Lease(delivered, delivered.ended_ms, until_ms, interrupted_ms)

    def ends_ms(self, delivered: Delivered) -> float:
        """When the lease had surely run out, if nothing else has ended it."""
        second = 2 - self._second
        ends_ms = delivered.ended_ms + delivered.visibility_ms * second
        for settled in self._endings_of(delivered):
            if settled.action == "extend" and settled.outcome is not Outcome.FAILED:
                ends_ms = max(ends_ms, settled.ended_ms + settled.visibility_ms * second)
        return ends_ms + CLOCK_GRAINS_MS

    def _until_ms(self, delivered: Delivered) -> float:
        until_ms = delivered.began_ms + delivered.visibility_ms * self._second
        for settled in self._endings_of(delivered):
            if settled.outcome is Outcome.FAILED and not _may_be_its_own_doing(settled):
                continue
            if settled.action != "extend":
                return min(until_ms, settled.began_ms)
            until_ms = self._extended_ms(settled, until_ms)
        return until_ms

    def _may_return_ms(self, delivered: Delivered) -> float:
        """When it may have gone back at the earliest, if it was not acknowledged in time."""
        until_ms = delivered.began_ms + delivered.visibility_ms * self._second
        for settled in self._endings_of(delivered):
            if settled.action == "nack" and (settled.outcome is not Outcome.FAILED or _may_be_its_own_doing(settled)):
                return min(until_ms, settled.began_ms)
            if settled.action == "ack" and settled.outcome is Outcome.OK and settled.ended_ms < until_ms:
                return math.inf
            if settled.action == "extend" and settled.outcome is not Outcome.FAILED:
                until_ms = self._extended_ms(settled, until_ms)
        return until_ms

    def _extended_ms(self, settled: Settled, until_ms: float) -> float:
        extended_ms = settled.began_ms + settled.visibility_ms * self._second
        if settled.outcome is Outcome.UNKNOWN:
            return min(until_ms, extended_ms)
        return extended_ms if settled.began_ms < until_ms else until_ms

    def _endings_of(self, delivered: Delivered) -> list[Settled]:
        """By its receipt, which an attempt that did not count had before it."""
        found = self._endings.get((lease_place_of(delivered), receipt_order_of(delivered)), ())
        return [settled for settled in found if settled.began_ms >= delivered.began_ms]


def _may_be_its_own_doing(settled: Settled) -> bool:
    """A nack whose answer was lost within the cluster is tried again, and finds the redelivery that it led to."""
    return settled.action == "nack" and settled.code == "RECEIPT_STALE"


def _scope_of(delivered: Delivered) -> _Scope:
    return delivered.group, delivered.queue, delivered.partition, delivered.generation, delivered.leader_epoch
