"""Which partitions are asked in an interval: those where something goes on first, the others in turns. Sans-IO."""

from collections import OrderedDict
from collections.abc import Iterable

Place = tuple[str, int]
"""A topic's id, and a partition's number."""

BUSY_PERCENT = 75
"""Of those that are asked, as many at most as are busy: the others have their turns all the same."""


class LookTurns:
    """`round_ms` is how long it took to ask each once, as far as is known; None before."""

    def __init__(self) -> None:
        self._places: OrderedDict[Place, None] = OrderedDict()
        self._busy: OrderedDict[Place, None] = OrderedDict()
        self._left = 0
        self._round_began_ms: int | None = None
        self.round_ms: int | None = None

    def keep(self, places: Iterable[Place]) -> None:
        """These are there, and no others. What was there keeps its turn."""
        wanted = dict.fromkeys(places)
        for place in [place for place in self._places if place not in wanted]:
            del self._places[place]
            self._busy.pop(place, None)
        for place in wanted:
            if place not in self._places:
                self._places[place] = None
                self._places.move_to_end(place, last=False)
        self._left = min(self._left, len(self._places))

    def next(self, count: int, now_ms: int) -> list[Place]:
        """Up to so many, each once."""
        chosen: dict[Place, None] = {}
        if len(self._places) > count:
            for place in list(self._busy)[: count * BUSY_PERCENT // 100]:
                self._busy.move_to_end(place)
                chosen[place] = None
        if self._left <= 0:
            self._begin_round(now_ms)
        room = min(count - len(chosen), len(self._places))
        for _ in range(room):
            place = next(iter(self._places))
            self._places.move_to_end(place)
            chosen[place] = None
        self._left -= room
        return list(chosen)

    def note(self, place: Place, *, is_busy: bool) -> None:
        if not is_busy:
            self._busy.pop(place, None)
        elif place in self._places:
            self._busy.setdefault(place)

    def _begin_round(self, now_ms: int) -> None:
        if self._round_began_ms is not None:
            self.round_ms = now_ms - self._round_began_ms
        self._round_began_ms = now_ms
        self._left = len(self._places)
