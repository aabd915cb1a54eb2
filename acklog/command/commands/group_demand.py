"""`acklog groups demand`: how much a group has to do, and how many consumers that takes."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.session import session_of
from acklog.command.times import duration_text
from acklog.command.topic_names import complete_groups, complete_topics
from acklog.command.views import Cell, Fields

if TYPE_CHECKING:
    from acklog.catalog import GroupDemand


def demand(
    context: typer.Context,
    group: Annotated[
        str, typer.Argument(metavar="GROUP", help="The group.", autocompletion=complete_groups, show_default=False)
    ],
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic", "-t", metavar="TOPIC", help="Only this topic; may repeat.", autocompletion=complete_topics
        ),
    ] = None,
    target_lag: Annotated[
        int | None, typer.Option("--target-lag", metavar="COUNT", min=1, help="Messages that each may have before it.")
    ] = None,
    target_seconds: Annotated[
        float | None, typer.Option("--target-seconds", metavar="SECONDS", help="How soon all of it is to be done.")
    ] = None,
) -> None:
    """Show how much a group has to do, and how many consumers that takes. For autoscalers: --json."""
    session = session_of(context)
    with session.client() as client:
        found = client.groups.demand(group, topics, target_lag=target_lag, target_seconds=target_seconds)
    session.output.show(found, _fields(found))


def _fields(found: "GroupDemand") -> Fields:
    rows: list[tuple[str, Cell | str]] = [
        ("group", Cell(found.group, "name")),
        ("lag", f"{found.lag:,}"),
        ("waiting", f"{found.waiting:,}"),
        ("in flight", f"{found.in_flight:,}"),
        ("delayed", f"{found.delayed:,}"),
        ("oldest", duration_text(round(found.oldest_age_seconds * 1000))),
        ("arrive", _rate(found.arrivals_per_second)),
        ("are settled", _rate(found.settled_per_second)),
        ("consumers", f"{found.consumers:,}"),
    ]
    if found.blocked:
        rows.append(("blocked", Cell(f"{found.blocked:,}", "warning")))
    if found.suggested_consumers is not None:
        rows.append(("suggested", f"{found.suggested_consumers:,}"))
    if found.unknown_partitions:
        rows.append(("unknown", Cell(f"{found.unknown_partitions:,} partitions cannot be asked", "bad")))
    return Fields(rows)


def _rate(per_second: float | None) -> str:
    return "not known yet: ask again in 10 s" if per_second is None else f"{per_second:,.1f} per second"
