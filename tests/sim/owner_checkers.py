"""Invariants of exclusive groups: whose a partition is, as judged by what its consumers received."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from app.services.watched_assignments import HEARD_MS_MAX
from tests.sim.checkers import lease_place_of, receipt_order_of
from tests.sim.doings import Doings, Span
from tests.sim.history import (
    Delivered,
    Elected,
    History,
    MemberAsked,
    MemberGone,
    Outcome,
    PartitionOwned,
    ReadRecord,
    Settled,
)
from tests.sim.options import OrderedGroup
from tests.sim.seeks import GroupPlace, Seeks
from tests.sim.surely_leased import Lease, SureLeases
from tests.sim.unnoticed import Unnoticed

GRACE_MS = 100
"""For what is on its way between a client, a gateway, the coordinator and the partition's leader."""


def _leased(history: History, groups: Iterable[str]) -> dict[GroupPlace, list[Delivered]]:
    """All deliveries with a receipt, by partition, as they began."""
    names = frozenset(groups)
    found: dict[GroupPlace, list[Delivered]] = defaultdict(list)
    for delivered in sorted(history.of(Delivered), key=lambda each: each.began_ms):
        if delivered.group in names and not delivered.is_auto_acked:
            found[lease_place_of(delivered)[:3]].append(delivered)
    return found


class OwnershipsAreOneProcesses:
    """Each number by which a partition is owned is one member's for ever, and one process's of a static name, as the
    coordinators tell it, whoever they are."""

    def check(self, history: History) -> list[str]:
        owners: dict[tuple[str, str, int, int], tuple[str, str]] = {}
        violations = []
        for owned in history.of(PartitionOwned):
            place = (owned.group, owned.queue, owned.partition, owned.ownership)
            owner = (owned.member, owned.instance)
            first = owners.setdefault(place, owner)
            if first != owner:
                violations.append(
                    f"{place[:3]} is owned by {first} and by {owner}, both by the number {owned.ownership}"
                )
        return violations


class OneOwnerAtATime:
    """A partition of an exclusive group is one member's in each generation of its receipts; and from the first receive
    in a later generation on, nobody receives in an earlier one, unless its leader may not have noticed that it is none
    any more."""

    def __init__(self, groups: Iterable[str], *, unnoticed_ms: float = 0) -> None:
        self._groups = frozenset(groups)
        self._unnoticed_ms = unnoticed_ms

    def check(self, history: History) -> list[str]:
        violations = []
        unnoticed = Unnoticed(history, unnoticed_ms=self._unnoticed_ms)
        for place, deliveries in _leased(history, self._groups).items():
            owners: dict[int, str] = {}
            first_in: dict[int, Delivered] = {}
            for delivered in sorted(deliveries, key=lambda each: each.ended_ms):
                first_in.setdefault(delivered.generation, delivered)
            for delivered in deliveries:
                owner = owners.setdefault(delivered.generation, delivered.consumer)
                if owner != delivered.consumer:
                    violations.append(
                        f"{place}: {owner} and {delivered.consumer} both received in generation {delivered.generation}"
                    )
                later = [
                    other
                    for other in first_in.values()
                    if other.generation > delivered.generation and other.ended_ms < delivered.began_ms
                ]
                if later and not unnoticed.may_explain(delivered):
                    violations.append(
                        f"{place}: {delivered.consumer} received offset {delivered.offset} in generation "
                        f"{delivered.generation} at {delivered.began_ms}, when {later[0].consumer} had received in "
                        f"{later[0].generation}"
                    )
        return violations


