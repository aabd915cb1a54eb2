"""Messages that wait by their key, and whose turn it is: the key's that has least in flight.

A key that has much in flight gives way to those that have less, and gets what they leave. Among equals they go round.
One lease of every `OLDEST_EVERY` goes to the key that got nothing for longest, whatever it has in flight: a key whose
consumers are stuck comes on, however many others come and go.
"""

from collections import deque

OLDEST_EVERY = 8


class KeysInTurn:
    """Keys are hashes. A range waits as one entry; `range_count` is how many there are."""

    def __init__(self) -> None:
        self.range_count = 0
        self.in_flight: dict[int, int] = {}
        self._waiting: dict[int, deque[tuple[int, int]]] = {}
        self._turns: dict[int, None] = {}  # keys that wait; the one that got nothing for longest is first
        self._by_in_flight: dict[int, dict[int, None]] = {}  # the same keys, by how much they have
        self._until_oldest = OLDEST_EVERY

    @property
    def waiting_count(self) -> int:
        """Keys that wait."""
        return len(self._waiting)

    def wait(self, key: int, start: int, end: int) -> None:
        """These follow what waits of the key."""
        ranges = self._ranges_of(key)
        if ranges and ranges[-1][1] == start:
            ranges[-1] = (ranges[-1][0], end)
            return
        ranges.append((start, end))
        self.range_count += 1

    def wait_first(self, key: int, offset: int) -> None:
        """It came back: it is before what waits of the key."""
        self._ranges_of(key).appendleft((offset, offset + 1))
        self.range_count += 1

    def _ranges_of(self, key: int) -> "deque[tuple[int, int]]":
        ranges = self._waiting.get(key)
        if ranges is None:
            ranges = self._waiting[key] = deque()
            self._turns[key] = None
            self._by_in_flight.setdefault(self.in_flight.get(key, 0), {})[key] = None
        return ranges

    # --- turns -----------------------------------------------------------------------------------------------------

    def next_key(self, *, in_flight_max: int, unlimited: int) -> int | None:
        """Whose turn it is; None: nobody waits who has less than `in_flight_max` in flight, or is `unlimited`."""
        if not self._waiting:
            return None
        if self._until_oldest <= 1:
            oldest = next(iter(self._turns))
            if oldest == unlimited or self.in_flight.get(oldest, 0) < in_flight_max:
                return oldest
            self._turns[oldest] = self._turns.pop(oldest)  # or it would be in the way of the others
        least = min(self._by_in_flight)
        if least < in_flight_max:
            return next(iter(self._by_in_flight[least]))
        return unlimited if unlimited in self._waiting else None

    def take(self, key: int, count: int) -> range:
        """The first that wait of a key, up to `count` and no further than one entry; they do not wait any more."""
        ranges = self._waiting[key]
        start, end = ranges[0]
        stop = min(end, start + count)
        if stop < end:
            ranges[0] = (stop, end)
        else:
            ranges.popleft()
            self.range_count -= 1
            if not ranges:
                self._leave(key)
        return range(start, stop)

    def _leave(self, key: int) -> None:
        del self._waiting[key]
        del self._turns[key]
        self._remove_from_equals(key)

    def had_its_turn(self, key: int) -> None:
        self._until_oldest = OLDEST_EVERY if self._until_oldest <= 1 else self._until_oldest - 1
        if key in self._turns:
            self._turns[key] = self._turns.pop(key)

    # --- in flight -------------------------------------------------------------------------------------------------

    def count(self, key: int, change: int) -> None:
        """So many more, or fewer, of the key are in flight."""
        is_waiting = key in self._waiting
        if is_waiting:
            self._remove_from_equals(key)
        now = self.in_flight.get(key, 0) + change
        if now:
            self.in_flight[key] = now
        else:
            self.in_flight.pop(key, None)
        if is_waiting:
            self._by_in_flight.setdefault(now, {})[key] = None

    def _remove_from_equals(self, key: int) -> None:
        has = self.in_flight.get(key, 0)
        equals = self._by_in_flight[has]
        del equals[key]
        if not equals:
            del self._by_in_flight[has]

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        assert self._waiting.keys() == self._turns.keys(), "a key that waits has no turn"
        by_key = {key: has for has, equals in self._by_in_flight.items() for key in equals}
        assert by_key == {key: self.in_flight.get(key, 0) for key in self._waiting}, (
            "a key is among those it is not like"
        )
        assert self.range_count == sum(len(ranges) for ranges in self._waiting.values()), "ranges are miscounted"
        assert all(has > 0 for has in self.in_flight.values()), "a key has nothing or less in flight"
