"""Messages that were done for a group without any consumer being told so: in the dead-letter topic after a last
delivery that nobody got, acknowledged with a delivery whose answer was lost, skipped by a person, or passed over by
a filter that the group got meanwhile. An ack of such a message succeeds by any receipt."""

import math
from collections import defaultdict
from collections.abc import Mapping

from tests.sim.checkers import lease_place_of
from tests.sim.decisions import Decisions
from tests.sim.filters_in_force import FiltersInForce
from tests.sim.history import AutoAckedAnswerLost, Delivered, History, LogRead

_Letter = tuple[int, int]  # partition, offset


class QuietEndings:
    def __init__(self, history: History, *, dead_letter_queues: Mapping[tuple[str, str], str]) -> None:
        """`dead_letter_queues` names the dead-letter topic of each (group, queue)."""
        self._dead_letter_queues = dead_letter_queues
        self._seen_ms: dict[tuple[str, str], dict[_Letter, float]] = defaultdict(dict)
        letter_queues = {*dead_letter_queues.values()}
        for read in history.of(LogRead):
            if read.queue in letter_queues:
                for record in read.records:
                    seen_ms = self._seen_ms[read.queue, record.uid]
                    letter = read.partition, record.offset
                    seen_ms[letter] = min(seen_ms.get(letter, math.inf), read.ended_ms)
        self._decisions = Decisions(history)
        self._filters = FiltersInForce(history)
        self._first_lost_ms: dict[tuple[str, str], float] = {}
        for lost in history.of(AutoAckedAnswerLost):
            known_ms = self._first_lost_ms.get((lost.group, lost.queue), math.inf)
            self._first_lost_ms[lost.group, lost.queue] = min(known_ms, lost.began_ms)

    def may_have_ended(self, delivered: Delivered, *, after_ms: float, before_ms: float) -> bool:
        """Whether an ack of what was delivered may have found it done, though at `after_ms` it was not; `before_ms` is
        when the ack was answered.

        A letter need not have been seen by then: what an ack has done gets none, so a message that has one was dead
        before the ack. One that was seen before `after_ms` is of another death, before a seek back."""
        if self._decisions.may_have_skipped(lease_place_of(delivered), after_ms=after_ms, before_ms=before_ms):
            return True
        if self._filters.may_pass_over(delivered.group, delivered.uid, after_ms=after_ms, before_ms=before_ms):
            return True
        place = delivered.group, delivered.queue
        letters = self._seen_ms.get((self._dead_letter_queues.get(place, ""), delivered.uid), {})
        is_dead = any(seen_ms >= after_ms for seen_ms in letters.values())
        return is_dead or self._first_lost_ms.get(place, math.inf) < before_ms
