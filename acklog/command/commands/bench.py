"""`acklog bench`: measure a server from where you are."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.failures import CommandError, UsageError
from acklog.command.measurement import PERCENTILES, BenchPlan, Measurement, Phase
from acklog.command.quantities import count_text, size_text
from acklog.command.session import Session, session_of
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Column, Sentence, Table, View
from acklog.wire.limits import MESSAGE_BODY_BYTES_MAX, PARTITIONS_MAX, REQUEST_BODY_BYTES_MAX, REQUEST_MESSAGES_MAX

if TYPE_CHECKING:
    from acklog import AsyncClient
    from acklog.command.progress import Progress

command = CommandTyper(name="bench")

NAME = "acklog-bench"
PHASES = 3
SECONDS_MAX = 600.0
WORKERS_MAX = 1000
BODY_BYTES_MIN = 2
ENVELOPE_BYTES = 64  # what a message takes in a request beside its body


@command.command("bench")
def bench(
    context: typer.Context,
    seconds: Annotated[
        float,
        typer.Option("--seconds", metavar="SECONDS", min=0.3, max=SECONDS_MAX, help="How long it may take in all."),
    ] = 15.0,
    workers: Annotated[
        int, typer.Option("--workers", metavar="COUNT", min=1, max=WORKERS_MAX, help="Requests at a time.")
    ] = 16,
    size_bytes: Annotated[
        int,
        typer.Option(
            "--size", metavar="BYTES", min=BODY_BYTES_MIN, max=MESSAGE_BODY_BYTES_MAX, help="Size of a message's body."
        ),
    ] = 100,
    batch: Annotated[
        int, typer.Option("--batch", metavar="COUNT", min=1, max=REQUEST_MESSAGES_MAX, help="Messages per batch.")
    ] = 100,
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", metavar="COUNT", min=1, max=PARTITIONS_MAX, help="Of the topic [the server's]."),
    ] = None,
) -> None:
    """Measure sends, batches, and receives with acks, through the SDK, from this machine.

    A topic of its own is made, filled and deleted again. The numbers are those of this client, the network and the
    server together; a server can serve more than one client takes from it.
    """
    from acklog.runtime import unique_name

    session = session_of(context)
    if batch * (size_bytes + ENVELOPE_BYTES) > REQUEST_BODY_BYTES_MAX:
        raise UsageError(
            f"a batch of {batch:,} messages of {size_text(size_bytes)} is larger than a request may be, "
            f"{size_text(REQUEST_BODY_BYTES_MAX)}",
            field="--batch",
            hint="Give a smaller --batch or --size.",
        )
    name = f"{NAME}-{unique_name()}"
    plan = BenchPlan(name, name, seconds / PHASES, workers, size_bytes, batch)
    phases = asyncio.run(_measure(session, plan, partitions))
    _show(session, plan, phases)


async def _measure(session: Session, plan: BenchPlan, partitions: int | None) -> list[Phase]:
    """The three phases; the topic and the group are deleted whatever happens."""
    output = session.output
    async with session.async_client() as client:
        await client.topics.create(plan.topic, partitions)
        try:
            await client.groups.create(plan.group)
            with output.progress("Measuring") as progress:
                return await _phases(client, plan, progress)
        finally:
            await _clean_up(session, client, plan)


async def _phases(client: "AsyncClient", plan: BenchPlan, progress: "Progress") -> list[Phase]:
    measurement = Measurement(client, plan, advanced=progress.advance)
    progress.describe("Sending one by one")
    phases = [await measurement.singles()]
    progress.describe("Sending batches")
    phases.append(await measurement.batches())
    progress.describe("Receiving")
    phases.append(await measurement.deliveries())
    return phases


async def _clean_up(session: Session, client: "AsyncClient", plan: BenchPlan) -> None:
    from acklog.errors import AcklogError, GroupNotFound

    try:
        await client.topics.delete(plan.topic)
        with suppress(GroupNotFound):
            await client.groups.delete(plan.group)
    except AcklogError as error:
        session.output.complain(
            f"acklog: the topic {plan.topic} could not be deleted: {error}\n  acklog topics delete {plan.topic} --yes"
        )


def _show(session: Session, plan: BenchPlan, phases: Sequence[Phase]) -> None:
    document = {
        "server": session.server.url,
        "workers": plan.workers,
        "sizeBytes": plan.size_bytes,
        "batch": plan.batch,
        "phases": [phase.document() for phase in phases],
    }
    session.output.show(document, *_views(plan, phases))
    failed = sum(phase.errors for phase in phases)
    if failed:
        raise CommandError(f"{count_text(failed, 'request')} failed", hint="Look at the server: acklog doctor.")


def _views(plan: BenchPlan, phases: Sequence[Phase]) -> list[View]:
    columns = [
        Column("what", style="strong", may_wrap=False),
        Column("messages/s", align="right"),
        Column("messages", align="right"),
        Column("requests", align="right"),
        *(Column(f"p{percent:g} ms", align="right") for percent in PERCENTILES),
        Column("max ms", align="right"),
        Column("errors", align="right"),
    ]
    rows: list[list[Cell | str]] = [
        [
            phase.name,
            Cell(f"{phase.rate:,.0f}", "good"),
            f"{phase.messages:,}",
            f"{phase.latencies.count:,}",
            *(f"{phase.latencies.percentile_ms(percent):,.2f}" for percent in PERCENTILES),
            f"{phase.latencies.greatest_ms:,.2f}",
            Cell(f"{phase.errors:,}", "bad" if phase.errors else "muted"),
        ]
        for phase in phases
    ]
    examples = [Sentence(f"{phase.name}: {phase.error}", "bad") for phase in phases if phase.error]
    said = f"{plan.workers} workers, {size_text(plan.size_bytes)} bodies; a latency is that of a whole request."
    return [Table(columns, rows), Sentence(said, "muted"), *examples]
