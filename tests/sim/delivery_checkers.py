"""Invariants of delivery: leases, acknowledgements, attempts, dead letters, progress."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from tests.sim.checkers import (
    LeasePlace,
    ReceiptOrder,
    final_log,
    final_records,
    highest_before,
    lease_place_of,
    receipt_order_of,
)
from tests.sim.filters_in_force import FiltersInForce
from tests.sim.history import (
    AllDone,
    AutoAckedAnswerLost,
    Decided,
    Delivered,
    Elected,
    Event,
    History,
    Outcome,
    ProgressRead,
    Settled,
    Sought,
)
from tests.sim.quiet_endings import QuietEndings
from tests.sim.seeks import GroupPlace, Seeks, Window
from tests.sim.surely_leased import CLOCK_GRAINS_MS, Lease, SureLeases
from tests.sim.unnoticed import Unnoticed


class OneLeaseAtATime:
    """7. Within a leader epoch, no message is delivered again while a lease of it surely lives, nor any attempt
    twice, unless a message before it came back in a group that keeps an order. Clocks know whole milliseconds."""

    def __init__(self, *, clock_drift: float = 0.0, ordered_groups: Iterable[str] = ()) -> None:
        self._clock_drift = clock_drift
        self._ordered_groups = frozenset(ordered_groups)

    def check(self, history: History) -> list[str]:
        sure = SureLeases(history, clock_drift=self._clock_drift, ordered_groups=self._ordered_groups)
        leases: dict[LeasePlace, list[Lease]] = defaultdict(list)
        attempts: dict[tuple[LeasePlace, ReceiptOrder], Lease] = {}
        violations = []
        for delivered in history.of(Delivered):
            if delivered.is_auto_acked:
                continue
            place, order = lease_place_of(delivered), receipt_order_of(delivered)
            before = attempts.get((place, order))
            if before is not None and before.interrupted_ms > delivered.ended_ms:
                violations.append(f"{place}: attempt {order} was delivered twice")
            attempts[place, order] = sure.of(delivered)
            leases[place].append(attempts[place, order])
        for place, found in leases.items():
            violations += [
                f"{place}: leased from {lease.from_ms} to {lease.until_ms} at least, "
                f"delivered again in [{other.delivered.began_ms}, {other.delivered.ended_ms}]"
                for lease in found
                for other in found
                if self._is_within(lease, other.delivered)
            ]
        return violations

    @staticmethod
    def _is_within(lease: Lease, other: Delivered) -> bool:
        mine = lease.delivered
        same_term = (mine.generation, mine.leader_epoch) == (other.generation, other.leader_epoch)
        is_within = lease.from_ms < other.began_ms and other.ended_ms + CLOCK_GRAINS_MS < lease.until_ms
        return same_term and mine.attempt != other.attempt and is_within


class StaleReceiptsAreRefused:
    """7, R22. No receipt is accepted after a newer lease of its message was handed out; an ack may be, if the message
    was (or may have been) done already, be it dead-lettered or by a seek, for then it is idempotent. An
    election, which each start of an embedded server is as well, forgets leases, and with them that they were newer
    (R26).

    A slow answer is no proof that its messages are leased: the last delivery of a message may have expired, and the
    message be dead-lettered, before the client has that answer."""

    def __init__(self, *, max_attempts: Mapping[str, float], dead_letter_queues: dict[tuple[str, str], str]) -> None:
        """`dead_letter_queues` names the dead-letter topic of each (group, queue)."""
        self._max_attempts = max_attempts
        self._dead_letter_queues = dead_letter_queues

    def check(self, history: History) -> list[str]:
        deliveries: dict[LeasePlace, list[Delivered]] = defaultdict(list)
        acks: dict[LeasePlace, list[Settled]] = defaultdict(list)
        auto_acked: set[LeasePlace] = set()
        for event in history.events:
            if isinstance(event, Delivered):
                if event.is_auto_acked:
                    auto_acked.add(lease_place_of(event))
                else:
                    deliveries[lease_place_of(event)].append(event)
            elif isinstance(event, Settled) and event.action == "ack" and event.outcome is not Outcome.FAILED:
                acks[lease_place_of(event)].append(event)
        elections: dict[tuple[str, int], list[Elected]] = defaultdict(list)
        for elected in history.of(Elected):
            elections[elected.queue, elected.partition].append(elected)
        seeks = Seeks(history)
        endings = QuietEndings(history, dead_letter_queues=self._dead_letter_queues)
        violations = []
        for settled in history.of(Settled):
            place = lease_place_of(settled)
            if settled.outcome is not Outcome.OK or place in auto_acked:
                continue
            newer = [
                other
                for other in deliveries[place]
                if receipt_order_of(other) > receipt_order_of(settled)
                and other.ended_ms < settled.began_ms
                and not any(
                    elected.epoch > other.leader_epoch and elected.began_ms <= settled.ended_ms
                    for elected in elections[settled.queue, settled.partition]
                )
            ]
            was_acked = any(ack is not settled and ack.began_ms < settled.ended_ms for ack in acks[place])
            was_last = any(
                other.attempt >= self._max_attempts[settled.group]
                and receipt_order_of(other) > receipt_order_of(settled)
                and other.began_ms < settled.ended_ms
                for other in deliveries[place]
            )
            ended_quietly = newer and endings.may_have_ended(
                newer[-1], after_ms=newer[-1].began_ms, before_ms=settled.ended_ms
            )
            was_skipped = newer and seeks.may_skip(
                place[:3],
                settled.offset,
                after_ms=max(other.began_ms for other in newer),
                before_ms=settled.ended_ms,
            )
            was_done = settled.action == "ack" and (was_acked or was_last or ended_quietly or was_skipped)
            if newer and not was_done:
                violations.append(
                    f"{place}: {settled.action} with receipt {receipt_order_of(settled)} was accepted after "
                    f"{receipt_order_of(newer[0])} had been delivered"
                )
        return violations


class AcknowledgedIsNeverDeliveredAgain:
    """7, R25. After an ack was answered with success (or the message was acknowledged with its delivery, or a person
    skipped it), no receive
    of this group that begins later gets the message, unless a seek went back to it since the ack, or its leader may
    not have noticed that it is none any more."""

    def __init__(self, *, unnoticed_ms: float = 0) -> None:
        self._unnoticed_ms = unnoticed_ms

    def check(self, history: History) -> list[str]:
        done: dict[LeasePlace, list[Event]] = defaultdict(list)
        windows: dict[GroupPlace, list[Window]] = defaultdict(list)
        for event in history.events:
            is_ack = isinstance(event, Settled) and event.action == "ack" and event.outcome is Outcome.OK
            if is_ack or (isinstance(event, Delivered) and event.is_auto_acked):
                done[lease_place_of(event)].append(event)  # type: ignore[arg-type]
            elif isinstance(event, Decided) and event.action == "skip" and event.outcome is Outcome.OK:
                done[event.group, event.queue, event.partition, event.offset].append(event)
        unnoticed = Unnoticed(history, unnoticed_ms=self._unnoticed_ms)
        for delivered in history.of(Delivered):
            place = lease_place_of(delivered)
            before = [event.began_ms for event in done[place] if event.ended_ms < delivered.began_ms]
            if before and not unnoticed.may_explain(delivered):
                windows[place[:3]].append(Window(delivered.offset, max(before), delivered.ended_ms))
        seeks = Seeks(history)
        return [
            f"{(*place, window.offset)} was acknowledged at {window.began_ms}, a receive until {window.ended_ms} "
            "got it again"
            for place, found in windows.items()
            for window in seeks.unexplained(place, found)
        ]


class AttemptsAreLimited:
    """7. No delivery has an attempt beyond the group's limit, and attempts begin at 1."""

    def __init__(self, *, max_attempts: dict[str, int]) -> None:
        self._max_attempts = max_attempts

    def check(self, history: History) -> list[str]:
        return [
            f"{lease_place_of(delivered)} was delivered as attempt {delivered.attempt} of "
            f"{self._max_attempts[delivered.group]}"
            for delivered in history.of(Delivered)
            if not 1 <= delivered.attempt <= self._max_attempts[delivered.group]
        ]


