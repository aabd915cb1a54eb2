"""`acklog dlq redrive`, `jobs` and `cancel`: letters that the server sends back by itself."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import DeadLetterTopicArgument
from acklog.command.dead_letters import ensure_reader, reader_of, require_dead_letter_topic
from acklog.command.failures import CommandError
from acklog.command.session import Session, session_of
from acklog.command.times import ago_text
from acklog.command.topic_names import complete_topics
from acklog.command.views import Cell, Column, Fields, Table
from acklog.command.words import counted
from acklog.wire.limits import REDRIVE_RATE_MAX
from acklog.wire.names import local_name

if TYPE_CHECKING:
    from acklog import Client
    from acklog.redrives import RedriveJob

LOOK_S = 0.2
"""How often it is asked how far a job is."""

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="As acklog dlq redrive and jobs print it.")]
DestinationOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="TOPIC",
        help="Send them there [where they came from].",
        autocompletion=complete_topics,
        show_default=False,
    ),
]
_READER_HELP = "Whose progress says which letters are handled [acklog-dlq; in a namespace NAMESPACE/acklog-dlq]."
ReaderOption = Annotated[str | None, typer.Option("--group", "-g", metavar="GROUP", help=_READER_HELP)]


def redrive(
    context: typer.Context,
    topic: DeadLetterTopicArgument,
    destination: DestinationOption = None,
    message_filter: Annotated[
        str | None,
        typer.Option("--filter", metavar="TEXT", help="Only letters that match, such as 'tag = \"red\"'."),
    ] = None,
    letters: Annotated[
        list[str] | None, typer.Option("--letter", metavar="MESSAGE-ID", help="Only this one; may repeat.")
    ] = None,
    rate: Annotated[
        int | None,
        typer.Option("--rate", metavar="COUNT", min=1, max=REDRIVE_RATE_MAX, help="Letters a second at most."),
    ] = None,
    group: ReaderOption = None,
    waits: Annotated[bool, typer.Option("--wait/--no-wait", help="Watch it until it is done.")] = True,
) -> None:
    """Have the server send letters back, each once, whoever stops meanwhile. To stop watching stops nothing."""
    session = session_of(context)
    with session.client() as client:
        require_dead_letter_topic(client, topic)
        if group is None:
            ensure_reader(client, topic)
        job = client.redrives.start(
            group or reader_of(topic),
            topic=topic,
            to=destination,
            filter=message_filter,
            message_ids=letters,
            rate_per_second=rate,
        )
        if waits:
            job = watched(session, client, job, title=f"Sending back {topic}")
        else:
            session.output.note(f"It goes on by itself: acklog dlq jobs; acklog dlq cancel {job.job_id}")
    show_job(session, job)
    if job.failed:
        raise CommandError(f"{counted(job.failed, 'letter')} stayed in {topic}")


def jobs(context: typer.Context, group: ReaderOption = None) -> None:
    """List jobs that send letters back, the newest first."""
    session = session_of(context)
    with session.client() as client:
        found = _jobs_of(client, group or reader_of())
    now_ms = session.now_ms()
    rows: list[list[Cell | str]] = [
        [
            Cell(each.job_id, "name"),
            each.topic or "",
            each.to or "",
            each.state,
            f"{each.moved:,}",
            Cell(f"{each.failed:,}", "bad" if each.failed else ""),
            f"{each.total:,}",
            ago_text(each.created_at_ms, now_ms),
        ]
        for each in found
    ]
    columns = [
        Column("job", may_wrap=False),
        Column("letters"),
        Column("to"),
        Column("state"),
        Column("moved", align="right"),
        Column("failed", align="right"),
        Column("of", align="right"),
        Column("made", may_wrap=False),
    ]
    session.output.show({"jobs": found}, Table(columns, rows, empty=f"{group or reader_of()} has no jobs."))


def _jobs_of(client: "Client", group: str) -> "list[RedriveJob]":
    """None of the command's own group, which the first redrive makes: nobody can have misspelt it."""
    from acklog.errors import GroupNotFound

    try:
        return client.redrives.list(group)
    except GroupNotFound:
        if local_name(group) != reader_of():
            raise
        return []


def cancel(context: typer.Context, job_id: JobArgument, group: ReaderOption = None) -> None:
    """Have such a job begin nothing more."""
    session = session_of(context)
    with session.client() as client:
        show_job(session, client.redrives.cancel(group or reader_of(), job_id))


def watched(session: Session, client: "Client", job: "RedriveJob", *, title: str) -> "RedriveJob":
    """The job once it is over."""
    with session.output.progress(title, total=job.total) as progress:
        progress.advance(job.moved + job.failed)
        while not job.is_finished:
            session.pause(LOOK_S)
            before, job = job, client.redrives.get(job.group, job.job_id)
            progress.advance(job.moved + job.failed - before.moved - before.failed)
    return job


def show_job(session: Session, job: "RedriveJob") -> None:
    """What became of it, or how far it is."""
    rows: list[tuple[str, Cell | str]] = [
        ("job", Cell(job.job_id, "name")),
        ("state", job.state),
        ("moved", Cell(counted(job.moved, "letter"), "good" if job.moved else "")),
    ]
    if job.to is not None:
        rows.append(("to", Cell(job.to, "name")))
    if job.failed:
        rows.append(("stayed", Cell(counted(job.failed, "letter"), "bad")))
    session.output.show(job, Fields(rows))
