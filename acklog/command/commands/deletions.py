"""`acklog topics purge` and `acklog topics delete-before`: messages that go before retention takes them."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import TopicArgument, YesOption
from acklog.command.confirmation import confirm
from acklog.command.failures import CommandError, UsageError
from acklog.command.quantities import count_text, parse_numbers
from acklog.command.session import Session, session_of
from acklog.command.times import clock_text, parse_moment
from acklog.command.views import Column, Sentence, Table, View
from acklog.wire.limits import PARTITIONS_MAX

if TYPE_CHECKING:
    from acklog.deletions import DeletionResult

OFFSET_DIGITS_MAX = 11  # longer numbers are milliseconds since 1970, as with acklog seek

DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would go; delete nothing.")]


def purge(
    context: typer.Context,
    topic: TopicArgument,
    partitions: Annotated[
        str | None, typer.Option("--partitions", metavar="NUMBERS", help="Only these, such as 0,3.")
    ] = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Delete all messages that a topic holds now, for all groups. This cannot be undone; the topic stays."""
    session = session_of(context)
    numbers = None if partitions is None else parse_numbers(partitions, field="--partitions")
    with session.client() as client:
        found = client.topics.purge(topic, numbers, dry_run=True)
        if not dry_run and found.deleted:
            _ask(session, found, "", is_yes=yes)
            found = client.topics.purge(topic, numbers)
    _show(session, found)


def delete_before(
    context: typer.Context,
    topic: TopicArgument,
    place: Annotated[
        str,
        typer.Argument(
            metavar="WHERE",
            help="An offset of the partition, or when messages were sent: 2h (ago), 2026-11-21T12:00.",
            show_default=False,
        ),
    ],
    partition: Annotated[
        int | None,
        typer.Option("--partition", "-p", metavar="NUMBER", min=0, max=PARTITIONS_MAX - 1, help="The offset's."),
    ] = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Delete a topic's oldest messages, for all groups. This cannot be undone."""
    session = session_of(context)
    offsets, time_ms = _place(place, partition, now_ms=session.now_ms())
    with session.client() as client:
        found = client.topics.delete_before(topic, offsets=offsets, time_ms=time_ms, dry_run=True)
        if not dry_run and found.deleted:
            where = f" before {place if time_ms is None else clock_text(time_ms)}"
            _ask(session, found, where, is_yes=yes)
            found = client.topics.delete_before(topic, offsets=offsets, time_ms=time_ms)
    _show(session, found)


def _place(text: str, partition: int | None, *, now_ms: int) -> tuple[dict[int, int] | None, int | None]:
    """Offsets by partition, or a time. Raises UsageError."""
    if text.isascii() and text.isdigit() and len(text) <= OFFSET_DIGITS_MAX:
        if partition is None:
            hint = "Name the partition: --partition NUMBER. For all of them: a time."
            raise UsageError("an offset is one partition's", field="WHERE", hint=hint)
        return {partition: int(text)}, None
    if partition is not None:
        raise UsageError("a time is for all partitions", field="--partition", hint="Leave it out, or give an offset.")
    return None, parse_moment(text, now_ms=now_ms, field="WHERE")


def _ask(session: Session, planned: "DeletionResult", where: str, *, is_yes: bool) -> None:
    if not is_yes and session.output.is_terminal and not session.output.is_json:
        session.output.show_views(*_views(planned))
    question = f"Delete {count_text(planned.deleted, 'message')} of {planned.topic}{where}: {_consequence(planned)}?"
    confirm(session, question, is_yes=is_yes)


def _consequence(result: "DeletionResult") -> str:
    lost: Counter[str] = Counter()
    for each in result.partitions:
        lost.update({undone.group: undone.lost for undone in each.groups})
    if not lost:
        return "every group has done them"
    return ", ".join(f"{group} has not done {count:,} of them" for group, count in sorted(lost.items()))


def _views(result: "DeletionResult") -> list[View]:
    columns = [
        Column("partition", align="right"),
        Column("from", align="right"),
        Column("to", align="right"),
        Column("messages", align="right"),
        Column("not done by"),
    ]
    rows = [
        [
            str(each.partition),
            f"{each.previous or 0:,}",
            f"{each.log_start or 0:,}",
            f"{each.deleted:,}",
            ", ".join(f"{undone.group} ({undone.lost:,})" for undone in each.groups),
        ]
        for each in result.partitions
        if each.problem is None and each.deleted
    ]
    return [Table(columns, rows, empty="There is nothing to delete.")]


def _show(session: Session, result: "DeletionResult") -> None:
    views = _views(result)
    if result.deleted:
        done = "Would delete" if result.dry_run else "Deleted"
        verdict = f"{done} {count_text(result.deleted, 'message')} of {result.topic}: {_consequence(result)}."
        views.append(Sentence(verdict, "" if result.dry_run else "good"))
    session.output.show(result, *views)
    if result.failed:
        raise CommandError(f"{count_text(result.failed, 'partition')} of {result.topic} could not be asked")
