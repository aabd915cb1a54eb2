"""`acklog peek`: messages without leasing them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import TopicArgument
from acklog.command.log_ends import last_messages
from acklog.command.message_state import STATE_STYLES
from acklog.command.message_view import body_cell, stored_document
from acklog.command.session import Session, session_of
from acklog.command.times import ago_text
from acklog.command.topic_names import complete_groups
from acklog.command.tree import CommandTyper
from acklog.command.undone import Undone, undone_messages
from acklog.command.views import Cell, Column, Table

if TYPE_CHECKING:
    from acklog import Client
    from acklog.messages import GroupState, StoredMessage

command = CommandTyper(name="peek")

PEEK_MAX = 1000


@command.command("peek")
def peek(
    context: typer.Context,
    topic: TopicArgument,
    group: Annotated[
        str,
        typer.Option(
            "--group",
            "-g",
            metavar="GROUP",
            help="What this group has not done yet [the last messages of the log].",
            autocompletion=complete_groups,
            show_default=False,
        ),
    ] = "",
    count: Annotated[
        int, typer.Option("--max", "-n", metavar="COUNT", min=1, max=PEEK_MAX, help="Messages at most.")
    ] = 10,
) -> None:
    """Show the last messages of a topic, or the next of a group, without leasing anything.

    acklog peek orders --group mail
    """
    session = session_of(context)
    with session.client() as client:
        if group:
            found = _next_of_group(client, topic, group, count)
            empty = f"Group {group} has done everything in {topic}."
        else:
            states = client.topics.get(topic).partition_states
            found = [Undone(message, None) for message in last_messages(client, topic, states, messages_max=count)]
            empty = f"There are no messages in {topic}."
    documents = [_document(message, state) for message, state in found]
    session.output.show({"messages": documents}, _table(session, found, empty=empty, has_states=bool(group)))


def _next_of_group(client: "Client", topic: str, group: str, count: int) -> list[Undone]:
    return undone_messages(
        client,
        topic,
        client.topics.get(topic).partition_states,
        group=group,
        progress=client.groups.offsets(group, topic),
        is_from_latest=client.groups.get(group).settings.start_position == "latest",
        messages_max=count,
    )


def _document(message: "StoredMessage", state: "GroupState | None") -> dict[str, object]:
    document = stored_document(message)
    return document if state is None else {**document, "state": state}


def _table(session: Session, found: Sequence[Undone], *, empty: str, has_states: bool) -> Table:
    now_ms = session.now_ms()
    rows: list[list[Cell | str]] = [
        [
            Cell(f"{message.partition}:{message.offset}", "name"),
            *([_state_cell(state)] if has_states else []),
            ago_text(message.append_time_ms, now_ms),
            message.key or "",
            body_cell(message),
            Cell(message.message_id, "muted"),
        ]
        for message, state in found
    ]
    columns = [
        Column("place", may_wrap=False),
        *([Column("state", may_wrap=False)] if has_states else []),
        Column("stored", may_wrap=False),
        Column("key"),
        Column("body"),
        Column("message id", may_wrap=False),
    ]
    return Table(columns, rows, empty=empty)


def _state_cell(state: "GroupState | None") -> Cell:
    name = "waiting" if state is None else state.state
    return Cell(name, STATE_STYLES.get(name, ""))
