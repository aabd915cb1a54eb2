"""When to try again what the coordination store has not done. Sans-IO."""

_DOUBLINGS_MAX = 5


class RetryPause:
    """Twice as long after each failure, from `pause_ms` up to 32 times that. `until_ms` is None where nothing waits."""

    def __init__(self, pause_ms: int) -> None:
        self.until_ms: int | None = None
        self._pause_ms = pause_ms
        self._failures = 0

    def wait(self, now_ms: int) -> None:
        """One pause, however many there were: both ISRs count until an unknown outcome is settled."""
        self.until_ms = now_ms + self._pause_ms

    def failed(self, now_ms: int) -> None:
        self.until_ms = now_ms + (self._pause_ms << min(self._failures, _DOUBLINGS_MAX))
        self._failures += 1

    def succeeded(self) -> None:
        self._failures = 0

    def begin_anew(self, now_ms: int) -> None:
        """There is a reason to think that it will work now."""
        self._failures = 0
        if self.until_ms is not None:
            self.until_ms = min(self.until_ms, now_ms + self._pause_ms)

    def is_over(self, now_ms: int) -> bool:
        """Whether what waited is to be tried now; then nothing waits any more."""
        if self.until_ms is None or self.until_ms > now_ms:
            return False
        self.until_ms = None
        return True