class EarlierOwnersAreRefused:
    """From the first receive in a later generation on, no receipt of an earlier one settles anything in the partition,
    but for an ack of a message that is done."""

    def __init__(
        self,
        groups: Iterable[str],
        *,
        max_attempts: Mapping[str, float],
        dead_letter_queues: Mapping[tuple[str, str], str],
    ) -> None:
        self._groups = frozenset(groups)
        self._max_attempts = max_attempts
        self._dead_letter_queues = dead_letter_queues

    def check(self, history: History) -> list[str]:
        return list(self._found(history))

    def _found(self, history: History) -> Iterator[str]:
        leased, seeks = _leased(history, self._groups), Seeks(history)
        uids = {lease_place_of(each): each.uid for found in leased.values() for each in found}
        doings = Doings(
            history, self._groups, max_attempts=self._max_attempts, dead_letter_queues=self._dead_letter_queues
        )
        for settled in history.of(Settled):
            if settled.group not in self._groups or settled.outcome is not Outcome.OK:
                continue
            place = lease_place_of(settled)
            later = [
                other
                for other in leased[place[:3]]
                if other.generation > settled.generation and other.ended_ms < settled.began_ms
            ]
            if not later:
                continue
            message = ReadRecord(settled.offset, -1, uids.get(place, ""), "")
            is_done = doings.may_be_done(
                place[:3], message, Span(0, -math.inf), before_ms=settled.ended_ms, but_for=settled
            ) or seeks.may_skip(place[:3], settled.offset, after_ms=-math.inf, before_ms=settled.ended_ms)
            if settled.action != "ack" or not is_done:
                yield (
                    f"{place}: {settled.action} with receipt {receipt_order_of(settled)} was accepted at "
                    f"{settled.began_ms}, when {later[0].consumer} had received in generation {later[0].generation}"
                )


class OwnersAreWaitedFor:
    """Nobody receives in a later generation while a lease of the owner before surely lives; unless that one has left
    or died, may not have been heard for its session, had the group's whole time for a handover, or its leader was
    replaced, which forgets leases (R26), or the group has sought."""

    def __init__(self, groups: Mapping[str, OrderedGroup], *, clock_drift: float = 0.0) -> None:
        self._groups = groups
        self._clock_drift = clock_drift

    def check(self, history: History) -> list[str]:
        sure = SureLeases(history, clock_drift=self._clock_drift, ordered_groups=self._groups)
        excuses = _Excuses(history, self._groups, second=1 - 2 * self._clock_drift)
        violations = []
        for place, deliveries in _leased(history, self._groups).items():
            leases = [sure.of(delivered) for delivered in deliveries]
            violations += [
                f"{place}: {delivered.consumer} received offset {delivered.offset} in generation "
                f"{delivered.generation} at {delivered.began_ms}, while {lease.delivered.consumer} had offset "
                f"{lease.delivered.offset} leased from {lease.from_ms} to {lease.until_ms} at least"
                for delivered in deliveries
                for lease in leases
                if _takes_away(delivered, lease) and not excuses.has_one(lease.delivered, delivered)
            ]
        return violations


def _takes_away(delivered: Delivered, lease: Lease) -> bool:
    before = lease.delivered
    is_another = delivered.consumer != before.consumer and delivered.generation > before.generation
    return is_another and lease.from_ms < delivered.began_ms and delivered.ended_ms + GRACE_MS < lease.until_ms


class _Excuses:
    def __init__(self, history: History, groups: Mapping[str, OrderedGroup], *, second: float) -> None:
        self._groups = groups
        self._second = second
        self._seeks = Seeks(history)
        self._gone: dict[tuple[str, str], list[float]] = defaultdict(list)
        for gone in history.of(MemberGone):
            self._gone[gone.group, gone.member].append(gone.began_ms)
        self._heard: dict[tuple[str, str], list[float]] = defaultdict(list)
        for asked in history.of(MemberAsked):
            if asked.outcome is Outcome.OK:
                self._heard[asked.group, asked.member].append(asked.began_ms)
        self._elections: dict[tuple[str, int], list[Elected]] = defaultdict(list)
        for elected in history.of(Elected):
            self._elections[elected.queue, elected.partition].append(elected)

    def has_one(self, before: Delivered, delivered: Delivered) -> bool:
        """Why the owner before need not have been waited for."""
        group, member = self._groups[before.group], (before.group, before.consumer)
        until_ms = delivered.ended_ms
        if any(before.began_ms <= at_ms <= until_ms for at_ms in self._gone[member]):
            return True
        heard_ms = max((at_ms for at_ms in self._heard[member] if at_ms <= until_ms), default=-math.inf)
        if until_ms - heard_ms + HEARD_MS_MAX >= group.session_timeout_ms * self._second - GRACE_MS:
            return True
        if until_ms - before.began_ms >= group.rebalance_timeout_ms * self._second - GRACE_MS:
            return True
        if self._seeks.between(lease_place_of(before)[:3], before.began_ms, until_ms):
            return True
        return any(
            elected.epoch > before.leader_epoch and elected.began_ms <= until_ms
            for elected in self._elections[before.queue, before.partition]
        )
