"""What clients know of messages that came before another one: since when each of them may have been done, which of its
deliveries still counts, and where nobody can know."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.sim.checkers import LeasePlace, final_log, lease_place_of, receipt_order_of
from tests.sim.decisions import Decisions
from tests.sim.filters_in_force import FiltersInForce
from tests.sim.history import AutoAckedAnswerLost, Delivered, History, Outcome, ReadRecord, Settled
from tests.sim.seeks import GroupPlace, Seeks, latest_ms


@dataclass(frozen=True, slots=True)
class Span:
    """Between two seeks of a group in a partition: nothing below `start` is to be delivered, nothing from it on was
    done when the span began."""

    start: int
    since_ms: float


class Doings:
    """Of some groups. After `max_attempts` deliveries a message may be given up by itself; a group that blocks has no
    such number (infinity). `dead_letter_queues` names the dead-letter topic of each (group, queue)."""

    def __init__(
        self,
        history: History,
        groups: Iterable[str],
        *,
        max_attempts: Mapping[str, float],
        dead_letter_queues: Mapping[tuple[str, str], str],
    ) -> None:
        self._seeks = Seeks(history)
        self._decisions = Decisions(history)
        self._filters = FiltersInForce(history)
        self._groups = frozenset(groups)
        self._log = final_log(history)
        self.deliveries: dict[GroupPlace, dict[int, list[Delivered]]] = {}
        self._endings: dict[LeasePlace, list[Delivered | Settled]] = defaultdict(list)
        for event in history.events:
            if isinstance(event, Delivered) and event.group in self._groups:
                place = lease_place_of(event)
                self.deliveries.setdefault(place[:3], defaultdict(list))[event.offset].append(event)
                if event.is_auto_acked or event.attempt >= max_attempts[event.group]:
                    self._endings[place].append(event)
            elif isinstance(event, Settled) and event.action == "ack" and event.outcome is not Outcome.FAILED:
                self._endings[lease_place_of(event)].append(event)
        self._dead = {
            place: {record.uid for (name, _), found in self._log.items() if name == queue for record in found}
            for place, queue in dead_letter_queues.items()
        }
        self._first_lost_ms: dict[tuple[str, str], float] = {}
        for lost in history.of(AutoAckedAnswerLost):
            known_ms = self._first_lost_ms.get((lost.group, lost.queue), math.inf)
            self._first_lost_ms[lost.group, lost.queue] = min(known_ms, lost.began_ms)

    def in_order(self, place: GroupPlace) -> list[Delivered]:
        """All deliveries of a partition, as they began; those of one answer as they stood in it."""
        found = [delivered for each in self.deliveries[place].values() for delivered in each]
        return sorted(found, key=lambda delivered: (delivered.began_ms, delivered.ended_ms, delivered.offset))

    def messages(self, place: GroupPlace) -> list[ReadRecord]:
        """All that the partition has in the end, by offset."""
        return sorted(self._log.get(place[1:], []), key=lambda record: record.offset)

    def has_sought(self, place: GroupPlace, *, before_ms: float) -> bool:
        """Whether the group may have, in this partition."""
        return any(sought.began_ms <= before_ms for sought in self._seeks.of(place))

    def span_of(self, delivered: Delivered) -> Span | None:
        """The one that it surely belongs to; None where a seek may have come between, or one is never over."""
        place = lease_place_of(delivered)[:3]
        span = Span(0, -math.inf)
        for sought in self._seeks.of(place):
            if sought.began_ms > delivered.ended_ms:
                continue
            if latest_ms(sought) >= delivered.began_ms:
                return None
            if sought.began_ms > span.since_ms:
                span = Span(sought.highest, sought.began_ms)
        return span

    def may_be_done(
        self,
        place: GroupPlace,
        message: ReadRecord,
        span: Span,
        *,
        before_ms: float,
        but_for: Settled | None = None,
    ) -> bool:
        """Whether it may have been, at any time until then; `but_for` one of the acks."""
        if message.offset < span.start or message.uid in self._dead.get(place[:2], ()):
            return True
        if self._first_lost_ms.get(place[:2], math.inf) <= before_ms:
            return True
        if self._filters.may_pass_over(place[0], message.uid, after_ms=span.since_ms, before_ms=before_ms):
            return True
        its_place = (*place, message.offset)
        if self._decisions.may_have_skipped(its_place, after_ms=span.since_ms, before_ms=before_ms):
            return True
        return any(
            span.since_ms <= event.ended_ms and event.began_ms <= before_ms and event is not but_for
            for event in self._endings.get(its_place, ())
        )

    def last_before(self, place: GroupPlace, offset: int, delivered: Delivered, span: Span) -> Delivered | None:
        """The newest delivery of another message that may have come before this one; not of a later generation or
        leader, whose answer may have been faster."""
        found = [
            other
            for other in self.deliveries[place].get(offset, ())
            if span.since_ms <= other.ended_ms
            and other.began_ms <= delivered.ended_ms
            and receipt_order_of(other)[:2] <= receipt_order_of(delivered)[:2]
        ]
        return max(found, key=lambda other: (receipt_order_of(other), other.ended_ms), default=None)
