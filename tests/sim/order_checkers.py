"""Invariants of groups that keep an order: what is behind a message waits for it."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from tests.sim.checkers import lease_place_of
from tests.sim.doings import Doings, Span
from tests.sim.history import Delivered, History, Outcome, ReadRecord, Sent, Settled
from tests.sim.seeks import GroupPlace
from tests.sim.surely_leased import SureLeases
from tests.sim.unnoticed import Unnoticed


class KeysAreInOrder:
    """27. In a key-ordered group a message is delivered when all of its key before it in the log are done, or in the
    same answer behind them.

    Done may be by an ack whose outcome is unknown, by a dead letter or a seek; a leader that does not notice that it is
    none any more does not know what the one after it does."""

    def __init__(
        self,
        groups: Iterable[str],
        *,
        max_attempts: Mapping[str, float],
        dead_letter_queues: Mapping[tuple[str, str], str],
        unnoticed_ms: float = 0,
    ) -> None:
        self._groups = frozenset(groups)
        self._max_attempts = max_attempts
        self._dead_letter_queues = dead_letter_queues
        self._unnoticed_ms = unnoticed_ms

    def check(self, history: History) -> list[str]:
        doings = Doings(
            history, self._groups, max_attempts=self._max_attempts, dead_letter_queues=self._dead_letter_queues
        )
        key_of = {sent.uid: sent.key for sent in history.of(Sent)}
        unnoticed = Unnoticed(history, unnoticed_ms=self._unnoticed_ms)
        return [
            f"{lease_place_of(delivered)} was delivered to {delivered.consumer} at {delivered.began_ms}, and offset "
            f"{before.offset} of its key {key_of[before.uid]} before it is not done"
            for place in doings.deliveries
            for delivered, before in self._overtaken(place, doings, key_of)
            if not unnoticed.may_explain(delivered)
        ]

    @staticmethod
    def _overtaken(
        place: GroupPlace, doings: Doings, key_of: Mapping[str, str | None]
    ) -> Iterator[tuple[Delivered, ReadRecord]]:
        of_key: dict[str | None, list[ReadRecord]] = defaultdict(list)
        for message in doings.messages(place):
            of_key[key_of.get(message.uid)].append(message)
        for delivered in doings.in_order(place):
            span, key = doings.span_of(delivered), key_of.get(delivered.uid)
            if span is None or key is None:
                continue
            for message in of_key[key]:
                if message.offset >= delivered.offset:
                    break
                if doings.may_be_done(place, message, span, before_ms=delivered.ended_ms):
                    continue
                if not any(_is_one_answer(other, delivered) for other in doings.deliveries[place][message.offset]):
                    yield delivered, message
                    break


class KeysStayInOrderWhereTheyMove:
    """27. In a group with an order a message is delivered when each one of its key is done that is in another partition
    of the topic, and was stored, as its sender was told, before this one was sent for the first time.

    A seek is of one partition, so nothing is said of partitions that the group has sought in."""

    def __init__(
        self,
        groups: Iterable[str],
        *,
        max_attempts: Mapping[str, int],
        dead_letter_queues: Mapping[tuple[str, str], str],
        unnoticed_ms: float = 0,
    ) -> None:
        self._groups = frozenset(groups)
        self._max_attempts = max_attempts
        self._dead_letter_queues = dead_letter_queues
        self._unnoticed_ms = unnoticed_ms

    def check(self, history: History) -> list[str]:
        doings = Doings(
            history, self._groups, max_attempts=self._max_attempts, dead_letter_queues=self._dead_letter_queues
        )
        sends = _Sends(history)
        unnoticed = Unnoticed(history, unnoticed_ms=self._unnoticed_ms)
        return [
            f"{lease_place_of(delivered)} was delivered to {delivered.consumer} at {delivered.began_ms}, and offset "
            f"{before.offset} of partition {before.partition}, of the same key {before.key}, is not done"
            for place in doings.deliveries
            for delivered in doings.in_order(place)
            if not unnoticed.may_explain(delivered)
            for before in self._overtaken(place, delivered, doings, sends)
        ]

    @staticmethod
    def _overtaken(place: GroupPlace, delivered: Delivered, doings: Doings, sends: "_Sends") -> Iterator[Sent]:
        group, queue, partition = place
        for stored in sends.before(delivered.uid, queue):
            if stored.partition == partition:
                continue
            other = (group, queue, stored.partition)
            if any(doings.has_sought(each, before_ms=delivered.ended_ms) for each in (place, other)):
                continue
            message = next((each for each in doings.messages(other) if each.offset == stored.offset), None)
            beginning = Span(0, -math.inf)
            if message is None or doings.may_be_done(other, message, beginning, before_ms=delivered.ended_ms):
                continue
            yield stored


class _Sends:
    """Those that were answered with a place, by queue and key."""

    def __init__(self, history: History) -> None:
        self._first: dict[str, Sent] = {}
        self._stored: dict[tuple[str, str], list[Sent]] = defaultdict(list)
        for sent in history.of(Sent):
            if sent.key is None:
                continue
            first = self._first.setdefault(sent.uid, sent)
            if sent.began_ms < first.began_ms:
                self._first[sent.uid] = sent
            if sent.outcome is Outcome.OK:
                self._stored[sent.queue, sent.key].append(sent)

    def before(self, uid: str, queue: str) -> list[Sent]:
        """Of the same key, and stored when the message was first sent."""
        first = self._first.get(uid)
        if first is None or first.key is None:
            return []
        return [sent for sent in self._stored[queue, first.key] if sent.ended_ms < first.began_ms]


class PartitionsAreInOrder:
    """27. In an exclusive group a message is delivered when each one before it is done or, in the same generation and
    under the same leader, with the owner; and not while one before it was given back or has run out, by a leader's
    clock that may be `clock_drift` slower than the history's, and has not come again.

    What `KeysAreInOrder` lets pass, this does."""

    def __init__(
        self,
        groups: Iterable[str],
        *,
        max_attempts: Mapping[str, float],
        dead_letter_queues: Mapping[tuple[str, str], str],
        unnoticed_ms: float = 0,
        clock_drift: float = 0.0,
    ) -> None:
        self._groups = frozenset(groups)
        self._max_attempts = max_attempts
        self._dead_letter_queues = dead_letter_queues
        self._unnoticed_ms = unnoticed_ms
        self._clock_drift = clock_drift

    def check(self, history: History) -> list[str]:
        doings = Doings(
            history, self._groups, max_attempts=self._max_attempts, dead_letter_queues=self._dead_letter_queues
        )
        sure = SureLeases(history, clock_drift=self._clock_drift)
        given_back: dict[GroupPlace, list[Settled]] = defaultdict(list)
        for settled in history.of(Settled):
            is_last = settled.attempt >= self._max_attempts[settled.group]  # it goes to the dead letters, and on
            if settled.action == "nack" and settled.outcome is Outcome.OK and not is_last:
                given_back[lease_place_of(settled)[:3]].append(settled)
        unnoticed = Unnoticed(history, unnoticed_ms=self._unnoticed_ms)
        violations = []
        for place in doings.deliveries:
            messages, first, span_before = doings.messages(place), 0, None
            for delivered in doings.in_order(place):
                span = doings.span_of(delivered)
                if delivered.is_auto_acked or span is None or unnoticed.may_explain(delivered):
                    continue
                if span != span_before:
                    first, span_before = 0, span
                # What may be done when this one began may be so for all that begin later: it is looked at once.
                while first < len(messages) and doings.may_be_done(
                    place, messages[first], span, before_ms=delivered.began_ms
                ):
                    first += 1
                complaint = self._complaint(place, delivered, span, messages, first, doings, sure, given_back[place])
                if complaint:
                    violations.append(
                        f"{lease_place_of(delivered)} was delivered to {delivered.consumer} at {delivered.began_ms}, "
                        f"and {complaint}"
                    )
        return violations

    @staticmethod
    def _complaint(
        place: GroupPlace,
        delivered: Delivered,
        span: Span,
        messages: list[ReadRecord],
        first: int,
        doings: Doings,
        sure: SureLeases,
        given_back: list[Settled],
    ) -> str:
        """About the first message before it that should have held it up; those before number `first` do not."""
        for at in range(first, len(messages)):
            message = messages[at]
            if message.offset >= delivered.offset:
                break
            if doings.may_be_done(place, message, span, before_ms=delivered.ended_ms):
                continue
            last = doings.last_before(place, message.offset, delivered, span)
            if last is None:
                return f"offset {message.offset} never was"
            if (last.generation, last.leader_epoch) != (delivered.generation, delivered.leader_epoch):
                return f"offset {message.offset} not since the partition changed hands or leaders"
            if sure.ends_ms(last) < delivered.began_ms:
                return f"offset {message.offset} not since its lease ran out at {sure.ends_ms(last)}"
            for settled in given_back:
                is_behind_it = settled.offset <= message.offset and settled.ended_ms < delivered.began_ms
                if is_behind_it and last.ended_ms < settled.began_ms:
                    return f"offset {message.offset} not since {settled.offset} was given back at {settled.began_ms}"
        return ""


def _is_one_answer(one: Delivered, other: Delivered) -> bool:
    return (one.consumer, one.began_ms, one.ended_ms) == (other.consumer, other.began_ms, other.ended_ms)