class EverythingIsDoneInTheEnd:
    """7, 13, R41. After faults have stopped, every message of the log was acknowledged by each group (maybe in a
    request whose answer was lost), or skipped by a seek, or is in the group's dead-letter topic, or does not match a
    filter that the group may have had; and the node says that nothing is left. A seek back makes all of that void, but
    for dead letters, which nobody can date. What was scheduled and came when all was done already, by the clock of who
    led after the last restart, is nobody's any more."""

    def __init__(self, *, dead_letter_queues: dict[tuple[str, str], str]) -> None:
        """`dead_letter_queues` names the dead-letter topic of each (group, queue)."""
        self._dead_letter_queues = dead_letter_queues

    def check(self, history: History) -> list[str]:
        ends_ms = last_ends_that_went_well(history)
        seeks = Seeks(history)
        lost = lost_answers(history)
        filters = FiltersInForce(history)
        log = final_log(history)
        ends = ends_when_all_was_done(history)
        violations = []
        for (group, queue), dead_letter_queue in sorted(self._dead_letter_queues.items()):
            dead = {record.uid for (name, _), records in log.items() if name == dead_letter_queue for record in records}
            missing = [
                f"{record.uid} at {(queue, partition, record.offset)} was never done for {group}, nor dead-lettered"
                for (name, partition), records in log.items()
                if name == queue
                for record in records
                if record.offset < ends.get((queue, partition), math.inf)
                if not is_done((group, queue, partition, record.offset), ends_ms, seeks) and record.uid not in dead
                if not was_passed_over((group, queue, partition, record.offset), record.uid, filters, seeks)
            ]
            violations += missing[lost[group, queue] :]
        return violations + self._unfinished(history, ends)

    @staticmethod
    def _unfinished(history: History, ends: Mapping[tuple[str, int], int]) -> list[str]:
        return [
            f"{read.group} is at {read.progress} of {read.queue}/{read.partition}, which ends at {read.high_watermark}"
            for read in history.of(ProgressRead)
            if read.is_final
            if read.in_flight
            or not ends.get((read.queue, read.partition), read.high_watermark) <= read.progress <= read.high_watermark
        ]


