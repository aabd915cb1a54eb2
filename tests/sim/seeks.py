"""The seeks of a history, as far as their outcome is known: which of them may have come between two events.

A seek that was answered took effect between its question and its answer. One whose outcome is unknown did so at one
moment after its question, or never.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tests.sim.history import History, Outcome, Sought

GroupPlace = tuple[str, str, int]  # group, queue, partition


@dataclass(frozen=True, slots=True)
class Window:
    """Within it a seek to `offset`, or before it, must have taken effect: the message was done, and is not any more."""

    offset: int
    began_ms: float
    ended_ms: float


class Seeks:
    def __init__(self, history: History) -> None:
        self._of: dict[GroupPlace, list[Sought]] = defaultdict(list)
        for sought in history.of(Sought):
            if sought.outcome is not Outcome.FAILED:
                self._of[sought.group, sought.queue, sought.partition].append(sought)

    def of(self, place: GroupPlace) -> list[Sought]:
        """Those that took effect, or may have."""
        return self._of.get(place, [])

    def certain(self, place: GroupPlace) -> list[Sought]:
        return [sought for sought in self.of(place) if sought.outcome is Outcome.OK]

    def between(self, place: GroupPlace, after_ms: float, before_ms: float) -> list[Sought]:
        """Those that may have taken effect then."""
        return [each for each in self.of(place) if each.began_ms <= before_ms and latest_ms(each) >= after_ms]

    def last_back(self, place: GroupPlace, offset: int) -> Sought | None:
        """The last that certainly made the message fresh again, if it was there."""
        found = [sought for sought in self.certain(place) if sought.highest <= offset]
        return max(found, key=lambda sought: sought.began_ms, default=None)

    def may_skip(self, place: GroupPlace, offset: int, *, after_ms: float, before_ms: float = math.inf) -> bool:
        """Whether one may have made the message done then."""
        return any(sought.highest > offset for sought in self.between(place, after_ms, before_ms))

    def unexplained(self, place: GroupPlace, windows: Iterable[Window]) -> list[Window]:
        """Those within which no seek can have taken effect. One whose outcome is unknown had one moment only, so it
        explains only windows that have a moment in common."""
        certain = self.certain(place)
        unknown = [sought for sought in self.of(place) if sought.outcome is Outcome.UNKNOWN]
        moments: list[tuple[float, Sought]] = []
        found = []
        for window in sorted(windows, key=lambda window: window.ended_ms):
            if any(_may_be_within(sought, window) for sought in certain):
                continue
            if any(window.began_ms <= at_ms and sought.lowest <= window.offset for at_ms, sought in moments):
                continue
            candidates = [sought for sought in unknown if _may_be_within(sought, window)]
            if candidates:
                chosen = max(candidates, key=lambda sought: sought.lowest)
                unknown.remove(chosen)
                moments.append((window.ended_ms, chosen))
            else:
                found.append(window)
        return found


def latest_ms(sought: Sought) -> float:
    """Until when it may have taken effect."""
    return sought.ended_ms if sought.outcome is Outcome.OK else math.inf


def _may_be_within(sought: Sought, window: Window) -> bool:
    is_in_time = sought.began_ms <= window.ended_ms and latest_ms(sought) >= window.began_ms
    return is_in_time and sought.lowest <= window.offset
