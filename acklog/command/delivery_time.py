"""When messages are to be seen, and for how long, as it is typed."""

from dataclasses import dataclass
from typing import Annotated, Self

import typer

from acklog.command.failures import UsageError
from acklog.command.quantities import parse_duration_ms
from acklog.command.times import future_moment

DelayOption = Annotated[
    float | None, typer.Option("--delay", metavar="SECONDS", min=0, help="Each message is seen so much later.")
]
AtOption = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="Each message is seen then: 2027-03-01T08:30 or +2h.")
]

TtlOption = Annotated[
    str | None, typer.Option("--ttl", metavar="DURATION", help="Nobody is given a message after 90s, 2h.")
]


@dataclass(frozen=True, slots=True)
class DeliveryTime:
    """One of the first two at most; all None: at once, and as long as the topic says."""

    delay_seconds: float | None = None
    deliver_at_ms: int | None = None
    ttl_seconds: float | None = None

    @classmethod
    def typed(cls, delay_s: float | None, at: str | None, ttl: str | None, *, now_ms: int) -> Self:
        """Raises UsageError."""
        if delay_s is not None and at is not None:
            raise UsageError("--delay and --at contradict each other", hint="Give one of them.")
        at_ms = None if at is None else future_moment(at, now_ms=now_ms, field="--at")
        return cls(delay_s, at_ms, None if ttl is None else parse_duration_ms(ttl, field="--ttl") / 1000)
