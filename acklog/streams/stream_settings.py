"""How patient a stream is with its server."""

from dataclasses import dataclass
from typing import TypedDict

from acklog.errors import InvalidArgument

HEARTBEAT_MS = 15_000
"""A server that says nothing else says so, in comments, after so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """Checked when it is made: raises InvalidArgument."""

    first_contact_timeout_ms: int = 15_000
    """How long a stream that has not begun yet waits for a server that is away or has no room. Then its error is
    raised."""
    away_timeout_ms: int | None = None
    """How long one that has begun waits for its server to come back. None: for as long as that takes."""
    silence_timeout_ms: int = 3 * HEARTBEAT_MS
    """A connection by which nothing has come for so long, not even a comment, is given up for another one."""
    backoff_min_ms: int = 250
    backoff_max_ms: int = 10_000
    """Pauses before a stream begins again double from the one to the other, spread at random."""

    def __post_init__(self) -> None:
        for name, minimum, maximum in (
            ("first_contact_timeout_ms", 0, 86_400_000),
            ("away_timeout_ms", 0, 86_400_000),
            ("silence_timeout_ms", 1, 3_600_000),
            ("backoff_min_ms", 1, 600_000),
            ("backoff_max_ms", self.backoff_min_ms, 600_000),
        ):
            value = getattr(self, name)
            if value is not None and not minimum <= value <= maximum:
                raise InvalidArgument(f"{name} is {value}, it may be {minimum} to {maximum}", field=name)


class StreamOptions(TypedDict, total=False):
    """The settings by name, as `client.events(...)` and `client.tail(...)` take them."""

    first_contact_timeout_ms: int
    away_timeout_ms: int | None
    silence_timeout_ms: int
    backoff_min_ms: int
    backoff_max_ms: int
