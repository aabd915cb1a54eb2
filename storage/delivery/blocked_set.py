"""Messages that wait for a person, and when each one's time to live ends: no decision is waited for longer than that.

Whoever blocks a message does not know how long it lives: that is in the log. So it is looked up, once for each message
that is blocked, and once more by each new leader. A message without a time to live of its own has that of its topic as
it is when somebody asks.
"""

from collections.abc import Iterator
from itertools import islice

from storage.delivery.deadlines import Deadlines

LOOK_NOW_MS = 0
"""Before every time that a clock shows."""


class BlockedSet:
    """Of one group in one partition. Times are wall-clock ones."""

    def __init__(self) -> None:
        self._offsets: dict[int, None] = {}
        self._unknown: dict[int, None] = {}
        self._own_ends = Deadlines()
        self._appended = Deadlines()
        self._ended: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, offset: int) -> bool:
        return offset in self._offsets

    def __iter__(self) -> Iterator[int]:
        return iter(self._offsets)

    def add(self, offset: int) -> None:
        self.discard(offset)
        self._offsets[offset] = None
        self._unknown[offset] = None

    def discard(self, offset: int) -> None:
        if offset in self._offsets:
            del self._offsets[offset]
            self._unknown.pop(offset, None)
            self._own_ends.discard(offset)
            self._appended.discard(offset)
            self._ended.pop(offset, None)

    def clear(self) -> None:
        self._offsets.clear()
        self._unknown.clear()
        self._own_ends.clear()
        self._appended.clear()
        self._ended.clear()

    def unknown(self, *, limit: int) -> list[int]:
        """Of which it is to be looked up when they were appended, and how long they live."""
        return list(islice(self._unknown, limit))

    def found(self, offset: int, *, append_time_ms: int, ttl_ms: int | None) -> None:
        """It says for itself how long it lives, or (None) its topic does."""
        if offset not in self._unknown:
            return  # it is not blocked any more
        del self._unknown[offset]
        if ttl_ms is None:
            self._appended.set(offset, append_time_ms)
        else:
            self._own_ends.set(offset, append_time_ms + ttl_ms)

    def cannot_be_read(self, offset: int) -> None:
        """It waits for a person, however long."""
        self._unknown.pop(offset, None)

    def ended(self, *, now_ms: int, topic_ttl_ms: int | None, limit: int) -> list[int]:
        """The first ones whose time to live is over, until they are blocked no more."""
        while len(self._ended) < limit and (due := self._own_ends.pop_due(now_ms)) is not None:
            self._ended[due[1]] = None
        if topic_ttl_ms is not None:
            while len(self._ended) < limit and (due := self._appended.pop_due(now_ms - topic_ttl_ms)) is not None:
                self._ended[due[1]] = None
        return list(islice(self._ended, limit))

    def next_look_ms(self, topic_ttl_ms: int | None) -> int | None:
        """When `unknown` or `ended` may have something."""
        if not self._offsets:
            return None
        if self._unknown or self._ended:
            return LOOK_NOW_MS
        appended_ms = None if topic_ttl_ms is None else self._appended.next()
        ends = (self._own_ends.next(), None if appended_ms is None else appended_ms + (topic_ttl_ms or 0))
        return min((end_ms for end_ms in ends if end_ms is not None), default=None)