def ends_when_all_was_done(history: History) -> dict[tuple[str, int], int]:
    """By (queue, partition); what is behind them came when nobody sent any more. Empty: that was never so."""
    return {
        (read.queue, read.partition): read.high_watermark
        for done in history.of(AllDone)
        for read in history.of(ProgressRead)
        if read.ended_ms <= done.ended_ms
    }


def is_done(place: LeasePlace, ends_ms: Mapping[LeasePlace, float], seeks: Seeks) -> bool:
    """Whether it was, after the last seek that went back to it."""
    back = seeks.last_back(place[:3], place[3])
    since_ms = -math.inf if back is None else back.began_ms
    is_handled = place in ends_ms and ends_ms[place] >= since_ms
    return is_handled or seeks.may_skip(place[:3], place[3], after_ms=since_ms)


def was_passed_over(place: LeasePlace, uid: str, filters: FiltersInForce, seeks: Seeks) -> bool:
    """Whether it may have been, after the last seek that went back to it."""
    back = seeks.last_back(place[:3], place[3])
    return filters.may_pass_over(place[0], uid, after_ms=-math.inf if back is None else back.began_ms)


def lost_answers(history: History) -> Mapping[tuple[str, str], int]:
    """How many messages of each (group, queue) may be done with a delivery whose answer never came."""
    lost: dict[tuple[str, str], int] = defaultdict(int)
    for event in history.of(AutoAckedAnswerLost):
        lost[event.group, event.queue] += event.messages_max
    return lost


def last_ends_that_went_well(history: History) -> dict[LeasePlace, float]:
    """When each message was handed out last by a delivery that was, or may have been, acknowledged, or was skipped by a
    person. An ack counts from its receipt on: a seek makes older receipts void."""
    handed_out = {
        (lease_place_of(event), receipt_order_of(event)): event.ended_ms
        for event in history.of(Delivered)
        if not event.is_auto_acked
    }
    found: dict[LeasePlace, float] = {}
    for event in history.events:
        if isinstance(event, Delivered) and event.is_auto_acked:
            place, at_ms = lease_place_of(event), event.ended_ms
        elif isinstance(event, Settled) and event.action == "ack" and event.outcome is not Outcome.FAILED:
            place = lease_place_of(event)
            at_ms = handed_out.get((place, receipt_order_of(event)), event.ended_ms)
        elif isinstance(event, Decided) and event.action == "skip" and event.outcome is not Outcome.FAILED:
            place = (event.group, event.queue, event.partition, event.offset)
            at_ms = event.ended_ms if event.outcome is Outcome.OK else math.inf
        else:
            continue
        found[place] = max(found.get(place, at_ms), at_ms)
    return found


