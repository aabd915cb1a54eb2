"""Messages that came back, in the order in which they are leased again."""

from collections.abc import Iterator

from storage.delivery.deadlines import Deadlines

_HEAD_MS = -1


class ReturnQueue:
    """Delayed until their time, then ready: the longest due first, and before all those that nobody really had."""

    def __init__(self) -> None:
        self._delayed = Deadlines()
        self._ready = Deadlines()

    def __contains__(self, offset: int) -> bool:
        return offset in self._ready or offset in self._delayed

    @property
    def delayed_count(self) -> int:
        """As of the last `promote`."""
        return len(self._delayed)

    @property
    def has_ready(self) -> bool:
        """As of the last `promote`."""
        return bool(self._ready)

    def put(self, offset: int, visible_at_ms: int, *, now_ms: int) -> None:
        self.discard(offset)
        (self._delayed if visible_at_ms > now_ms else self._ready).set(offset, visible_at_ms)

    def put_first(self, offset: int) -> None:
        """Ready at once, before everything that was given back."""
        self._delayed.discard(offset)
        self._ready.set(offset, _HEAD_MS)

    def promote(self, now_ms: int) -> None:
        """Make ready what is due."""
        while (due := self._delayed.pop_due(now_ms)) is not None:
            visible_at_ms, offset = due
            self._ready.set(offset, visible_at_ms)

    def pop(self) -> int | None:
        """The next ready message."""
        first_ms = self._ready.next()
        if first_ms is None:
            return None
        first = self._ready.pop_due(first_ms)
        return None if first is None else first[1]

    def ready(self) -> Iterator[int]:
        """What is ready, in no order."""
        return iter(self._ready)

    def delayed_until(self, offset: int) -> int | None:
        return self._delayed.get(offset)

    def discard(self, offset: int) -> None:
        self._delayed.discard(offset)
        self._ready.discard(offset)

    def next_deadline(self) -> int | None:
        """When the next delay is over. What is ready needs no timer but a consumer."""
        return self._delayed.next()

    def clear(self) -> None:
        self._delayed.clear()
        self._ready.clear()
