"""`acklog restore`: topics as they were in a backup, at the offsets that their messages had."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.backup.copy_tools import CopyTools
from acklog.backup.opened_store import opened_store
from acklog.backup.restore_plan import WHOLE_MS, TopicPlan, restore_plan
from acklog.backup.restore_run import RestoreRun
from acklog.command.arguments import YesOption
from acklog.command.commands.backup import PaceOption, PlaceArgument, RunOption, known_backups, pace_of, tell_missing
from acklog.command.confirmation import confirm
from acklog.command.failures import CommandError, UsageError
from acklog.command.quantities import count_text
from acklog.command.restore_giving_up import GivingUp
from acklog.command.session import session_of
from acklog.command.times import clock_text, parse_moment
from acklog.command.tree import CommandTyper
from acklog.command.views import Column, Sentence, Table, View

if TYPE_CHECKING:
    from acklog.backup.restore_run import RestoreOutcome

command = CommandTyper(name="restore", help="Restore topics and what groups had done from a backup.")


@command.command("restore")
def restore(
    context: typer.Context,
    place: PlaceArgument,
    run: RunOption = None,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", "-t", metavar="PATTERN", help="Only topics like this; may repeat."),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option("--as", metavar="TOPIC=NAME", help="Under another name; may repeat."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="WHEN", help="Only what was appended before: 2h (ago), 2026-11-21T12:00 [everything]."
        ),
    ] = None,
    max_bytes_per_second: PaceOption = None,
    give_up: Annotated[
        bool, typer.Option("--give-up", help="Throw away what such a restore has begun and not finished.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Restore topics into an empty or a running server or cluster, at the offsets that their messages had.

    Nobody sends to them or reads them before all are complete. A restore that was killed is made again, and goes on.
    """
    session = session_of(context)
    patterns, called = topics or ("*",), _names(names or [])
    if give_up:
        with session.client() as client:
            GivingUp(session, client.copies, patterns, called).give_up(run, lambda: known_backups(place).run(run))
        return
    store = opened_store(place)
    manifest = known_backups(place).run(run)
    until_ms = WHOLE_MS if until is None else parse_moment(until, now_ms=session.now_ms(), field="--until")
    plans = restore_plan(manifest, topics=patterns, names=called, until_ms=until_ms)
    pace = pace_of(session, max_bytes_per_second)
    total = sum(chunk.size_bytes for plan in plans for copy in plan.copy.partitions for chunk in copy.chunks)
    with session.client() as client:
        confirm(session, _question(plans, until_ms), is_yes=yes)
        with session.output.progress("restoring, bytes", total=total) as bar:
            tools = CopyTools(client.copies, store, pace, advanced=lambda size: bar.advance(size))
            restored = RestoreRun(tools, now_ms=session.now_ms).restore(manifest, plans)
    session.output.show(restored, *_views(restored))
    missing = tell_missing(session, manifest, restored.gaps, patterns)
    if missing:
        raise CommandError(f"the topics were restored, but the backup does not have {count_text(missing, 'piece')}")


def _names(texts: list[str]) -> dict[str, str]:
    """Raises UsageError."""
    names: dict[str, str] = {}
    for text in texts:
        source, equals, name = text.partition("=")
        if not (source and equals and name) or source in names:
            raise UsageError(f"{text!r} gives no topic another name", field="--as", hint="Write it as orders=orders-2.")
        names[source] = name
    return names


def _question(plans: list[TopicPlan], until_ms: int) -> str:
    called = [plan.name if plan.name == plan.copy.name else f"{plan.copy.name} as {plan.name}" for plan in plans]
    when = "" if until_ms == WHOLE_MS else f" as of {clock_text(until_ms)}"
    return f"Restore {', '.join(called) or 'nothing'}{when}?"


def _views(restored: "RestoreOutcome") -> list[View]:
    columns = [Column("topic"), Column("from"), Column("messages", align="right"), Column("id")]
    rows = [
        [each.topic, each.source, "was there" if each.messages is None else f"{each.messages:,}", each.topic_id]
        for each in restored.topics
    ]
    views: list[View] = [Table(columns, rows, empty="There was nothing to restore.")]
    if restored.kept_groups:
        views.append(Sentence(f"Groups with settings of their own, which stay: {', '.join(restored.kept_groups)}."))
    views += [
        Sentence("Offsets are what they were. Message ids and receipts are new: a topic has an id of its own."),
        Sentence(f"Not in a backup: {', '.join(restored.left_out)}."),
        Sentence(f"Restored {count_text(len(restored.topics), 'topic')} of the run {restored.run_id}.", "good"),
    ]
    return views
