"""How long to wait before the next try."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Doubles from `first_ms` up to `max_ms`."""

    first_ms: int = 100
    max_ms: int = 5_000

    def delay_ms(self, failures: int) -> int:
        """Before the try that follows so many failures in a row (1: the first has just failed)."""
        return min(self.max_ms, self.first_ms << min(max(failures, 1) - 1, 30))