class AutoAckedIsDeliveredOnce:
    """A message that was acknowledged with its delivery is delivered so once, and once more after a seek back."""

    def check(self, history: History) -> list[str]:
        last: dict[LeasePlace, Delivered] = {}
        windows: dict[GroupPlace, list[Window]] = defaultdict(list)
        for delivered in history.of(Delivered):
            place = lease_place_of(delivered)
            if delivered.is_auto_acked:
                if place in last:
                    windows[place[:3]].append(Window(delivered.offset, last[place].began_ms, delivered.ended_ms))
                last[place] = delivered
        seeks = Seeks(history)
        return [
            f"{(*place, window.offset)} was delivered twice with autoAck"
            for place, found in windows.items()
            for window in seeks.unexplained(place, found)
        ]


class DeadLettersAreOnce:
    """R28, R29. A message is in a dead-letter topic once, also where that topic's partitions changed between two tries,
    and only if its last attempt was used up; once more for each seek back to it."""

    def __init__(self, *, dead_letter_queues: dict[tuple[str, str], str]) -> None:
        self._dead_letter_queues = dead_letter_queues

    def check(self, history: History) -> list[str]:
        copies_in_log: dict[tuple[str, str], int] = defaultdict(int)
        for place, record in final_records(history):
            copies_in_log[place[0], record.uid] += 1
        seeks = Seeks(history)
        violations = []
        for (group, queue), dead_letter_queue in sorted(self._dead_letter_queues.items()):
            allowed: dict[str, int] = defaultdict(int)
            for (name, partition, offset), record in final_records(history):
                if name == queue:
                    back = [each for each in seeks.of((group, queue, partition)) if each.lowest <= offset]
                    allowed[record.uid] += 1 + len(back)
            for (name, uid), copies in copies_in_log.items():
                if name == dead_letter_queue and copies > allowed[uid]:
                    violations.append(f"{uid} is {copies} times in {name}")
        return violations


class ProgressNeverFalls:
    """7, R24. A group's progress in a partition, as the node tells it, never falls, crashes or not, but to where a seek
    took it; and it is no less than where a seek has taken it."""

    def check(self, history: History) -> list[str]:
        looks: dict[GroupPlace, list[ProgressRead]] = defaultdict(list)
        for event in history.of(ProgressRead):
            looks[event.group, event.queue, event.partition].append(event)
        seeks = Seeks(history)
        return [
            f"{place[0]} in {place[1]}/{place[2]}: progress fell from {before} to {after}"
            for place, found in looks.items()
            for before, after in (self._falls_and_seeks(place, found, seeks) if seeks.of(place) else self._falls(found))
        ]

    @staticmethod
    def _falls(looks: list[ProgressRead]) -> Iterator[tuple[int, int]]:
        for earlier, later in highest_before(looks, lambda look: look.progress):
            if later.progress < earlier.progress:
                yield earlier.progress, later.progress

    @staticmethod
    def _falls_and_seeks(place: GroupPlace, looks: list[ProgressRead], seeks: Seeks) -> Iterator[tuple[int, int]]:
        known: list[tuple[ProgressRead | Sought, int]] = [(look, look.progress) for look in looks]
        known += [(sought, sought.highest) for sought in seeks.certain(place)]
        for later in looks:
            for earlier, progress in known:
                if earlier.ended_ms >= later.began_ms or later.progress >= progress:
                    continue
                possible = seeks.between(place, earlier.began_ms, later.ended_ms)
                lowest = min((each.lowest for each in possible if each is not earlier), default=progress)
                if later.progress < lowest:
                    yield progress, later.progress


class ReplayEqualsLiveState:
    """10. What a node tells of a group's durable state before it stops, with nothing under way, it tells after it has
    replayed its delivery logs. The last two final looks at each group and partition are compared."""

    def check(self, history: History) -> list[str]:
        looks: dict[tuple[str, str, int], list[tuple[int, int, int]]] = defaultdict(list)
        for read in history.of(ProgressRead):
            if read.is_final:
                state = (read.progress, read.done_above, read.dead_lettered)
                looks[read.group, read.queue, read.partition].append(state)
        violations = []
        for where, states in looks.items():
            if len(states) < 2:
                violations.append(f"{where}: there are not two looks to compare")
            elif states[-2] != states[-1]:
                violations.append(f"{where}: (progress, done above, dead-lettered) {states[-2]} became {states[-1]}")
        return violations
