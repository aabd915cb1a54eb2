"""`acklog receive`: lease messages as a consumer of a group does."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import DefaultGroupOption, TopicArgument
from acklog.command.failures import CommandError
from acklog.command.group_settings import CallFilterOption, ModeOption, receive_mode
from acklog.command.message_view import body_line, leased_document, leased_fields
from acklog.command.session import Session, session_of
from acklog.command.settling import report_settled
from acklog.command.tree import CommandTyper
from acklog.wire.limits import RECEIVE_MESSAGES_MAX, VISIBILITY_SECONDS_MAX, WAIT_SECONDS_MAX
from acklog.wire.names import default_group_of

if TYPE_CHECKING:
    from acklog import Client
    from acklog.messages import Message

command = CommandTyper(name="receive")

_REASONS = {
    "EMPTY": "There is nothing for the group: it has done everything there is.",
    "FILTER_REACH": "Nothing that matches so far; there is more to look at. Ask again, or wait: --wait 20s",
    "ALL_LEASED": "All messages are leased to other consumers, or wait for their delay. See: acklog lag",
    "IN_FLIGHT_LIMIT": "The group has too many messages in flight: acknowledge some first. Limits: acklog groups show",
    "NO_PARTITIONS": "Other members have all partitions. Who has what: acklog groups describe",
    "REBALANCING": "Partitions change hands: the former owner has messages that it has not settled.",
    "BLOCKED": "Messages whose attempts are used up hold up those behind them. See: acklog keys list",
    "WAITING_FOR_GROWTH": "What was sent since the topic's partitions changed waits for what was sent before. "
    "Where that is: acklog groups lag --partitions",
    "PAUSED": "The group is paused, or a part of it. See: acklog groups show",
    "UNAVAILABLE": "The others have nothing, and some partitions have no leader that answers now. Try again.",
    "SHUTTING_DOWN": "The server is shutting down.",
}


@command.command("receive")
def receive(
    context: typer.Context,
    topic: TopicArgument,
    group: DefaultGroupOption = None,
    max_messages: Annotated[
        int, typer.Option("--max", "-n", metavar="COUNT", min=1, help="Messages at most; with --follow: at a time.")
    ] = 10,
    wait_s: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", min=0, help="Wait so long for the first.", show_default=False)
    ] = 0,
    visibility_s: Annotated[
        float | None,
        typer.Option(
            "--visibility",
            metavar="SECONDS",
            min=0,
            max=VISIBILITY_SECONDS_MAX,
            help="Lease them so long [the group's setting].",
        ),
    ] = None,
    consumer: Annotated[
        str | None,
        typer.Option("--consumer", metavar="NAME", help="A label, shown by acklog why; the member's name (exclusive)."),
    ] = None,
    mode: ModeOption = None,
    message_filter: CallFilterOption = None,
    ack: Annotated[bool, typer.Option("--ack", help="Acknowledge them once they are written.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until interrupted.")] = False,
) -> None:
    """Receive messages as a consumer of a group. They are leased to you.

    In a pipe each message is a line: its receipt, a tab, its body; only the body with --ack. What it prints can go to
    acklog ack, nack and extend: acklog receive orders | acklog ack
    """
    session = session_of(context)
    checked = receive_mode(mode, consumer)
    received = 0
    waited_s = 0.0
    with session.client() as client:
        while follow or received < max_messages:
            step_s = WAIT_SECONDS_MAX if follow else min(wait_s - waited_s, WAIT_SECONDS_MAX) if not received else 0.0
            answer = client.receive(
                topic,
                group=group,
                max_messages=min(max_messages if follow else max_messages - received, RECEIVE_MESSAGES_MAX),
                wait_s=step_s,
                visibility_s=visibility_s,
                consumer=consumer,
                mode=checked,
                message_filter=message_filter,
            )
            if answer.group_created:
                session.output.note(f"Created the group {group or default_group_of(topic)}.")
            if answer.messages:
                received += len(answer.messages)
                _show(session, answer.messages, is_acked=ack)
                if ack:
                    _acknowledge(session, client, answer.messages)
                continue
            waited_s += step_s
            if not follow and (received or waited_s >= wait_s):
                if not received:
                    session.output.note(_REASONS.get(answer.reason or "", answer.reason or "No messages."))
                return


def _show(session: Session, messages: "Sequence[Message]", *, is_acked: bool) -> None:
    output = session.output
    for message in messages:
        if output.is_json:
            output.show_item(leased_document(message))
        elif output.is_terminal:
            output.show_views(leased_fields(message, session.now_ms()))
        elif is_acked:
            output.put_text(f"{body_line(message)}\n")
        else:
            output.put_text(f"{message.receipt}\t{body_line(message)}\n")
    # A message is acknowledged after it was written, never before.
    output.flush()


def _acknowledge(session: Session, client: "Client", messages: "Sequence[Message]") -> None:
    settled = client.ack([message.receipt for message in messages])
    failed = report_settled(session, [each for each in settled if each.error is not None])
    if failed:
        raise CommandError(f"{failed} of {len(messages)} could not be acknowledged", hint="They will come again.")
