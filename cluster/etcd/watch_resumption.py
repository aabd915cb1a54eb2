"""When a watch whose stream broke tries again, and when its reader is told. Sans-IO."""

from cluster.etcd.call_tries import Again
from cluster.etcd.etcd_settings import EtcdSettings
from cluster.etcd.failures import AccessDeniedError, EtcdFailure
from cluster.ports.coordination import CoordinationUnavailableError


class WatchResumption:
    """Counts failures in a row. A denial is believed the second time only: the token of the first may have been stale,
    which etcd 3.4 calls a denial too."""

    def __init__(self, settings: EtcdSettings, *, has_user: bool, now_ms: int) -> None:
        self._settings = settings
        self._denials_max = 1 if has_user else 0
        self._silent_since_ms = now_ms
        self._failures = 0
        self._denials = 0

    def heard(self, now_ms: int) -> None:
        """etcd serves the watch."""
        self._silent_since_ms = now_ms
        self._failures = 0
        self._denials = 0

    def broken(self, failure: EtcdFailure, message: str, *, now_ms: int, jitter: float) -> Again:
        """Raises AccessDeniedError, CoordinationUnavailableError: the watch ends."""
        if failure is EtcdFailure.WRONG_PASSWORD:
            raise AccessDeniedError(message)
        needs_login = failure in (EtcdFailure.DENIED, EtcdFailure.STALE_TOKEN)
        if needs_login:
            self._denials += 1
            if self._denials > self._denials_max:
                raise AccessDeniedError(f"etcd refuses the watch: {message}")
        self._failures += 1
        delay_ms = int(self._settings.between_tries.delay_ms(self._failures) * (0.5 + jitter / 2))
        if now_ms + delay_ms - self._silent_since_ms >= self._settings.watch_resume_timeout_ms:
            raise CoordinationUnavailableError(f"etcd serves no watch: {message}")
        return Again(delay_ms, needs_login=needs_login)
