"""What persons decided about blocked messages, as far as its outcome is known."""

import math
from collections import defaultdict

from tests.sim.checkers import LeasePlace
from tests.sim.history import Decided, History, Outcome


class Decisions:
    """A decision that was answered took effect between its question and its answer; one whose outcome is unknown at
    any time after its question, or never."""

    def __init__(self, history: History) -> None:
        self._of: dict[LeasePlace, list[Decided]] = defaultdict(list)
        for decided in history.of(Decided):
            if decided.outcome is not Outcome.FAILED:
                place = (decided.group, decided.queue, decided.partition, decided.offset)
                self._of[place].append(decided)

    def may_be_between(self, place: LeasePlace, *, after_ms: float, before_ms: float) -> bool:
        """Whether one may have taken effect then."""
        return any(_is_between(each, after_ms, before_ms) for each in self._of.get(place, ()))

    def may_have_skipped(self, place: LeasePlace, *, after_ms: float, before_ms: float = math.inf) -> bool:
        """Whether the message may have become done then."""
        found = self._of.get(place, ())
        return any(each.action == "skip" and _is_between(each, after_ms, before_ms) for each in found)


def _is_between(decided: Decided, after_ms: float, before_ms: float) -> bool:
    latest_ms = decided.ended_ms if decided.outcome is Outcome.OK else math.inf
    return decided.began_ms <= before_ms and latest_ms >= after_ms
