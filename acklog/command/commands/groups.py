"""`acklog groups`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import YesOption
from acklog.command.commands.group_positions import commit, copy, group_lag
from acklog.command.commands.seek import seek
from acklog.command.confirmation import confirm
from acklog.command.failures import CommandError, UsageError
from acklog.command.group_pauses import pause, paused_text, resume
from acklog.command.group_sharing import FairByOption, PerConsumerOption, PerKeyOption, in_flight_text, sharing_changes
from acklog.command.lag_figures import TopicLag, lags_of
from acklog.command.lag_view import lag_table
from acklog.command.quantities import count_text, limit_text, parse_duration_ms
from acklog.command.session import session_of
from acklog.command.times import ago_text, duration_text
from acklog.command.topic_names import complete_groups
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Column, Fields, Table
from acklog.wire.limits import IN_FLIGHT_MAX, MAX_ATTEMPTS_MAX

if TYPE_CHECKING:
    from acklog.catalog import Group, GroupChanges
    from acklog.client.client import Client

START_POSITIONS = ("earliest", "latest")

command = CommandTyper(name="groups", help="List, create, change and delete groups.", no_args_is_help=True)

GroupArgument = Annotated[
    str, typer.Argument(metavar="GROUP", help="The group.", autocompletion=complete_groups, show_default=False)
]
NewGroup = Annotated[str, typer.Argument(metavar="GROUP", help="The group.", show_default=False)]
StartOption = Annotated[
    str | None,
    typer.Option("--start", metavar="WHERE", help="Where it begins in a topic: earliest or latest."),
]
VisibilityOption = Annotated[
    str | None, typer.Option("--visibility", metavar="DURATION", help="How long a message is leased: 30s, 5m.")
]
AttemptsOption = Annotated[
    int | None,
    typer.Option(
        "--max-attempts", metavar="COUNT", min=1, max=MAX_ATTEMPTS_MAX, help="Attempts before a message is dead."
    ),
]
BackoffMinOption = Annotated[
    str | None, typer.Option("--backoff-min", metavar="DURATION", help="Delay after the first failure.")
]
BackoffMaxOption = Annotated[
    str | None, typer.Option("--backoff-max", metavar="DURATION", help="The longest delay after a failure.")
]
DeadLettersOption = Annotated[
    str | None,
    typer.Option("--dead-letters", metavar="TOPIC", help="Where dead letters go; '': the default [TOPIC.GROUP.dlq]."),
]
InFlightOption = Annotated[
    int | None,
    typer.Option(
        "--max-in-flight", metavar="COUNT", min=1, max=IN_FLIGHT_MAX, help="Messages leased at a time per partition."
    ),
]


command.command("seek")(seek)
command.command("commit")(commit)
command.command("copy")(copy)
command.command("lag")(group_lag)


@command.command("list")
def list_all(context: typer.Context) -> None:
    """List the groups. How far they are: acklog lag."""
    session = session_of(context)
    with session.client() as client:
        groups = client.groups.list()
    now_ms = session.now_ms()
    columns = [
        Column("group", style="name"),
        Column("begins at"),
        Column("lease", align="right"),
        Column("attempts", align="right"),
        Column("created", may_wrap=False),
    ]
    rows = [
        [
            group.name,
            group.settings.start_position,
            duration_text(group.settings.visibility_ms),
            f"{group.settings.max_attempts:,}",
            ago_text(group.created_at_ms, now_ms),
        ]
        for group in groups
    ]
    empty = "There are no groups. The first receive makes one: acklog receive TOPIC --group GROUP"
    session.output.show({"groups": groups}, Table(columns, rows, empty=empty))


@command.command("describe")
@command.command("show")
def show(context: typer.Context, group: GroupArgument) -> None:
    """Show a group's settings, and how far it is in each topic."""
    session = session_of(context)
    with session.client() as client:
        found = client.groups.get(group)
        lags = lags_of(client.groups.offsets(group))
    document = {"group": found, "topics": [lag.document(with_partitions=False) for lag in lags]}
    session.output.show(document, _fields(found, session.now_ms()), _progress(lags, group))


@command.command("create")
def create(
    context: typer.Context,
    group: NewGroup,
    start: StartOption = None,
    visibility: VisibilityOption = None,
    max_attempts: AttemptsOption = None,
    backoff_min: BackoffMinOption = None,
    backoff_max: BackoffMaxOption = None,
    dead_letters: DeadLettersOption = None,
    max_in_flight: InFlightOption = None,
    max_in_flight_per_consumer: PerConsumerOption = None,
    max_in_flight_per_key: PerKeyOption = None,
    fair_by: FairByOption = None,
) -> None:
    """Create a group. One that is there already with these settings is fine."""
    from acklog.errors import GroupExists

    session = session_of(context)
    changes = _changes(start, visibility, max_attempts, backoff_min, backoff_max, dead_letters, max_in_flight)
    changes |= sharing_changes(max_in_flight_per_consumer, max_in_flight_per_key, fair_by)
    with session.client() as client:
        is_there = _is_there(client, group)
        try:
            found = client.groups.create(group, **changes)
        except GroupExists as error:
            hint = f"Change it: acklog groups update {group} ..."
            raise CommandError(
                f"{group} exists with other settings: {', '.join(error.differing)}", hint=hint
            ) from error
        session.output.note(f"{group} is there already." if is_there else f"Created {group}.")
    session.output.show(found, _fields(found, session.now_ms()))


