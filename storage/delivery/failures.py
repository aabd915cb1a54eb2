"""Why messages of a group that are not done failed, as far as their consumers said so.

Kept for whoever looks at a message, and for its dead letter. Nothing is decided by it, so it is bounded by forgetting:
the oldest reasons of a message, and beyond a size all those of the messages that failed longest ago.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from acklog.wire.failure_reason import FailureReason
from acklog.wire.limits import FAILURE_REASONS_MAX

REASON_OVERHEAD_BYTES = 200
"""What remembering a reason takes beside its text, about."""


class FailureHistory(NamedTuple):
    """How a message failed so far. Times are wall-clock ones, -1 where it has not failed; `last_consumer` is "" where
    it is not known."""

    first_ms: int = -1
    last_ms: int = -1
    last_consumer: str = ""
    reasons: tuple[FailureReason, ...] = ()


class FailureReasons:
    """By offset; whoever failed last is the last. Records that are applied in the same order give the same state."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._size_bytes = 0
        self._by_offset: dict[int, tuple[FailureReason, ...]] = {}

    @property
    def offsets(self) -> AbstractSet[int]:
        return self._by_offset.keys()

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def add(self, offset: int, reason: FailureReason) -> None:
        """An attempt that is given back once more, by the same receipt, has the reason that was said last."""
        known = self._by_offset.get(offset, ())
        self.forget(offset)
        if known and known[-1].attempt == reason.attempt:
            known = known[:-1]
        self._put(offset, (*known, reason)[-FAILURE_REASONS_MAX:])

    def of(self, offset: int) -> tuple[FailureReason, ...]:
        """The oldest first."""
        return self._by_offset.get(offset, ())

    def forget_all(self, offsets: Iterable[int]) -> None:
        for offset in offsets:
            if offset in self._by_offset:
                self.forget(offset)

    def forget(self, offset: int) -> None:
        self._size_bytes -= _size_bytes(self._by_offset.pop(offset, ()))

    def clear(self) -> None:
        self._by_offset.clear()
        self._size_bytes = 0

    def snapshot(self) -> list[tuple[int, tuple[FailureReason, ...]]]:
        return list(self._by_offset.items())

    def restore(self, snapshot: Iterable[tuple[int, tuple[FailureReason, ...]]]) -> None:
        """Fill a new object with what `snapshot` wrote."""
        for offset, reasons in snapshot:
            self._put(offset, reasons)

    def _put(self, offset: int, reasons: tuple[FailureReason, ...]) -> None:
        self._by_offset[offset] = reasons
        self._size_bytes += _size_bytes(reasons)
        while self._size_bytes > self._bytes_max:
            self.forget(next(iter(self._by_offset)))


def _size_bytes(reasons: Iterable[FailureReason]) -> int:
    return sum(REASON_OVERHEAD_BYTES + len(each.reason.encode()) for each in reasons)
