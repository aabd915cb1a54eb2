"""`acklog backup`: copies of topics and of what groups have done, in a directory or an object store."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.backup.backup_run import BackupRun
from acklog.backup.backup_set import BackupSet
from acklog.backup.copy_tools import CopyTools
from acklog.backup.opened_store import opened_store
from acklog.backup.pace import BackupPace
from acklog.command.arguments import YesOption
from acklog.command.confirmation import confirm
from acklog.command.failures import CommandError
from acklog.command.quantities import count_text, parse_size_bytes, size_text
from acklog.command.session import Session, session_of
from acklog.command.times import clock_text
from acklog.command.tree import CommandTyper
from acklog.command.views import Column, Sentence, Table, View
from acklog.runtime import monotonic_ms

if TYPE_CHECKING:
    from acklog.backup.backup_set import BackupFinding
    from acklog.backup.manifest import Manifest, TopicGap

command = CommandTyper(
    name="backup", help="Back up topics and what groups have done; look at backups.", no_args_is_help=True
)

PlaceArgument = Annotated[
    str,
    typer.Argument(
        metavar="PLACE", help="A directory, or a URL such as s3://bucket/acklog (by fsspec).", show_default=False
    ),
]
PaceOption = Annotated[
    str | None,
    typer.Option("--max-bytes-per-second", metavar="SIZE", help="No faster than that, such as 20MB."),
]
RunOption = Annotated[
    str | None, typer.Option("--run", metavar="RUN", help="This run, as acklog backup list shows it [the last one].")
]


def pace_of(session: Session, text: str | None) -> BackupPace:
    """Raises UsageError."""
    rate = None if text is None else max(1, parse_size_bytes(text, field="--max-bytes-per-second"))
    return BackupPace(rate, now_ms=monotonic_ms, pause=session.pause)


@command.command("take")
def take(
    context: typer.Context,
    place: PlaceArgument,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", "-t", metavar="PATTERN", help="Only topics like this, such as 'orders*'; may repeat."),
    ] = None,
    max_bytes_per_second: PaceOption = None,
) -> None:
    """Back up what is new since the last run, while everything goes on.

    Each partition is cut at one moment: its messages, and what its groups had done of them. A run that was killed is
    made again, and reads nothing twice.
    """
    session = session_of(context)
    patterns = topics or ("*",)
    pace = pace_of(session, max_bytes_per_second)
    store = opened_store(place)
    BackupSet(store).begin()
    with session.client() as client, session.output.progress("reading, bytes") as bar:
        tools = CopyTools(client.copies, store, pace, advanced=lambda size: bar.advance(size))
        run = BackupRun(tools, server=client.url, now_ms=session.now_ms)
        manifest = run.take(patterns)
    session.output.show(manifest, *_taken(manifest))
    _tell_damaged(session, run.damaged)
    gaps = [gap for topic in manifest.topics for gap in topic.gaps({})]
    missing = tell_missing(session, manifest, gaps, patterns)
    if missing:
        raise CommandError(f"the backup was made, but {count_text(missing, 'piece')} could not be read")


@command.command("list")
def list_all(context: typer.Context, place: PlaceArgument) -> None:
    """List the runs in a place."""
    session = session_of(context)
    backups = known_backups(place)
    runs, damaged = backups.runs()
    columns = [
        Column("run"),
        Column("ended"),
        Column("topics", align="right"),
        Column("messages", align="right"),
        Column("size", align="right"),
    ]
    rows = [
        [
            run.run_id,
            clock_text(run.ended_ms),
            str(len(run.topics)),
            f"{sum(topic.messages for topic in run.topics):,}",
            size_text(sum(size or 0 for size in run.content_names().values())),
        ]
        for run in runs
    ]
    empty = "No run can be used." if damaged else "No run has ended here yet."
    session.output.show({"runs": runs, "damaged": damaged}, Table(columns, rows, empty=empty))
    _tell_damaged(session, damaged)
    if damaged:
        raise CommandError(f"{count_text(len(damaged), 'run')} cannot be used")


@command.command("verify")
def verify(context: typer.Context, place: PlaceArgument, run: RunOption = None) -> None:
    """Read whole backups, all runs or one, and say what is missing, damaged or in another's place."""
    session = session_of(context)
    findings, files = known_backups(place).verify(run)
    columns = [Column("file"), Column("problem"), Column("runs")]
    rows = [[each.name, each.problem, ", ".join(each.runs)] for each in findings]
    views: list[View] = [Table(columns, rows)] if rows else []
    if not findings:
        views.append(Sentence(f"{count_text(files, 'file')} read: all is as it was written.", "good"))
    session.output.show({"files": files, "findings": findings}, *views)
    if findings:
        raise CommandError(f"{count_text(len(findings), 'file')} of the backup cannot be used")


@command.command("prune")
def prune(
    context: typer.Context,
    place: PlaceArgument,
    keep: Annotated[int, typer.Option("--keep", metavar="COUNT", min=1, help="The last runs, which stay.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go; remove nothing.")] = False,
    yes: YesOption = False,
) -> None:
    """Remove all runs but the last ones, and the files that none of these needs. Let no backup run meanwhile."""
    session = session_of(context)
    backups = known_backups(place)
    plan = backups.prune(keep, dry_run=True)
    said = f"{count_text(len(plan.runs), 'run')} and {count_text(plan.files, 'file')} ({size_text(plan.size_bytes)})"
    if not dry_run:
        confirm(session, f"Remove {said}?", is_yes=yes)
        backups.prune(keep)
    done = "Would remove" if dry_run else "Removed"
    session.output.show(plan, Sentence(f"{done} {said}.", "" if dry_run else "good"))


def known_backups(place: str) -> BackupSet:
    """Raises BackupError where there are none."""
    backups = BackupSet(opened_store(place))
    backups.check()
    return backups


def _taken(manifest: "Manifest") -> list[View]:
    columns = [Column("topic"), Column("partitions", align="right"), Column("messages", align="right")]
    rows = [[topic.name, str(len(topic.partitions)), f"{topic.messages:,}"] for topic in manifest.topics]
    left_out = Sentence(f"Not in a backup: {', '.join(manifest.left_out)}.")
    return [
        Table(columns, rows, empty="There are no topics."),
        Sentence(f"Run {manifest.run_id} is complete.", "good"),
        left_out,
    ]


def _tell_damaged(session: Session, findings: "Sequence[BackupFinding]") -> None:
    for each in findings:
        session.output.note(f"The run {each.runs[0]} cannot be used: {each.problem}.")


def tell_missing(session: Session, manifest: "Manifest", gaps: "Sequence[TopicGap]", topics: Sequence[str]) -> int:
    """Nothing is silently missing: how many pieces are of what was there when the run began."""
    told = [
        f"Missing from {each.topic} {each.partition}: {each.gap.start} to {each.gap.end}, as {each.gap.reason}."
        for each in gaps
    ]
    for names, fate in [(manifest.gone, "was deleted meanwhile"), (manifest.restoring, "was being restored")]:
        chosen = [name for name in names if any(fnmatchcase(name, pattern) for pattern in topics)]
        told += [f"The topic {name} {fate}, and is not in the backup." for name in chosen]
    for text in told:
        session.output.note(text)
    return len(told)
