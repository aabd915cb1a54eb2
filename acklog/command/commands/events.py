"""`acklog events`: how the cluster is, and what changes."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.event_lines import KINDS, event_documents, event_lines
from acklog.command.failures import UsageError, near_names
from acklog.command.session import Session, session_of
from acklog.command.topic_names import complete_groups, complete_topics
from acklog.command.tree import CommandTyper
from acklog.consumer.stop_signals import stop_on_signals_of_loop

if TYPE_CHECKING:
    from acklog.events import ClusterEvent
    from acklog.streams.async_stream import AsyncStream

command = CommandTyper(name="events")


@command.command("events")
def events(
    context: typer.Context,
    kinds: Annotated[
        str,
        typer.Option("--kinds", metavar="KINDS", help=f"Only these, as topics,groups. There are {', '.join(KINDS)}."),
    ] = "",
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC",
            help="Only what concerns this topic; may repeat.",
            autocompletion=complete_topics,
        ),
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--group", "-g", metavar="GROUP", help="Only this group; may repeat.", autocompletion=complete_groups
        ),
    ] = None,
    lines_max: Annotated[
        int | None, typer.Option("--max", metavar="COUNT", min=1, help="Stop after so many lines.")
    ] = None,
) -> None:
    """Show how the cluster is, and what changes, a line for each thing, until Ctrl-C or SIGTERM.

    Rates are those between two looks of the server. With --json each line is a document: `kind`, and `is` or `removed`.
    """
    session = session_of(context)
    asyncio.run(_watch(session, _kinds(kinds), topics, groups, lines_max))


def _kinds(text: str) -> list[str] | None:
    """Raises UsageError."""
    kinds = [each.strip() for each in text.split(",")] if text else None
    for kind in kinds or ():
        if kind not in KINDS:
            hint = f"Give some of {','.join(KINDS)}."
            raise UsageError(f"{kind!r} is no kind", field="--kinds", near=near_names(kind, KINDS), hint=hint)
    return kinds


async def _watch(
    session: Session, kinds: list[str] | None, topics: list[str] | None, groups: list[str] | None, lines_max: int | None
) -> None:
    patience_ms = round(session.options.timeout_s * 1000)
    async with session.async_client() as client:
        stream = client.events(
            kinds=kinds,
            topics=topics or None,
            groups=groups or None,
            first_contact_timeout_ms=0,
            away_timeout_ms=patience_ms,
        )
        async with stream:
            with _closed_by_sigterm(stream):
                await _show(session, stream, lines_max)


async def _show(session: Session, stream: "AsyncStream[ClusterEvent]", lines_max: int | None) -> None:
    output = session.output
    left = lines_max
    async for event in stream:
        if event.is_first and event.reason != "start":
            output.note("What changed meanwhile is not known: this is how it is now.")
        for item in event_documents(event) if output.is_json else event_lines(event):
            if isinstance(item, str):
                output.put_text(f"{item}\n")
            else:
                output.show_item(item)
            left = None if left is None else left - 1
            if left == 0:
                return
        output.flush()


@contextmanager
def _closed_by_sigterm(stream: "AsyncStream[ClusterEvent]") -> Iterator[None]:
    """Whoever supervises the command ends it so: it ends well."""
    loop = asyncio.get_running_loop()
    closing: list[asyncio.Task[None]] = []

    def close() -> None:
        closing.append(loop.create_task(stream.close()))

    with stop_on_signals_of_loop(loop, close, signals=[signal.SIGTERM]):
        yield
