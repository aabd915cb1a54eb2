"""When a stream that broke begins again, and when it is given up. Without I/O: times and chance come in."""

from acklog.client.retry import Backoff
from acklog.errors import AcklogError
from acklog.streams.stream_settings import StreamSettings

STEADY_MS = 10_000
"""A stream that lasted for so long was a good one: the next break is the first again. One that breaks sooner is as a
server that is away, or each of its clients would come back several times a second."""


class Comeback:
    """Of one stream, through all of its connections."""

    def __init__(self, settings: StreamSettings, *, now_ms: float) -> None:
        self._settings = settings
        self._backoff = Backoff(min_ms=settings.backoff_min_ms, max_ms=settings.backoff_max_ms)
        self._away_since_ms: float | None = now_ms
        self._begun_at_ms: float | None = None
        self._has_begun = False
        self.failures = 0

    def begun(self, now_ms: float) -> None:
        """The server has answered with a stream."""
        self._has_begun = True
        self._begun_at_ms = now_ms
        self._away_since_ms = None

    def after(self, error: AcklogError, *, now_ms: float, chance: float) -> int:
        """How many milliseconds to wait before the next try, after this failure of the last. Raises `error` where
        there is to be none."""
        if not error.retriable:
            raise error
        if self._begun_at_ms is not None and now_ms - self._begun_at_ms >= STEADY_MS:
            self.failures = 0
        self._begun_at_ms = None
        self.failures += 1
        if self._away_since_ms is None:
            self._away_since_ms = now_ms
        pause_ms = self._backoff.delay_ms(self.failures, chance=chance, error=error)
        settings = self._settings
        patience_ms = settings.away_timeout_ms if self._has_begun else settings.first_contact_timeout_ms
        if patience_ms is not None and now_ms + pause_ms - self._away_since_ms > patience_ms:
            raise error
        return pause_ms
