"""`acklog topics compact` and `acklog topics key`: topics that keep the last message of each key."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import TopicArgument
from acklog.command.failures import CommandError, UsageError
from acklog.command.message_view import body_line, stored_document, stored_rows
from acklog.command.quantities import count_text, parse_numbers, size_text
from acklog.command.session import Session, session_of
from acklog.command.views import Cell, Column, Fields, Table

if TYPE_CHECKING:
    from acklog.tables import CompactionState, ReplicaCompaction

LOOK_INTERVAL_S = 1.0


def compact(
    context: typer.Context,
    topic: TopicArgument,
    partitions: Annotated[
        str | None, typer.Option("--partitions", metavar="NUMBERS", help="Only these, such as 0,3.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Until it is done.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show how it goes; ask for nothing.")] = False,
) -> None:
    """Have a topic compacted soon, on every node that holds a part of it."""
    session = session_of(context)
    numbers = None if partitions is None else parse_numbers(partitions, field="--partitions")
    if dry_run and numbers is not None:
        raise UsageError("it shows all partitions", field="--partitions", hint="Leave it out.")
    with session.client() as client:
        found = client.tables.compaction(topic) if dry_run else client.tables.compact(topic, numbers)
        failed = found.failed
        while wait and not found.is_over:
            session.pause(LOOK_INTERVAL_S)
            found = client.tables.compaction(topic)
    _show(session, found)
    if failed or found.failed:
        raise CommandError(f"{count_text(max(failed, found.failed), 'replica')} of {topic} could not be asked")


def key(
    context: typer.Context,
    topic: TopicArgument,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key.", show_default=False)],
) -> None:
    """Show the latest value of a key, in a topic that is compacted."""
    session = session_of(context)
    with session.client() as client:
        found = client.tables.get(topic, key)
    rows = [*stored_rows(found, session.now_ms()), ("body", Cell(body_line(found), "strong"))]
    session.output.show(stored_document(found), Fields(rows, title=found.message_id))


def _show(session: Session, found: "CompactionState") -> None:
    columns = [
        Column("partition", align="right"),
        Column("node", align="right"),
        Column("state"),
        Column("compacted", align="right"),
        Column("to be looked at", align="right"),
    ]
    rows = [
        [str(partition.partition), str(replica.node), *_cells(replica)]
        for partition in found.partitions
        for replica in partition.replicas
    ]
    session.output.show(found, Table(columns, rows, empty="Nobody holds a part of it yet."))


def _cells(replica: "ReplicaCompaction") -> list[Cell | str]:
    if replica.problem is not None:
        return [Cell(replica.problem.detail, "bad"), "", ""]
    return [replica.state or "", size_text(replica.clean_bytes), size_text(replica.dirty_bytes)]
