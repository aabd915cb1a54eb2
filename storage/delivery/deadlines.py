"""Keys with a deadline each, earliest first: a heap with lazy deletion whose garbage is bounded."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

_GARBAGE_ALLOWED = 64


class Deadlines:
    """Keys are integers (an offset, a serial number); equal deadlines come in the order of their keys.

    The dictionary is the truth; a heap entry that it does not confirm is garbage. There is never more garbage than live
    entries and `_GARBAGE_ALLOWED` together.
    """

    __slots__ = ("_at", "_heap")

    def __init__(self) -> None:
        self._at: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._at)

    def __iter__(self) -> Iterator[int]:
        return iter(self._at)

    def __contains__(self, key: int) -> bool:
        return key in self._at

    def get(self, key: int) -> int | None:
        return self._at.get(key)

    def set(self, key: int, deadline_ms: int) -> None:
        """Give the key this deadline, whatever it had before."""
        if self._at.get(key) == deadline_ms:
            return
        self._at[key] = deadline_ms
        heappush(self._heap, (deadline_ms, key))
        self._compact()

    def discard(self, key: int) -> None:
        if self._at.pop(key, None) is not None:
            self._compact()

    def next(self) -> int | None:
        """The earliest deadline."""
        first = self._first()
        return None if first is None else first[0]

    def first_due(self, now_ms: int) -> int | None:
        """The key with the earliest deadline, if that is not after `now_ms`."""
        first = self._first()
        return None if first is None or first[0] > now_ms else first[1]

    def pop_due(self, now_ms: int) -> tuple[int, int] | None:
        """Remove and return what `first_due` names, as (deadline_ms, key)."""
        first = self._first()
        if first is None or first[0] > now_ms:
            return None
        heappop(self._heap)
        del self._at[first[1]]
        return first

    def clear(self) -> None:
        self._at.clear()
        self._heap.clear()

    def _first(self) -> tuple[int, int] | None:
        heap, at = self._heap, self._at
        while heap:
            first = heap[0]
            if at.get(first[1]) == first[0]:
                return first
            heappop(heap)
        return None

    def _compact(self) -> None:
        if len(self._heap) > 2 * len(self._at) + _GARBAGE_ALLOWED:
            self._heap = [(deadline_ms, key) for key, deadline_ms in self._at.items()]
            heapify(self._heap)
