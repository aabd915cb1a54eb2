"""When a message is to be seen, and for how long, as it is typed."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.failures import UsageError
from acklog.command.quantities import parse_duration_ms
from acklog.command.times import future_moment

if TYPE_CHECKING:
    from acklog.messages import OutgoingMessage

DelayOption = Annotated[
    float | None, typer.Option("--delay", metavar="SECONDS", min=0, help="One message: it is seen so much later.")
]
AtOption = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="One message: seen then, 2027-03-01T08:30 or +2h.")
]

TtlOption = Annotated[
    str | None, typer.Option("--ttl", metavar="DURATION", help="One message: nobody is given it after 90s, 2h.")
]


def refuse_times(delay_s: float | None, at: str | None, ttl: str | None) -> None:
    """Where there is more than one message. Raises UsageError."""
    if delay_s is not None or at is not None or ttl is not None:
        raise UsageError("a time goes with one message", hint="Give the BODY, or --file.")


def timed(
    message: "OutgoingMessage", delay_s: float | None, at: str | None, ttl: str | None, *, now_ms: int
) -> "OutgoingMessage":
    """The message, to be seen when and for as long as that was typed. Raises UsageError."""
    if delay_s is not None and at is not None:
        raise UsageError("--delay and --at contradict each other", hint="Give one of them.")
    message.delay_seconds = delay_s
    message.deliver_at = None if at is None else future_moment(at, now_ms=now_ms, field="--at")
    message.ttl_seconds = None if ttl is None else parse_duration_ms(ttl, field="--ttl") / 1000
    return message
