"""When a failed request is tried again. Without I/O: times and chance come in, a delay goes out."""

from dataclasses import dataclass

from acklog.errors import (
    AcklogError,
    CannotConnect,
    ConnectionFailed,
    DeadlineExceeded,
    InvalidArgument,
    OutcomeUnknown,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Pauses that double from `min_ms` to `max_ms`, spread at random over the upper half of each step, so that clients
    that failed together do not come back together."""

    min_ms: int = 100
    max_ms: int = 5_000

    def __post_init__(self) -> None:
        if not 1 <= self.min_ms <= self.max_ms:
            raise InvalidArgument(f"the back-off is {self.min_ms} to {self.max_ms} ms: 1 <= min_ms <= max_ms")

    def delay_ms(self, attempt: int, *, chance: float, error: AcklogError | None) -> int:
        """The pause after failed attempt number `attempt` (from 1); at least what the server asked for. `chance` is
        random, 0 to 1."""
        step_ms = min(self.max_ms, self.min_ms << min(attempt - 1, 30))
        pause_ms = step_ms * (0.5 + 0.5 * chance)
        if error is not None and error.retry_after_s is not None:
            pause_ms = max(pause_ms, error.retry_after_s * 1000)
        return round(pause_ms)


def is_outcome_unknown(error: AcklogError) -> bool:
    """Whether what was sent may have taken effect in spite of the error."""
    if isinstance(error, CannotConnect):
        return False
    is_proxy = error.code == "UNEXPECTED_ANSWER" and error.status in {502, 504}
    return is_proxy or isinstance(error, ConnectionFailed | DeadlineExceeded | OutcomeUnknown)


def may_repeat(error: AcklogError, *, is_repeatable: bool) -> bool:
    """Whether to try again: a call that must not happen twice only if it did not happen."""
    return error.retriable and (is_repeatable or not is_outcome_unknown(error))
