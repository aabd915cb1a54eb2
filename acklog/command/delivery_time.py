"""When messages are to be seen, and for how long, as it is typed."""

import re
from dataclasses import dataclass
from typing import Annotated, Self

import typer

from acklog.command.failures import UsageError
from acklog.command.quantities import parse_duration_ms
from acklog.command.times import future_moment

_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")

DelayOption = Annotated[
    str | None, typer.Option("--delay", metavar="SECONDS", help="Each message is seen so much later: 90, 15m, 2h.")
]
AtOption = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="Each message is seen then: 2027-03-01T08:30 or +2h.")
]

TtlOption = Annotated[
    str | None, typer.Option("--ttl", metavar="DURATION", help="Nobody is given a message after 90s, 2h.")
]


def parse_delay_s(text: str) -> float:
    """Seconds, or a duration: `90`, `2.5`, `15m`. Raises UsageError."""
    if _SECONDS.fullmatch(text):
        return float(text)
    return parse_duration_ms(text, field="--delay") / 1000


@dataclass(frozen=True, slots=True)
class DeliveryTime:
    """One of the first two at most; all None: at once, and as long as the topic says."""

    delay_seconds: float | None = None
    deliver_at_ms: int | None = None
    ttl_seconds: float | None = None

    @classmethod
    def typed(cls, delay: str | None, at: str | None, ttl: str | None, *, now_ms: int) -> Self:
        """Raises UsageError."""
        if delay is not None and at is not None:
            raise UsageError("--delay and --at contradict each other", hint="Give one of them.")
        at_ms = None if at is None else future_moment(at, now_ms=now_ms, field="--at")
        delay_s = None if delay is None else parse_delay_s(delay)
        return cls(delay_s, at_ms, None if ttl is None else parse_duration_ms(ttl, field="--ttl") / 1000)
