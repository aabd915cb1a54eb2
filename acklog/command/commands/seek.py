"""`acklog seek`: send a group back, or forward."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import YesOption
from acklog.command.confirmation import confirm
from acklog.command.failures import CommandError
from acklog.command.quantities import count_text
from acklog.command.seek_plan import SeekPlan, SeekTarget, parse_target, plan_of
from acklog.command.session import Session, session_of
from acklog.command.topic_names import complete_groups, complete_topics
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Column, Sentence, Table, View
from acklog.wire.limits import PARTITIONS_MAX

if TYPE_CHECKING:
    from acklog import Client
    from acklog.catalog import SeekResult

command = CommandTyper(name="seek")


@command.command("seek")
def seek(
    context: typer.Context,
    group: Annotated[
        str, typer.Argument(metavar="GROUP", help="The group.", autocompletion=complete_groups, show_default=False)
    ],
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="The topic.", autocompletion=complete_topics, show_default=False)
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="WHERE",
            help="earliest, latest, 2h (ago), 2026-11-21T12:00, an offset, -100 (messages back), or a message's id.",
            show_default=False,
        ),
    ],
    partition: Annotated[
        int | None,
        typer.Option("--partition", "-p", metavar="NUMBER", min=0, max=PARTITIONS_MAX - 1, help="Only this one."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would happen; change nothing.")] = False,
    yes: YesOption = False,
) -> None:
    """Let a group go on from another place: read messages again, or skip them.

    Receipts from before the seek are stale afterwards.
    """
    session = session_of(context)
    target = parse_target(to, has_partition=partition is not None, now_ms=session.now_ms())
    with session.client() as client:
        offsets = client.groups.offsets(group, topic)
        plan = plan_of(_seek(client, group, topic, target, partition, dry_run=True), offsets)
        if not dry_run:
            if not yes and session.output.is_terminal and not session.output.is_json:
                session.output.show_views(*_views(plan))
            confirm(session, _question(group, topic, target, plan), is_yes=yes)
            plan = plan_of(_seek(client, group, topic, target, partition, dry_run=False), offsets)
    _show(session, group, topic, plan, is_dry_run=dry_run)


def _seek(
    client: "Client", group: str, topic: str, target: SeekTarget, partition: int | None, *, dry_run: bool
) -> "SeekResult":
    return client.groups.seek(
        group,
        topic,
        to_offset=target.to_offset,
        to_time_ms=target.to_time_ms,
        to_earliest=target.to_earliest,
        to_latest=target.to_latest,
        to_relative=target.to_relative,
        to_message_id=target.to_message_id,
        partition=partition,
        dry_run=dry_run,
    )


def _question(group: str, topic: str, target: SeekTarget, plan: SeekPlan) -> str:
    return f"Let {group} go on in {topic} from {target.text()}: {_consequence(plan)}?"


def _consequence(plan: SeekPlan) -> str:
    parts = []
    if plan.again:
        parts.append(f"{count_text(plan.again, 'message')} {'comes' if plan.again == 1 else 'come'} again")
    if plan.skipped:
        parts.append(f"{count_text(plan.skipped, 'message')} {'is' if plan.skipped == 1 else 'are'} skipped")
    if plan.leased:
        parts.append(
            f"{count_text(plan.leased, 'receipt')} become stale" if plan.leased > 1 else "1 receipt becomes stale"
        )
    return ", ".join(parts) or "nothing changes"


def _show(session: Session, group: str, topic: str, plan: SeekPlan, *, is_dry_run: bool) -> None:
    document = {
        "group": group,
        "topic": topic,
        "dryRun": is_dry_run,
        "deliveredAgain": plan.again,
        "skipped": plan.skipped,
        "partitions": [move.document() for move in plan.moves],
        "failed": plan.failed,
    }
    verdict = f"{'Would be' if is_dry_run else 'Done'}: {_consequence(plan)}."
    session.output.show(document, *_views(plan), Sentence(verdict, "" if is_dry_run else "good"))
    if plan.failed:
        raise CommandError(f"{count_text(len(plan.failed), 'partition')} of {topic} could not be moved")


def _views(plan: SeekPlan) -> list[View]:
    columns = [Column(name, align="right") for name in ("partition", "from", "to", "again", "skipped", "leased")]
    rows: list[list[Cell | str]] = [
        [
            str(move.partition),
            f"{move.before:,}",
            f"{move.after:,}",
            Cell(f"{move.again:,}", "warning" if move.again else "muted"),
            Cell(f"{move.skipped:,}", "bad" if move.skipped else "muted"),
            Cell(f"{move.leased:,}", "warning" if move.leased else "muted"),
        ]
        for move in plan.moves
    ]
    problems = [(each.partition, each.problem) for each in plan.failed if each.problem is not None]
    return [
        Table(columns, rows),
        *(Sentence(f"partition {number}: {problem.code}: {problem.detail}", "bad") for number, problem in problems),
    ]
