"""`acklog schedule create`, `update`, `pause`, `resume`, `delete`: messages that are sent again and again."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import TopicArgument
from acklog.command.delivery_time import DeliveryTime, TtlOption
from acklog.command.failures import UsageError
from acklog.command.message_view import api_document
from acklog.command.outgoing import MessageForm, parse_headers
from acklog.command.printable import printable
from acklog.command.session import Session, session_of
from acklog.command.times import ago_text, clock_text, duration_text, future_moment
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Column, Fields, Table

if TYPE_CHECKING:
    from acklog.recurring import RecurringMessage

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.", show_default=False)]
CronOption = Annotated[
    str | None, typer.Option("--cron", metavar="CRON", help="Minute, hour, day, month, weekday: '0 8 * * mon-fri'.")
]
ZoneOption = Annotated[str | None, typer.Option("--time-zone", metavar="ZONE", help="Of --cron: Europe/Berlin.")]
EveryOption = Annotated[float | None, typer.Option("--every", metavar="SECONDS", min=1, help="So often.")]
MissedOption = Annotated[
    str | None, typer.Option("--missed", metavar="RULE", help="Of times that are missed: once, skip or all.")
]
GraceOption = Annotated[
    float | None,
    typer.Option("--grace", metavar="SECONDS", min=0, help="With skip: how late is not too late."),
]
StartOption = Annotated[str | None, typer.Option("--start", metavar="TIME", help="Nothing before: +2h, a time.")]
EndOption = Annotated[str | None, typer.Option("--end", metavar="TIME", help="Nothing then or later.")]


def create(
    context: typer.Context,
    topic: TopicArgument,
    name: NameArgument,
    body: Annotated[str, typer.Argument(metavar="BODY", help="The message: JSON.", show_default=False)],
    cron: CronOption = None,
    time_zone: ZoneOption = None,
    every_s: EveryOption = None,
    key: Annotated[str | None, typer.Option("--key", "-k", metavar="KEY", help="Of the message.")] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="NAME=VALUE", help="May repeat.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="May repeat.")] = None,
    is_text: Annotated[bool, typer.Option("--text", help="The message is text, not JSON.")] = False,
    ttl: TtlOption = None,
    missed: MissedOption = None,
    grace_s: GraceOption = None,
    start: StartOption = None,
    end: EndOption = None,
    is_paused: Annotated[bool, typer.Option("--paused", help="It sends when it is resumed.")] = False,
) -> None:
    """Have a message sent again and again."""
    if (cron is None) == (every_s is None):
        raise UsageError("say when", hint="Give either --cron CRON or --every SECONDS.")
    session = session_of(context)
    form = MessageForm(
        key=key,
        headers=parse_headers(header or []),
        tags=tuple(tag or ()),
        is_text=is_text,
        time=DeliveryTime.typed(None, None, ttl, now_ms=session.now_ms()),
    )
    message = form.of_argument(body)
    with session.client() as client:
        made = client.schedules.create(
            topic,
            name,
            message,
            cron=cron,
            time_zone=time_zone,
            every_seconds=every_s,
            missed=missed,
            grace_seconds=grace_s,
            is_paused=is_paused or None,
            start_at=_moment(session, start, "--start"),
            end_at=_moment(session, end, "--end"),
        )
    show_recurring(session, made)


def update(
    context: typer.Context,
    topic: TopicArgument,
    name: NameArgument,
    cron: CronOption = None,
    time_zone: ZoneOption = None,
    every_s: EveryOption = None,
    missed: MissedOption = None,
    grace_s: GraceOption = None,
    start: StartOption = None,
    end: EndOption = None,
) -> None:
    """Change when it is sent."""
    if all(each is None for each in (cron, time_zone, every_s, missed, grace_s, start, end)):
        raise UsageError("say what to change", hint="--cron, --every, --time-zone, --missed, --grace, --start, --end.")
    session = session_of(context)
    with session.client() as client:
        changed = client.schedules.update(
            topic,
            name,
            cron=cron,
            time_zone=time_zone,
            every_seconds=every_s,
            missed=missed,
            grace_seconds=grace_s,
            start_at=_moment(session, start, "--start"),
            end_at=_moment(session, end, "--end"),
        )
    show_recurring(session, changed)


def pause(context: typer.Context, topic: TopicArgument, name: NameArgument) -> None:
    """Send nothing until it is resumed; nothing is missed by it."""
    session = session_of(context)
    with session.client() as client:
        show_recurring(session, client.schedules.pause(topic, name))


def resume(context: typer.Context, topic: TopicArgument, name: NameArgument) -> None:
    """Go on from now."""
    session = session_of(context)
    with session.client() as client:
        show_recurring(session, client.schedules.resume(topic, name))


def delete(context: typer.Context, topic: TopicArgument, name: NameArgument) -> None:
    """Send nothing any more."""
    session = session_of(context)
    with session.client() as client:
        client.schedules.delete(topic, name)
    session.output.show({"topic": topic, "schedule": name, "deleted": True}, Fields([("deleted", Cell(name, "name"))]))


def add_recurring(command: CommandTyper) -> None:
    """To those about messages for later."""
    for call in (create, update, pause, resume, delete):
        command.command(call.__name__)(call)


def list_recurring(session: Session, topic: str) -> None:
    """All of the topic by name."""
    with session.client() as client:
        found = client.schedules.list(topic)
    now_ms = session.now_ms()
    rows: list[list[Cell | str]] = [
        [Cell(each.name, "name"), _rule_text(each), _next_text(each, now_ms), each.missed] for each in found
    ]
    columns = [Column("schedule", may_wrap=False), Column("rule"), Column("next"), Column("missed")]
    session.output.show(
        {"topic": topic, "schedules": [_document(each) for each in found]},
        Table(columns, rows, empty=f"There are no recurring schedules in {topic}."),
    )


def show_recurring(session: Session, schedule: "RecurringMessage") -> None:
    """With its message, where that is known."""
    rows: list[tuple[str, Cell | str]] = [
        ("schedule", Cell(schedule.name, "name")),
        ("rule", _rule_text(schedule)),
        ("next", _next_text(schedule, session.now_ms())),
        ("missed", schedule.missed),
    ]
    if schedule.grace_seconds is not None:
        rows.append(("not too late", f"{schedule.grace_seconds:g} s"))
    for label, at_ms in (("start", schedule.start_at_ms), ("end", schedule.end_at_ms)):
        if at_ms is not None:
            rows.append((label, clock_text(at_ms)))
    template = schedule.message
    if template is not None:
        if template.key is not None:
            rows.append(("key", template.key))
        if template.tags:
            rows.append(("tags", ", ".join(template.tags)))
        rows += [(f"header {name}", value) for name, value in template.headers.items()]
        if template.ttl_seconds is not None:
            rows.append(("delivered for", duration_text(round(template.ttl_seconds * 1000))))
        rows.append(("body", printable(str(template.body))))
    session.output.show(_document(schedule), Fields(rows))


def _moment(session: Session, text: str | None, field: str) -> int | None:
    return None if text is None else future_moment(text, now_ms=session.now_ms(), field=field)


def _rule_text(schedule: "RecurringMessage") -> str:
    if schedule.cron is not None:
        return f"{schedule.cron} ({schedule.time_zone})"
    return f"every {schedule.every_seconds:g} s"


def _next_text(schedule: "RecurringMessage", now_ms: int) -> str:
    if schedule.is_paused:
        return "paused"
    at_ms = schedule.next_at_ms
    return "over" if at_ms is None else f"{clock_text(at_ms)} ({ago_text(at_ms, now_ms)})"


def _document(schedule: "RecurringMessage") -> dict[str, object]:
    return {**api_document(schedule), "missed": schedule.missed, "paused": schedule.is_paused}
