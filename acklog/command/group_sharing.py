"""Options of `acklog groups` that say how consumers share, and their settings in words."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.failures import UsageError
from acklog.wire.limits import IN_FLIGHT_MAX

if TYPE_CHECKING:
    from acklog.catalog import GroupChanges, GroupSettings

FAIR_BY = ("none", "key")
_HEADER = "header."

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
PerHeaderOption = Annotated[
    int | None,
    typer.Option(
        "--max-in-flight-per-header",
        metavar="COUNT",
        min=0,
        max=IN_FLIGHT_MAX,
        help="Messages of one value of the header that it is fair by, leased at a time per partition; 0: no limit.",
    ),
]
FairByOption = Annotated[
    str | None,
    typer.Option(
        "--fair-by",
        metavar="WHAT",
        help="key, or header.NAME: a noisy key, or value of that header, takes its share and no more; or none.",
    ),
]


def sharing_changes(
    max_in_flight_per_consumer: int | None,
    max_in_flight_per_key: int | None,
    max_in_flight_per_header: int | None,
    fair_by: str | None,
) -> "GroupChanges":
    """What the options name of how consumers share. Raises UsageError."""
    changes: GroupChanges = {}
    if max_in_flight_per_consumer is not None:
        changes["max_in_flight_per_consumer"] = max_in_flight_per_consumer or None
    if max_in_flight_per_key is not None:
        changes["max_in_flight_per_key"] = max_in_flight_per_key or None
    if max_in_flight_per_header is not None:
        changes["max_in_flight_per_header"] = max_in_flight_per_header or None
    return changes if fair_by is None else _fair_by_changes(fair_by) | changes


def _fair_by_changes(fair_by: str) -> "GroupChanges":
    """A group goes by one of them, so the other is taken away, and what counts by it unless it is named, too: that the
    server refuses. Raises UsageError."""
    header = fair_by.removeprefix(_HEADER)
    if header and header != fair_by:
        return {"fair_by": "none", "fair_by_header": header, "max_in_flight_per_key": None}
    if fair_by not in FAIR_BY:
        hint = "It may be key, header.NAME or none."
        raise UsageError(f"{fair_by!r} is nothing to be fair by", field="--fair-by", hint=hint)
    return {"fair_by": fair_by, "fair_by_header": None, "max_in_flight_per_header": None}


def in_flight_text(settings: "GroupSettings") -> str:
    per_key, per_consumer = settings.max_in_flight_per_key, settings.max_in_flight_per_consumer
    text = f"{settings.max_in_flight:,} per partition at most"
    if per_key is not None:
        text += f", {per_key:,} of a key"
    if settings.max_in_flight_per_header is not None:
        text += f", {settings.max_in_flight_per_header:,} of a value of the header {settings.fair_by_header}"
    return text if per_consumer is None else f"{text}; {per_consumer:,} per consumer"


def fair_by_text(settings: "GroupSettings") -> str:
    return settings.fair_by if settings.fair_by_header is None else f"{_HEADER}{settings.fair_by_header}"
