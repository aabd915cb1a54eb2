"""`acklog tail`: a topic's messages as they come."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import TopicArgument
from acklog.command.failures import UsageError, near_names
from acklog.command.group_settings import CallFilterOption
from acklog.command.message_view import body_line
from acklog.command.printable import one_line
from acklog.command.session import Session, session_of
from acklog.command.tail_reader import LAST_MESSAGES_MAX, TailReader, TailStart
from acklog.command.times import parse_moment, short_clock_text
from acklog.command.tree import CommandTyper

if TYPE_CHECKING:
    from acklog.messages import StoredMessage

command = CommandTyper(name="tail")

_ENDS = ("earliest", "latest")


@command.command("tail")
def tail(
    context: typer.Context,
    topic: TopicArgument,
    start: Annotated[
        str,
        typer.Option(
            "--from", metavar="WHEN", help="earliest, latest, 15m (ago), 2026-11-21T12:00 [latest].", show_default=False
        ),
    ] = "",
    last: Annotated[
        int | None,
        typer.Option("-n", "--last", metavar="COUNT", min=0, max=LAST_MESSAGES_MAX, help="Begin with the last COUNT."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Go on as messages come, or stop at the end.")
    ] = True,
    messages_max: Annotated[
        int | None, typer.Option("--max", metavar="COUNT", min=1, help="Stop after so many.")
    ] = None,
    message_filter: CallFilterOption = None,
) -> None:
    """Show messages of all partitions as they come. No group, no lease: nobody else notices.

    In a pipe each line is a body: acklog tail orders | jq .total; with --json each line is a whole message.
    """
    session = session_of(context)
    begin = _start_of(start, last, now_ms=session.now_ms())
    asyncio.run(_tail(session, topic, begin, is_following=follow, messages_max=messages_max, wanted=message_filter))


async def _tail(
    session: Session,
    topic: str,
    start: TailStart,
    *,
    is_following: bool,
    messages_max: int | None,
    wanted: str | None,
) -> None:
    printer = _Printer(session)
    async with session.async_client() as client:
        reader = TailReader(
            client,
            topic,
            show=printer.show,
            note=session.output.note,
            messages_max=messages_max,
            message_filter=wanted,
            patience_s=session.options.timeout_s,
        )
        try:
            await reader.run(start, is_following=is_following)
        except BaseExceptionGroup as group:
            raise _first(group) from group


def _start_of(text: str, last: int | None, *, now_ms: int) -> TailStart:
    if last is not None:
        if text:
            raise UsageError("--from and --last contradict each other", hint="Give one of them.")
        return TailStart(last=last)
    if text in {"", "latest"}:
        return TailStart()
    if text == "earliest":
        return TailStart(is_earliest=True)
    near = near_names(text, _ENDS)
    if near:
        raise UsageError(f"{text!r} is not a place in the log", field="--from", near=near)
    return TailStart(time_ms=parse_moment(text, now_ms=now_ms, field="--from"))


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What ended the run: partitions that are read at once mostly fail for the same reason."""
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


class _Printer:
    """Lines of JSON, bodies for a pipe, or lines with time, place and key for a person."""

    def __init__(self, session: Session) -> None:
        self._output = session.output

    def show(self, messages: "Sequence[StoredMessage]") -> None:
        for message in messages:
            if self._output.is_json:
                self._output.show_item(message)
            elif self._output.is_terminal:
                self._show_line(message)
            else:
                self._output.put_text(f"{body_line(message)}\n")
        self._output.flush()

    def _show_line(self, message: "StoredMessage") -> None:
        from rich.text import Text

        line = Text(no_wrap=False)
        line.append(short_clock_text(message.append_time_ms), style="muted")
        line.append(f"  {message.partition}:{message.offset}", style="name")
        if message.key is not None:
            line.append(f"  {one_line(message.key)}", style="warning")
        line.append(f"  {one_line(body_line(message))}")
        self._output.console.print(line)
