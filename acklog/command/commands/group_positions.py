"""Where a group is: `acklog groups commit`, `copy` and `lag`. `acklog groups seek` is `acklog seek`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from acklog.command.arguments import YesOption
from acklog.command.confirmation import confirm
from acklog.command.failures import CommandError, UsageError
from acklog.command.lag_figures import lags_of
from acklog.command.lag_view import lag_table
from acklog.command.quantities import count_text
from acklog.command.session import Session, session_of
from acklog.command.topic_names import complete_groups, complete_topics
from acklog.command.views import Cell, Column, Sentence, Table, View
from acklog.wire.limits import PARTITIONS_MAX

if TYPE_CHECKING:
    from acklog.client.client import Client
    from acklog.positions import CopyResult

_Group = Annotated[
    str, typer.Argument(metavar="GROUP", help="The group.", autocompletion=complete_groups, show_default=False)
]
_Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", "-t", metavar="TOPIC", help="Only this topic; may repeat.", autocompletion=complete_topics),
]


def commit(
    context: typer.Context,
    group: _Group,
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="The topic.", autocompletion=complete_topics, show_default=False)
    ],
    offset: Annotated[
        int, typer.Option("--offset", metavar="NUMBER", min=0, help="Everything below is done.", show_default=False)
    ],
    partition: Annotated[
        int, typer.Option("--partition", "-p", metavar="NUMBER", min=0, max=PARTITIONS_MAX - 1, show_default=False)
    ],
    epoch: Annotated[
        int | None, typer.Option("--epoch", metavar="NUMBER", min=0, help="Leader epoch that it was read in.")
    ] = None,
    metadata: Annotated[str, typer.Option("--metadata", metavar="TEXT", help="The reader's own, kept with it.")] = "",
    expected: Annotated[
        int | None,
        typer.Option("--expected", metavar="NUMBER", min=0, help="Only if the group is there now; may go back."),
    ] = None,
) -> None:
    """Say that everything below an offset of a partition is done."""
    from acklog.positions import Position

    session = session_of(context)
    position = Position(topic, partition, offset, epoch, metadata, expected)
    with session.client() as client:
        result = client.groups.commit(group, [position])
    [item] = result.offsets
    done = f"{group} is at {item.progress:,} of {topic} {partition}; it was at {item.previous:,}."
    session.output.show(result, Sentence(done, "good"))


def copy(
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="Where it is.", autocompletion=complete_groups, show_default=False)
    ],
    group: Annotated[
        str,
        typer.Argument(metavar="GROUP", help="The group that goes there.", autocompletion=complete_groups),
    ],
    topics: _Topics = None,
    with_settings: Annotated[
        bool, typer.Option("--with-settings", help="Make the group first, with the other one's mode and settings.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would happen; change nothing.")] = False,
    yes: YesOption = False,
) -> None:
    """Let a group go on where another one is, in every partition that the other one has read from.

    Stop the consumers of both first: each partition is copied at its own moment.
    """
    session = session_of(context)
    if with_settings and dry_run:
        raise UsageError("a dry run makes no group", field="--with-settings", hint="Leave one of the two out.")
    with session.client() as client:
        if with_settings:
            where = count_text(len(client.groups.offsets(source, topics).offsets), "partition")
            question = f"Make {group} as {source} is, and let it go on where that is in {where}?"
            confirm(session, question, is_yes=yes)
            _make_alike(session, client, source, group)
        planned = client.groups.copy_position(group, source, topics=topics, dry_run=not with_settings)
        if not dry_run and not with_settings:
            question = f"Let {group} go on where {source} is in {count_text(len(planned.offsets), 'partition')}?"
            if not yes and session.output.is_terminal and not session.output.is_json:
                session.output.show_views(_copies(planned))
            confirm(session, question, is_yes=yes)
            planned = client.groups.copy_position(group, source, topics=topics)
    _show_copy(session, planned)


def _make_alike(session: Session, client: "Client", source: str, group: str) -> None:
    """A group that is there with the same settings is fine. Raises CommandError for one that has others."""
    from msgspec.structs import fields

    from acklog.errors import GroupExists

    found = client.groups.get(source)
    # What is at its default may be a setting of another mode, which is refused however it is set.
    changes: Any = {
        each.name: value
        for each in fields(found.settings)
        if (value := getattr(found.settings, each.name)) != each.default
    }
    try:
        client.groups.create(group, mode=found.mode, **changes)
    except GroupExists as error:
        hint = "Copy without --with-settings, or to another group."
        raise CommandError(f"{group} exists with other settings: {', '.join(error.differing)}", hint=hint) from error
    session.output.note(f"{group} is {found.mode}, and set as {source} is.")


def group_lag(
    context: typer.Context,
    group: _Group,
    topics: _Topics = None,
    with_partitions: Annotated[bool, typer.Option("--partitions", help="Partition by partition.")] = False,
) -> None:
    """Show what a group has not done yet, by topic; acklog lag shows every group's."""
    session = session_of(context)
    with session.client() as client:
        lags = lags_of(client.groups.offsets(group, topics or None))
    document = {
        "group": group,
        "lag": sum(each.lag for each in lags),
        "topics": [each.document(with_partitions=with_partitions) for each in lags],
    }
    empty = f"{group} has not read from any topic yet."
    session.output.show(document, lag_table(lags, with_partitions=with_partitions, empty=empty))


def _show_copy(session: Session, result: "CopyResult") -> None:
    moved = count_text(len(result.offsets) - result.failed, "partition")
    verdict = f"{'Would be' if result.dry_run else 'Done'}: {result.group} as {result.from_group} in {moved}."
    views: list[View] = [_copies(result), Sentence(verdict, "" if result.dry_run else "good")]
    if result.left_out:
        views.append(Sentence(f"Left out, as the token may not seek there: {', '.join(result.left_out)}.", "warning"))
    session.output.show(result, *views)
    if result.failed:
        raise CommandError(f"{count_text(result.failed, 'partition')} could not be moved")


def _copies(result: "CopyResult") -> Table:
    columns = [
        Column("topic", style="name"),
        *(Column(name, align="right") for name in ("partition", "from", "to", "done above")),
        Column("problem"),
    ]
    rows: list[list[Cell | str]] = [
        [
            each.topic,
            str(each.partition),
            "" if each.previous is None else f"{each.previous:,}",
            "" if each.offset is None else f"{each.offset:,}",
            "" if each.done_above is None else Cell(f"{each.done_above:,}", "warning" if each.done_above else "muted"),
            Cell("" if each.problem is None else f"{each.problem.code}: {each.problem.detail}", "bad"),
        ]
        for each in result.offsets
    ]
    return Table(columns, rows, empty=f"{result.from_group} has not read from any topic yet.")
