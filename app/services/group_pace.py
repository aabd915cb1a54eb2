"""How fast a group's topics grow and how fast it is, between two looks of this gateway: nothing is counted for it.

Sans-IO. A look is compared with the newest one before it that is old enough to say something.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import NamedTuple

WINDOW_MS_MIN = 10_000
"""Over a shorter time than that a pace says little."""
WINDOW_MS_MAX = 600_000
"""Over a longer one it is history."""
PLACES_MAX = 100_000
"""Partitions that are remembered, each for as many groups as ask; what was looked at longest ago is forgotten first."""


Place = tuple[str, int]
"""A topic's id, and the partition."""


class Ends(NamedTuple):
    """Where a partition ends, and how many of its messages the group has done."""

    end: int
    done: int


class GroupPace(NamedTuple):
    """Messages per second."""

    arrivals: float
    settled: float


class _Look(NamedTuple):
    at_ms: int
    places: Mapping[Place, Ends]


class GroupPaces:
    def __init__(self) -> None:
        self._looks: OrderedDict[Hashable, list[_Look]] = OrderedDict()
        self._count = 0

    def look(self, key: Hashable, places: Mapping[Place, Ends], now_ms: int) -> GroupPace | None:
        """None where there was no look before. Partitions that one of the two looks does not know are left out; where a
        seek has taken the group back, it has done nothing."""
        looks = [each for each in self._take(key) if now_ms - each.at_ms <= WINDOW_MS_MAX]
        base = next((each for each in reversed(looks) if now_ms - each.at_ms >= WINDOW_MS_MIN), None)
        if not looks or now_ms - looks[-1].at_ms >= WINDOW_MS_MIN:
            looks = [*looks[-1:], _Look(now_ms, places)]
        self._keep(key, looks)
        if base is None:
            return None
        pairs = [(base.places[place], ends) for place, ends in places.items() if place in base.places]
        passed_s = (now_ms - base.at_ms) / 1000
        return GroupPace(
            sum(max(0, now.end - before.end) for before, now in pairs) / passed_s,
            sum(max(0, now.done - before.done) for before, now in pairs) / passed_s,
        )

    def _take(self, key: Hashable) -> list[_Look]:
        looks = self._looks.pop(key, [])
        self._count -= sum(len(each.places) for each in looks)
        return looks

    def _keep(self, key: Hashable, looks: list[_Look]) -> None:
        self._looks[key] = looks
        self._count += sum(len(each.places) for each in looks)
        while self._count > PLACES_MAX:
            self._take(next(iter(self._looks)))
