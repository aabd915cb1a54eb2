"""Options of `acklog groups` that say when a message that failed comes again, and their settings in words."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.failures import UsageError
from acklog.command.quantities import limit_text, parse_duration_ms
from acklog.wire.limits import RETRY_DELAYS_MAX

if TYPE_CHECKING:
    from acklog.catalog import GroupChanges, GroupSettings

BackoffMinOption = Annotated[
    str | None, typer.Option("--backoff-min", metavar="DURATION", help="Delay after the first failure; it doubles.")
]
BackoffMaxOption = Annotated[
    str | None, typer.Option("--backoff-max", metavar="DURATION", help="The longest delay after a failure.")
]
DelaysOption = Annotated[
    str | None,
    typer.Option("--retry-delays", metavar="LIST", help="Delays one by one instead: 1s,30s,10m; '': doubling again."),
]
JitterOption = Annotated[
    float | None,
    typer.Option(
        "--retry-jitter", metavar="PART", min=0.0, max=1.0, help="Part of each delay left to chance: 0, 0.5, 1."
    ),
]


def retry_changes(
    backoff_min: str | None, backoff_max: str | None, delays: str | None, jitter: float | None
) -> "GroupChanges":
    """What the options name of the delays after failures. Raises UsageError."""
    changes: GroupChanges = {}
    if backoff_min is not None:
        changes["retry_backoff_min_ms"] = parse_duration_ms(backoff_min, field="--backoff-min")
    if backoff_max is not None:
        changes["retry_backoff_max_ms"] = parse_duration_ms(backoff_max, field="--backoff-max")
    if delays is not None:
        changes["retry_delays_ms"] = _delays_ms(delays)
    if jitter is not None:
        changes["retry_jitter"] = jitter
    return changes


def backoff_text(settings: "GroupSettings") -> str:
    """For people."""
    if settings.retry_delays_ms is None:
        text = f"{limit_text(settings.retry_backoff_min_ms)} to {limit_text(settings.retry_backoff_max_ms)}"
    else:
        text = ", ".join(map(limit_text, settings.retry_delays_ms))
    return f"{text}, {settings.retry_jitter:.0%} of it by chance" if settings.retry_jitter else text


def _delays_ms(text: str) -> list[int] | None:
    if not text.strip():
        return None
    delays = [parse_duration_ms(each.strip(), field="--retry-delays") for each in text.split(",")]
    if len(delays) > RETRY_DELAYS_MAX:
        raise UsageError(f"{len(delays)} delays are too many: {RETRY_DELAYS_MAX} at most", field="--retry-delays")
    return delays
