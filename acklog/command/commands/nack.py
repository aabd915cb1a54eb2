"""`acklog nack`: messages are given back."""

from typing import Annotated

import typer

from acklog.command.arguments import ReceiptsArgument
from acklog.command.session import session_of
from acklog.command.settling import receipts_from, settle_all
from acklog.command.tree import CommandTyper
from acklog.wire.limits import NACK_DELAY_SECONDS_MAX

command = CommandTyper(name="nack")


@command.command("nack")
def nack(
    context: typer.Context,
    receipts: ReceiptsArgument = None,
    delay_s: Annotated[
        float | None,
        typer.Option(
            "--delay",
            metavar="SECONDS",
            min=0,
            max=NACK_DELAY_SECONDS_MAX,
            help="They come again after so long [the group's back-off].",
        ),
    ] = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; its first 256 bytes are kept with the messages.")
    ] = "",
) -> None:
    """Give messages back, to come again now or later. It counts as an attempt."""
    session = session_of(context)
    with session.client() as client:
        settle_all(
            session,
            receipts_from(session, receipts),
            lambda some: client.nack(some, delay_s=delay_s, reason=reason),
            done="given back",
        )
