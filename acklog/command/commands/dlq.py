"""`acklog dlq`: dead letters."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import DeadLetterTopicArgument, YesOption
from acklog.command.commands.dlq_jobs import cancel, jobs, redrive
from acklog.command.commands.dlq_retry import retry
from acklog.command.confirmation import confirm
from acklog.command.dead_letters import (
    DeadLetterTopic,
    Origin,
    dead_letter_topics,
    purge,
    reader_of,
    require_dead_letter_topic,
    unhandled_count,
    unhandled_letters,
)
from acklog.command.letter_table import show_letters
from acklog.command.log_ends import last_messages
from acklog.command.session import session_of
from acklog.command.times import ago_text
from acklog.command.tree import CommandTyper
from acklog.command.undone import progress_of
from acklog.command.views import Cell, Column, Table
from acklog.command.words import counted

if TYPE_CHECKING:
    from acklog import Client
    from acklog.messages import StoredMessage

command = CommandTyper(name="dlq", help="Dead letters: messages that a group could not handle.", no_args_is_help=True)

LETTERS_SHOWN_MAX = 1000

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
        letters = _last(client, topic, count) if all_letters else unhandled_letters(client, topic, count)
    show_letters(session, letters, empty=f"There are no unhandled letters in {topic}.")


command.command("retry")(retry)
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
        count = unhandled_count(states, progress_of(client, reader_of(topic), topic))
        if count:
            confirm(session, f"Give up {counted(count, 'letter')} of {topic}?", is_yes=yes)
            purge(client, topic, states)
    session.output.note(f"Purged {counted(count, 'letter')} of {topic}.")
    session.output.show({"topic": topic, "purged": count})


def _last(client: "Client", topic: str, count: int) -> "list[StoredMessage]":
    return last_messages(client, topic, client.topics.get(topic).partition_states, messages_max=count)


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
