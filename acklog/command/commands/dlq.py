"""`acklog dlq`: dead letters."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import DeadLetterTopicArgument, YesOption
from acklog.command.commands.dlq_jobs import cancel, jobs, redrive
from acklog.command.confirmation import confirm
from acklog.command.dead_letters import (
    GROUP,
    DeadLetterTopic,
    Origin,
    Retried,
    dead_letter_topics,
    purge,
    require_dead_letter_topic,
    retry,
    unhandled_count,
)
from acklog.command.exit_codes import ExitCode
from acklog.command.failures import CommandError, ShownFailure, explain
from acklog.command.log_ends import last_messages
from acklog.command.message_view import body_cell
from acklog.command.session import Session, session_of
from acklog.command.times import ago_text
from acklog.command.topic_names import complete_topics
from acklog.command.tree import CommandTyper
from acklog.command.undone import progress_of, undone_messages
from acklog.command.views import Cell, Column, Fields, Table
from acklog.command.words import counted

if TYPE_CHECKING:
    from acklog import Client
    from acklog.messages import StoredMessage

command = CommandTyper(name="dlq", help="Dead letters: messages that a group could not handle.", no_args_is_help=True)

LETTERS_SHOWN_MAX = 1000
RETRY_MAX = 1_000_000

MaxOption = Annotated[
    int, typer.Option("--max", "-n", metavar="COUNT", min=1, max=LETTERS_SHOWN_MAX, help="Letters at most.")
]


@command.command("list")
def list_all(context: typer.Context) -> None:
    """List dead-letter topics, with what is unhandled and why the newest letter is there."""
    session = session_of(context)
    with session.client() as client:
        found = dead_letter_topics(client)
    now_ms = session.now_ms()
    rows = [_topic_row(each, now_ms) for each in found]
    columns = [
        Column("topic", style="name"),
        Column("unhandled", align="right"),
        Column("letters", align="right"),
        Column("newest", may_wrap=False),
        Column("reason"),
    ]
    session.output.show(
        {"topics": [_topic_document(each) for each in found]},
        Table(columns, rows, empty="There are no dead-letter topics: no message has used up its attempts."),
    )


@command.command("show")
def show(
    context: typer.Context,
    topic: DeadLetterTopicArgument,
    count: MaxOption = 20,
    all_letters: Annotated[bool, typer.Option("--all", help="The last ones, handled or not.")] = False,
) -> None:
    """Show unhandled letters, the oldest first."""
    session = session_of(context)
    with session.client() as client:
        require_dead_letter_topic(client, topic)
        letters = _last(client, topic, count) if all_letters else _unhandled(client, topic, count)
    _show_letters(session, letters, empty=f"There are no unhandled letters in {topic}.")


@command.command("retry")
def retry_letters(
    context: typer.Context,
    topic: DeadLetterTopicArgument,
    letters_max: Annotated[
        int,
        typer.Option("--max", "-n", metavar="COUNT", min=1, max=RETRY_MAX, help="Letters at most.", show_default=False),
    ] = RETRY_MAX,
    destination: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="TOPIC",
            help="Send them there [where they came from].",
            autocompletion=complete_topics,
            show_default=False,
        ),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be sent; send nothing.")] = False,
) -> None:
    """Send letters back to the topics they came from, for every group of those.

    Each is acknowledged once it is stored there, never before. The dedup id is made of the letter's id, so that a retry
    that was interrupted does not store anything twice within the topic's deduplication window.
    """
    session = session_of(context)
    with session.client() as client:
        require_dead_letter_topic(client, topic)
        if dry_run:
            letters = _unhandled(client, topic, min(letters_max, LETTERS_SHOWN_MAX))
            _show_letters(session, letters, empty=f"There is nothing to retry in {topic}.", destination=destination)
            session.output.note(f"Nothing was sent: {len(letters)} would be." if letters else "")
            return
        _retry(session, client, topic, letters_max=letters_max, destination=destination)


command.command("redrive")(redrive)
command.command("jobs")(jobs)
command.command("cancel")(cancel)


@command.command("purge")
def purge_letters(context: typer.Context, topic: DeadLetterTopicArgument, yes: YesOption = False) -> None:
    """Let all unhandled letters be handled without sending them anywhere.

    They stay in the log until retention removes them; acklog topics delete removes them at once.
    """
    session = session_of(context)
    with session.client() as client:
        require_dead_letter_topic(client, topic)
        states = client.topics.get(topic).partition_states
        count = unhandled_count(states, progress_of(client, GROUP, topic))
        if count:
            confirm(session, f"Give up {counted(count, 'letter')} of {topic}?", is_yes=yes)
            purge(client, topic, states)
    session.output.note(f"Purged {counted(count, 'letter')} of {topic}.")
    session.output.show({"topic": topic, "purged": count})


def _unhandled(client: "Client", topic: str, count: int) -> "list[StoredMessage]":
    undone = undone_messages(
        client,
        topic,
        client.topics.get(topic).partition_states,
        group=GROUP,
        progress=progress_of(client, GROUP, topic),
        is_from_latest=False,
        messages_max=count,
    )
    return [each.message for each in undone]


def _last(client: "Client", topic: str, count: int) -> "list[StoredMessage]":
    return last_messages(client, topic, client.topics.get(topic).partition_states, messages_max=count)


def _retry(session: Session, client: "Client", topic: str, *, letters_max: int, destination: str) -> None:
    output = session.output
    states = client.topics.get(topic).partition_states
    total = min(letters_max, unhandled_count(states, progress_of(client, GROUP, topic)))
    sent = failed = 0
    topics: set[str] = set()
    with output.progress(f"Retrying {topic}", total=total) as progress:
        for retried in retry(client, topic, letters_max=letters_max, destination=destination):
            progress.advance()
            sent += retried.sent is not None
            topics.add(retried.topic)
            failed += retried.error is not None
            _report(session, retried)
    output.flush()
    if not sent and not failed:
        output.note(f"There is nothing to retry in {topic}.")
    elif output.is_terminal and not output.is_json:
        rows = [("sent back", Cell(counted(sent, "letter"), "good")), ("to", Cell(", ".join(sorted(topics)), "name"))]
        output.show_views(Fields(rows))
    else:
        output.note(f"Sent {counted(sent, 'letter')} of {topic} back.")
    if failed:
        raise CommandError(f"{failed:,} of {counted(sent + failed, 'letter')} stayed in {topic}")


def _report(session: Session, retried: Retried) -> None:
    output = session.output
    document: dict[str, object] = {"letter": retried.letter.message_id, "topic": retried.topic}
    if retried.sent is not None:
        document["messageId"] = retried.sent.message_id
        if not output.is_json and not output.is_terminal:
            output.put_text(f"{retried.letter.message_id}\t{retried.sent.message_id}\n")
    if retried.error is not None:
        failure = explain(retried.error) or ShownFailure(str(retried.error), ExitCode.FAILED)
        document |= failure.document()
        if not output.is_json:
            output.complain(f"{retried.letter.message_id}: {failure.line()}")
    if output.is_json:
        output.show_item(document)


def _show_letters(session: Session, letters: "list[StoredMessage]", *, empty: str, destination: str = "") -> None:
    now_ms = session.now_ms()
    rows: list[list[Cell | str]] = []
    for letter in letters:
        origin = Origin.of(letter)
        rows.append(
            [
                Cell(letter.message_id, "muted"),
                Cell(destination or origin.place(), "name"),
                origin.group,
                Cell(origin.attempts, "warning"),
                ago_text(letter.append_time_ms, now_ms),
                letter.key or "",
                body_cell(letter),
            ]
        )
    columns = [
        Column("letter", may_wrap=False),
        Column("to" if destination else "from"),
        Column("group"),
        Column("attempts", align="right"),
        Column("died", may_wrap=False),
        Column("key"),
        Column("body"),
    ]
    session.output.show({"letters": letters}, Table(columns, rows, empty=empty))


def _topic_row(topic: DeadLetterTopic, now_ms: int) -> list[Cell | str]:
    newest = topic.newest
    return [
        topic.name,
        Cell(f"{topic.unhandled:,}", "bad" if topic.unhandled else "good"),
        f"{topic.letters:,}",
        "" if newest is None else ago_text(newest.append_time_ms, now_ms),
        "" if newest is None else Origin.of(newest).reason(),
    ]


def _topic_document(topic: DeadLetterTopic) -> dict[str, object]:
    document: dict[str, object] = {"name": topic.name, "letters": topic.letters, "unhandled": topic.unhandled}
    if topic.newest is not None:
        document["newest"] = topic.newest
        document["reason"] = Origin.of(topic.newest).reason()
    return document
