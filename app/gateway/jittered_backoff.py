"""How long to pause between two tries of a call."""

from collections.abc import Callable

RETRY_PAUSE_MIN_MS = 10
RETRY_PAUSE_MAX_MS = 250


class JitteredBackoff:
    """Growing from RETRY_PAUSE_MIN_MS to RETRY_PAUSE_MAX_MS, each at random between its half and itself."""

    def __init__(self, fraction: Callable[[], float]) -> None:
        self._fraction = fraction
        self._pause_ms = float(RETRY_PAUSE_MIN_MS)

    def next_ms(self) -> float:
        pause_ms = self._pause_ms
        self._pause_ms = min(pause_ms * 2, RETRY_PAUSE_MAX_MS)
        return pause_ms * (0.5 + self._fraction() / 2)

    def begin_anew(self) -> None:
        self._pause_ms = float(RETRY_PAUSE_MIN_MS)
