"""`acklog extend`: leases last longer."""

from typing import Annotated

import typer

from acklog.command.arguments import ReceiptsArgument
from acklog.command.session import session_of
from acklog.command.settling import receipts_from, settle_all
from acklog.command.tree import CommandTyper
from acklog.wire.limits import VISIBILITY_SECONDS_DEFAULT, VISIBILITY_SECONDS_MAX

command = CommandTyper(name="extend")


@command.command("extend")
def extend(
    context: typer.Context,
    receipts: ReceiptsArgument = None,
    visibility_s: Annotated[
        float,
        typer.Option(
            "--visibility",
            metavar="SECONDS",
            min=0,
            max=VISIBILITY_SECONDS_MAX,
            help="The leases last so long from now; 0 gives the messages back at once.",
        ),
    ] = VISIBILITY_SECONDS_DEFAULT,
) -> None:
    """Keep leases for longer."""
    session = session_of(context)
    with session.client() as client:
        settle_all(
            session,
            receipts_from(session, receipts),
            lambda some: client.extend(some, visibility_s=visibility_s),
            done="extended",
        )
