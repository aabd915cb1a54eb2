"""Options of `acklog groups` that say how consumers share, and their settings in words."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.failures import UsageError
from acklog.wire.limits import IN_FLIGHT_MAX

if TYPE_CHECKING:
    from acklog.catalog import GroupChanges, GroupSettings

FAIR_BY = ("none", "key")

PerConsumerOption = Annotated[
    int | None,
    typer.Option(
        "--max-in-flight-per-consumer",
        metavar="COUNT",
        min=0,
        max=IN_FLIGHT_MAX,
        help="Messages leased at a time by one consumer, as each node counts; 0: no limit.",
    ),
]
PerKeyOption = Annotated[
    int | None,
    typer.Option(
        "--max-in-flight-per-key",
        metavar="COUNT",
        min=0,
        max=IN_FLIGHT_MAX,
        help="Messages of one key leased at a time per partition; 0: no limit.",
    ),
]
FairByOption = Annotated[
    str | None,
    typer.Option("--fair-by", metavar="WHAT", help="key: a noisy key takes its share and no more; or none."),
]


def sharing_changes(
    max_in_flight_per_consumer: int | None, max_in_flight_per_key: int | None, fair_by: str | None
) -> "GroupChanges":
    """What the options name of how consumers share. Raises UsageError."""
    changes: GroupChanges = {}
    if max_in_flight_per_consumer is not None:
        changes["max_in_flight_per_consumer"] = max_in_flight_per_consumer or None
    if max_in_flight_per_key is not None:
        changes["max_in_flight_per_key"] = max_in_flight_per_key or None
    if fair_by is not None:
        if fair_by not in FAIR_BY:
            raise UsageError(f"{fair_by!r} is nothing to be fair by", field="--fair-by", hint="It may be key or none.")
        changes["fair_by"] = fair_by
    return changes


def in_flight_text(settings: "GroupSettings") -> str:
    per_key, per_consumer = settings.max_in_flight_per_key, settings.max_in_flight_per_consumer
    text = f"{settings.max_in_flight:,} per partition at most"
    if per_key is not None:
        text += f", {per_key:,} of a key"
    return text if per_consumer is None else f"{text}; {per_consumer:,} per consumer"
