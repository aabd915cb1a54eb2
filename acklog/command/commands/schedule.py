"""`acklog schedule`: messages that are to be seen later, and those that are sent again and again."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import TopicArgument
from acklog.command.commands.recurring import add_recurring, list_recurring, show_recurring
from acklog.command.delivery_time import parse_delay_s
from acklog.command.failures import UsageError
from acklog.command.message_view import api_document
from acklog.command.printable import printable
from acklog.command.session import Session, session_of
from acklog.command.times import ago_text, clock_text, duration_text, future_moment
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Column, Fields, Table
from acklog.wire.identifiers import parse_schedule_id

if TYPE_CHECKING:
    from acklog.scheduled import ScheduledMessage

command = CommandTyper(name="schedule", help="Messages for later, and again and again.", no_args_is_help=True)
add_recurring(command)

LISTED_MAX = 10_000

IdArgument = Annotated[str, typer.Argument(metavar="SCHEDULE-ID", help="As acklog send and list print it.")]


@command.command("list")
def list_all(
    context: typer.Context,
    topic: TopicArgument,
    count: Annotated[
        int, typer.Option("--max", "-n", metavar="COUNT", min=1, max=LISTED_MAX, help="Messages at most.")
    ] = 100,
    is_recurring: Annotated[bool, typer.Option("--recurring", help="Recurring schedules instead, by name.")] = False,
) -> None:
    """List what is scheduled in a topic, what is due first at the top."""
    session = session_of(context)
    if is_recurring:
        list_recurring(session, topic)
        return
    with session.client() as client:
        found = client.scheduled.list(topic, limit=count)
        pending = client.scheduled.count(topic)
    now_ms = session.now_ms()
    rows: list[list[Cell | str]] = [
        [Cell(each.schedule_id, "name"), _due_text(each, now_ms), each.key or "", str(each.size or 0)] for each in found
    ]
    columns = [
        Column("schedule id", may_wrap=False),
        Column("due"),
        Column("key"),
        Column("bytes", align="right"),
    ]
    session.output.show(
        {"topic": topic, "pending": pending, "scheduled": [api_document(each) for each in found]},
        Table(columns, rows, empty=f"Nothing is scheduled in {topic}."),
    )
    if pending > len(found):
        session.output.note(f"{pending} are scheduled; --max shows more.")


@command.command("show")
def show(
    context: typer.Context,
    topic: TopicArgument,
    schedule_id: Annotated[
        str, typer.Argument(metavar="SCHEDULE", help="The id of a message, or a recurring schedule's name.")
    ],
) -> None:
    """Show a scheduled message, or what became of it; or a recurring schedule."""
    session = session_of(context)
    with session.client() as client:
        if parse_schedule_id(schedule_id) is None:
            show_recurring(session, client.schedules.get(topic, schedule_id))
            return
        _show(session, client.scheduled.get(topic, schedule_id))


@command.command("cancel")
def cancel(context: typer.Context, topic: TopicArgument, schedule_id: IdArgument) -> None:
    """Have a scheduled message not delivered."""
    session = session_of(context)
    with session.client() as client:
        _show(session, client.scheduled.cancel(topic, schedule_id))


@command.command("move")
def move(
    context: typer.Context,
    topic: TopicArgument,
    schedule_id: IdArgument,
    delay: Annotated[
        str | None, typer.Option("--delay", metavar="SECONDS", help="So long from now: 90, 15m, 2h.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="Then: 2027-03-01T08:30, or in 2h as +2h.")
    ] = None,
) -> None:
    """Have a scheduled message seen at another time."""
    if (delay is None) == (at is None):
        raise UsageError("say when", hint="Give either --delay SECONDS or --at TIME.")
    session = session_of(context)
    delay_s = None if delay is None else parse_delay_s(delay)
    at_ms = None if at is None else future_moment(at, now_ms=session.now_ms(), field="--at")
    with session.client() as client:
        _show(session, client.scheduled.move(topic, schedule_id, delay_seconds=delay_s, deliver_at=at_ms))


def _show(session: Session, message: "ScheduledMessage") -> None:
    rows: list[tuple[str, Cell | str]] = [("schedule id", Cell(message.schedule_id, "name")), ("state", message.state)]
    if message.deliver_at_ms is not None:
        rows.append(("due", _due_text(message, session.now_ms())))
    if message.message_id is not None:
        rows.append(("message", Cell(message.message_id, "name")))
    if message.key is not None:
        rows.append(("key", message.key))
    if message.ttl_seconds is not None:
        rows.append(("delivered for", duration_text(round(message.ttl_seconds * 1000))))
    if message.body is not None:
        rows.append(("body", printable(str(message.body))))
    session.output.show(api_document(message), Fields(rows))


def _due_text(message: "ScheduledMessage", now_ms: int) -> str:
    at_ms = message.deliver_at_ms or 0
    return f"{clock_text(at_ms)} ({ago_text(at_ms, now_ms)})"
