"""How long each partition waited for its next confirmed send: what a failover costs those who send."""

from collections.abc import Callable


class Pauses:
    """`now_s` goes forward. Only partitions that had a confirmed send before are waited for."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._last_s: dict[int, float] = {}
        self._longest_s = 0.0

    def confirmed(self, partition: int) -> None:
        now_s = self._now_s()
        self._longest_s = max(self._longest_s, now_s - self._last_s.get(partition, now_s))
        self._last_s[partition] = now_s

    def begin(self) -> None:
        """Look for the longest pause from here on."""
        self._longest_s = 0.0

    def longest_s(self, *, is_sending: bool) -> float:
        """Since `begin`; pauses that have not ended count while there is something to send."""
        open_s = [self._now_s() - last_s for last_s in self._last_s.values()] if is_sending else []
        return max([self._longest_s, *open_s])
