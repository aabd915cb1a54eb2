"""`acklog dlq retry`: a redrive job that is watched, with a look at what it would send."""

from typing import Annotated

import typer

from acklog.command.arguments import DeadLetterTopicArgument
from acklog.command.commands.dlq_jobs import DestinationOption, show_job, watched
from acklog.command.dead_letters import (
    ensure_reader,
    reader_of,
    require_dead_letter_topic,
    unhandled_count,
    unhandled_letters,
)
from acklog.command.failures import CommandError
from acklog.command.letter_table import show_letters
from acklog.command.session import session_of
from acklog.command.undone import progress_of
from acklog.command.words import counted
from acklog.wire.limits import REDRIVE_IDS_MAX


def retry(
    context: typer.Context,
    topic: DeadLetterTopicArgument,
    letters_max: Annotated[
        int | None,
        typer.Option(
            "--max", "-n", metavar="COUNT", min=1, max=REDRIVE_IDS_MAX, help="Only so many, the oldest [all]."
        ),
    ] = None,
    destination: DestinationOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be sent; send nothing.")] = False,
) -> None:
    """Send letters back to the topics they came from, for every group of those.

    The server does it, each letter once, as for acklog dlq redrive: who stops watching stops nothing.
    """
    session = session_of(context)
    output = session.output
    with session.client() as client:
        require_dead_letter_topic(client, topic)
        if dry_run:
            letters = unhandled_letters(client, topic, letters_max or REDRIVE_IDS_MAX)
            empty = f"There is nothing to retry in {topic}."
            show_letters(session, letters, empty=empty, destination=destination or "")
            output.note(f"Nothing was sent: {len(letters)} would be." if letters else "")
            return
        ensure_reader(client, topic)
        waiting = unhandled_count(
            client.topics.get(topic).partition_states, progress_of(client, reader_of(topic), topic)
        )
        if not waiting:
            output.note(f"There is nothing to retry in {topic}.")
            return
        chosen = None
        if letters_max is not None and letters_max < waiting:
            chosen = [each.message_id for each in unhandled_letters(client, topic, letters_max)]
        job = client.redrives.start(reader_of(topic), topic=topic, to=destination, message_ids=chosen)
        job = watched(session, client, job, title=f"Retrying {topic}")
    show_job(session, job)
    output.note(f"Sent {counted(job.moved, 'letter')} of {topic} back.")
    if job.failed:
        raise CommandError(f"{job.failed:,} of {counted(job.moved + job.failed, 'letter')} stayed in {topic}")
