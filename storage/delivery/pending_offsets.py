"""Offsets whose settlement is on its way to the delivery log."""

from collections.abc import Iterable


class PendingOffsets:
    """Counts records per offset: two acks of one message may both be under way, and either may fail."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    def __contains__(self, offset: int) -> bool:
        return offset in self.counts

    def __len__(self) -> int:
        return len(self.counts)

    def mark(self, offsets: Iterable[int]) -> None:
        counts = self.counts
        for offset in offsets:
            counts[offset] = counts.get(offset, 0) + 1

    def unmark(self, offsets: Iterable[int]) -> None:
        """Offsets that are not pending are passed over: a replay applies what was never decided here."""
        counts = self.counts
        if not counts:
            return
        for offset in offsets:
            count = counts.pop(offset, 0)
            if count > 1:
                counts[offset] = count - 1

    def clear(self) -> None:
        self.counts.clear()
