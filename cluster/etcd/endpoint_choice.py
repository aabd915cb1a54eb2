"""Which member to talk to: the same one until it fails, then the next. Sans-IO."""

from cluster.backoff import Backoff


class EndpointChoice:
    """Endpoints are numbered from 0. One that failed rests, longer after each failure in a row; it is chosen meanwhile
    only where all the others rest even longer."""

    def __init__(self, count: int, rest: Backoff, *, first: int = 0) -> None:
        self._rest = rest
        self._chosen = first % count
        self._failures = [0] * count
        self._rests_until_ms = [0] * count

    def choose(self, now_ms: int) -> int:
        """The endpoint for the next try."""
        if self._rests_until_ms[self._chosen] > now_ms:
            self._chosen = min(self._from_the_next_on(), key=lambda each: max(now_ms, self._rests_until_ms[each]))
        return self._chosen

    def failed(self, endpoint: int, now_ms: int) -> bool:
        """It could not be reached, did not answer, or has no leader. False while it rests already: failures of calls
        that ran at the same time count once."""
        if self._rests_until_ms[endpoint] > now_ms:
            return False
        self._failures[endpoint] += 1
        self._rests_until_ms[endpoint] = now_ms + self._rest.delay_ms(self._failures[endpoint])
        return True

    def succeeded(self, endpoint: int) -> None:
        self._failures[endpoint] = 0
        self._rests_until_ms[endpoint] = 0

    def _from_the_next_on(self) -> list[int]:
        """All endpoints in turn, the chosen one last."""
        count = len(self._failures)
        return [(self._chosen + step) % count for step in range(1, count + 1)]