@command.command("update")
def update(
    context: typer.Context,
    group: GroupArgument,
    start: StartOption = None,
    visibility: VisibilityOption = None,
    max_attempts: AttemptsOption = None,
    backoff_min: BackoffMinOption = None,
    backoff_max: BackoffMaxOption = None,
    dead_letters: DeadLettersOption = None,
    max_in_flight: InFlightOption = None,
    max_in_flight_per_consumer: PerConsumerOption = None,
    max_in_flight_per_key: PerKeyOption = None,
    fair_by: FairByOption = None,
) -> None:
    """Change settings of a group. What is not named stays."""
    session = session_of(context)
    changes = _changes(start, visibility, max_attempts, backoff_min, backoff_max, dead_letters, max_in_flight)
    changes |= sharing_changes(max_in_flight_per_consumer, max_in_flight_per_key, fair_by)
    if not changes:
        raise UsageError("nothing is to be changed", hint="Name a setting, such as --visibility 5m.")
    with session.client() as client:
        found = client.groups.update(group, **changes)
    session.output.show(found, _fields(found, session.now_ms()))


command.command("pause")(pause)
command.command("resume")(resume)


@command.command("delete")
def delete(context: typer.Context, group: GroupArgument, yes: YesOption = False) -> None:
    """Delete a group and its progress. A new one of that name begins anew."""
    session = session_of(context)
    with session.client() as client:
        client.groups.get(group)
        lags = lags_of(client.groups.offsets(group))
        topics = f"in {', '.join(lag.topic for lag in lags)}" if lags else "in no topic"
        confirm(session, f"Delete {group} with its progress {topics}?", is_yes=yes)
        client.groups.delete(group)
    session.output.note(f"Deleted {group} with its progress {topics}.")
    session.output.show({"deleted": group, "topics": [lag.topic for lag in lags]})


def _changes(
    start: str | None,
    visibility: str | None,
    max_attempts: int | None,
    backoff_min: str | None,
    backoff_max: str | None,
    dead_letters: str | None,
    max_in_flight: int | None,
) -> "GroupChanges":
    """What the options name. Raises UsageError."""
    changes: GroupChanges = {}
    if start is not None:
        if start not in START_POSITIONS:
            hint = f"It may be {' or '.join(START_POSITIONS)}."
            raise UsageError(f"{start!r} is no place to begin at", field="--start", hint=hint)
        changes["start_position"] = start
    if visibility is not None:
        changes["visibility_ms"] = parse_duration_ms(visibility, field="--visibility")
    if max_attempts is not None:
        changes["max_attempts"] = max_attempts
    if backoff_min is not None:
        changes["retry_backoff_min_ms"] = parse_duration_ms(backoff_min, field="--backoff-min")
    if backoff_max is not None:
        changes["retry_backoff_max_ms"] = parse_duration_ms(backoff_max, field="--backoff-max")
    if dead_letters is not None:
        changes["dead_letter_topic"] = dead_letters or None
    if max_in_flight is not None:
        changes["max_in_flight"] = max_in_flight
    return changes


def _is_there(client: "Client", group: str) -> bool:
    from acklog.errors import GroupNotFound

    try:
        client.groups.get(group)
    except GroupNotFound:
        return False
    return True


def _fields(group: "Group", now_ms: int) -> Fields:
    settings = group.settings
    backoff = f"{limit_text(settings.retry_backoff_min_ms)} to {limit_text(settings.retry_backoff_max_ms)}"
    return Fields(
        [
            ("group", Cell(group.name, "name")),
            ("mode", group.mode),
            ("begins at", settings.start_position),
            ("lease", duration_text(settings.visibility_ms)),
            ("attempts", count_text(settings.max_attempts)),
            ("back-off", backoff),
            ("dead letters", _dead_letters(group)),
            ("in flight", in_flight_text(settings)),
            ("fair by", settings.fair_by),
            ("paused", paused_text(group, now_ms)),
            ("created", ago_text(group.created_at_ms, now_ms)),
        ]
    )


def _dead_letters(group: "Group") -> str:
    default = f"TOPIC.{group.name}.dlq"
    chosen, sources = group.settings.dead_letter_topic, group.dead_letter_sources
    if chosen is None or sources is None:
        return chosen or default
    return f"{chosen}, of topics {', '.join(sources)}; else {default}"


def _progress(lags: Sequence[TopicLag], group: str) -> Table:
    return lag_table(lags, with_partitions=False, empty=f"{group} has not read from any topic yet.")
