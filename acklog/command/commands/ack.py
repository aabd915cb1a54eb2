"""`acklog ack`: messages are done."""

from typing import Annotated

import typer

from acklog.command.arguments import DefaultGroupOption, ReceiptsArgument
from acklog.command.failures import UsageError
from acklog.command.session import session_of
from acklog.command.settling import receipts_from, settle_all
from acklog.command.tree import CommandTyper

command = CommandTyper(name="ack")


@command.command("ack")
def ack(
    context: typer.Context,
    receipts: ReceiptsArgument = None,
    message_id: Annotated[
        list[str] | None,
        typer.Option("--message-id", "-m", metavar="ID", help="By message id instead, for --group. May repeat."),
    ] = None,
    group: DefaultGroupOption = None,
) -> None:
    """Acknowledge messages: they are done for their group.

    A receipt names its group. A message id works for what the group has received: acklog ack -m m-... -g mail
    """
    session = session_of(context)
    if message_id and receipts:
        raise UsageError("receipts and --message-id contradict each other", hint="Give one of them.")
    with session.client() as client:
        if message_id:
            settle_all(session, message_id, lambda ids: client.ack_message_id(ids, group=group), done="acknowledged")
        else:
            settle_all(session, receipts_from(session, receipts), client.ack, done="acknowledged")
