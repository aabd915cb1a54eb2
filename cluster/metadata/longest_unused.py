"""Who of many has not been used for longest, without a look at all of them."""

import heapq

_STALE_MIN = 64


class LongestUnused:
    """Of one topic's producers, by their keys. What has been used again stays in the heap until it comes up, or until
    most of the heap is of that kind."""

    def __init__(self) -> None:
        self._used_at_ms: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []

    def __bool__(self) -> bool:
        return bool(self._used_at_ms)

    def put(self, key: str, used_at_ms: int) -> None:
        """Also for one that is known, at another time."""
        self._used_at_ms[key] = used_at_ms
        heapq.heappush(self._heap, (used_at_ms, key))
        if len(self._heap) > 2 * len(self._used_at_ms) + _STALE_MIN:
            self._heap = [(at_ms, each) for each, at_ms in self._used_at_ms.items()]
            heapq.heapify(self._heap)

    def remove(self, key: str) -> None:
        del self._used_at_ms[key]

    def first(self) -> str | None:
        while self._heap and self._used_at_ms.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][1] if self._heap else None
