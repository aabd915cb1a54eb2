"""Whether a call that failed is tried again, and what its caller is told if not. Sans-IO."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import NoReturn

from cluster.etcd.etcd_settings import EtcdSettings
from cluster.etcd.failures import AccessDeniedError, EtcdFailure
from cluster.ports.coordination import CoordinationError, CoordinationUnavailableError, OutcomeUnknownError


class CallKind(Enum):
    READ = auto()
    REPEATABLE = auto()  # a write that has the same effect done once or twice
    WRITE = auto()  # sent again only where etcd refused to do it


@dataclass(frozen=True, slots=True)
class Again:
    """Try again after `delay_ms`. `needs_login`: with another token."""

    delay_ms: int
    needs_login: bool = False


class RefusedError(CoordinationError):
    """etcd has answered, and the answer is no. `maybe_done`: an earlier try of the same call may have been done."""

    def __init__(self, failure: EtcdFailure, message: str, *, maybe_done: bool) -> None:
        super().__init__(message)
        self.failure = failure
        self.maybe_done = maybe_done


_REFUSED_WITHOUT_DOING = frozenset({EtcdFailure.NOT_CONNECTED, EtcdFailure.NO_LEADER, EtcdFailure.BUSY})


class CallTries:
    """The tries of one call that began at `started_ms`."""

    def __init__(
        self, settings: EtcdSettings, kind: CallKind, *, started_ms: int, timeout_ms: int | None = None
    ) -> None:
        self._settings = settings
        self._kind = kind
        self._deadline_ms = started_ms + (settings.request_timeout_ms if timeout_ms is None else timeout_ms)
        self._failures = 0
        self._logins = 0
        self._maybe_done = False

    def left_ms(self, now_ms: int) -> int:
        """Of the whole call."""
        return max(0, self._deadline_ms - now_ms)

    def timeout_ms(self, now_ms: int) -> int:
        """Of the next try. A write waits as long as it can: nobody may ask again for it."""
        left_ms = self.left_ms(now_ms)
        return left_ms if self._kind is CallKind.WRITE else min(left_ms, self._settings.try_timeout_ms)

    def failed(self, failure: EtcdFailure, message: str, *, now_ms: int, jitter: float) -> Again:
        """What to do after a failed try; `jitter` is in [0, 1). Raises what the caller is to be told otherwise."""
        self._failures += 1
        if failure is EtcdFailure.STALE_TOKEN:
            return self._log_in_again(message)
        if failure is EtcdFailure.UNKNOWN:
            self._maybe_done = self._kind is not CallKind.READ
            if self._kind is CallKind.WRITE:
                self._give_up(message)
        elif failure not in _REFUSED_WITHOUT_DOING:
            self._refuse(failure, message)
        full_ms = self._settings.between_tries.delay_ms(self._failures)
        delay_ms = int(full_ms * (0.5 + jitter / 2))
        if self._failures >= self._settings.tries_max or now_ms + delay_ms >= self._deadline_ms:
            self._give_up(message)
        return Again(delay_ms)

    def _log_in_again(self, message: str) -> Again:
        self._logins += 1
        if self._logins > self._settings.logins_max:
            if self._maybe_done:
                self._give_up(message)
            raise AccessDeniedError(f"etcd does not accept its own token: {message}")
        return Again(0, needs_login=True)

    def _refuse(self, failure: EtcdFailure, message: str) -> NoReturn:
        if failure in (EtcdFailure.DENIED, EtcdFailure.WRONG_PASSWORD):
            if self._maybe_done:
                self._give_up(message)
            raise AccessDeniedError(f"etcd refuses: {message}")
        raise RefusedError(failure, f"etcd refuses: {message}", maybe_done=self._maybe_done)

    def _give_up(self, message: str) -> NoReturn:
        if self._maybe_done:
            raise OutcomeUnknownError(f"etcd did not say whether it was done: {message}")
        raise CoordinationUnavailableError(f"etcd cannot be reached: {message}")
