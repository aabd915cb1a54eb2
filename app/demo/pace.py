"""How fast messages are handed over: steadily, and so that every kill finds work under way. Without I/O."""

from dataclasses import dataclass

TRICKLE_SHARE = 20


@dataclass(slots=True)
class Pace:
    """`messages_per_s` 0 is as fast as it goes. Otherwise a run of `kills` has as many parts and one more, and the part
    behind a kill's own is only trickled into until the victim is back, so that something is always on its way."""

    messages: int
    kills: int
    messages_per_s: int
    kills_over: int = 0

    def pause_s(self, index: int, count: int) -> float:
        """How long the `count` messages up to `index` take."""
        if not self.messages_per_s:
            return 0.0
        return count / (self.messages_per_s if index < self._free_until() else self._trickle_per_s())

    def _free_until(self) -> int:
        return self.messages * (self.kills_over + 2) // (self.kills + 1)

    def _trickle_per_s(self) -> int:
        return max(1, self.messages_per_s // TRICKLE_SHARE)
