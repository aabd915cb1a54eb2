"""`acklog keys`: messages that hold up their key, or their partition, until somebody decides."""

from typing import Annotated

import typer

from acklog.command.arguments import YesOption
from acklog.command.blocked_view import blocked_table
from acklog.command.confirmation import confirm
from acklog.command.failures import UsageError
from acklog.command.session import session_of
from acklog.command.topic_names import complete_groups, complete_topics
from acklog.command.tree import CommandTyper
from acklog.command.words import counted
from acklog.wire.limits import BLOCKED_LISTED_DEFAULT, BLOCKED_LISTED_MAX, PARTITIONS_MAX

command = CommandTyper(
    name="keys",
    help="Messages that failed too often and wait for a decision, in groups with --on-exhausted block.",
    no_args_is_help=True,
)

GroupArgument = Annotated[
    str, typer.Argument(metavar="GROUP", help="The group.", autocompletion=complete_groups, show_default=False)
]
TopicOption = Annotated[
    str | None, typer.Option("--topic", "-t", metavar="TOPIC", help="The topic.", autocompletion=complete_topics)
]
KeyOption = Annotated[
    str | None, typer.Option("--key", "-k", metavar="KEY", help="What is blocked of this key of the topic.")
]
PartitionOption = Annotated[
    int | None,
    typer.Option("--partition", "-p", metavar="NUMBER", min=0, max=PARTITIONS_MAX - 1, help="With --offset."),
]
OffsetOption = Annotated[
    int | None, typer.Option("--offset", metavar="OFFSET", min=0, help="This message of the partition.")
]
MessageOption = Annotated[str | None, typer.Option("--message", "-m", metavar="ID", help="The message with this id.")]


@command.command("list")
def list_all(
    context: typer.Context,
    group: GroupArgument,
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic", "-t", metavar="TOPIC", help="Only this topic; may repeat.", autocompletion=complete_topics
        ),
    ] = None,
    messages_max: Annotated[
        int, typer.Option("--max", "-n", metavar="COUNT", min=1, max=BLOCKED_LISTED_MAX, help="Messages at most.")
    ] = BLOCKED_LISTED_DEFAULT,
) -> None:
    """List messages that wait for a decision, with what they hold up."""
    session = session_of(context)
    with session.client() as client:
        found = client.groups.blocked(group, topics or None, limit=messages_max)
    for unknown in found.unknown:
        session.output.note(f"{unknown.topic}, partition {unknown.partition}, is not known: {unknown.problem.detail}")
    if found.count > len(found.keys):
        session.output.note(f"These are {len(found.keys):,} of {counted(found.count, 'message')}.")
    empty = f"Nothing waits for a decision in {group}."
    session.output.show(found, blocked_table(found.keys, now_ms=session.now_ms(), empty=empty))


@command.command("release")
def release(
    context: typer.Context,
    group: GroupArgument,
    topic: TopicOption = None,
    key: KeyOption = None,
    partition: PartitionOption = None,
    offset: OffsetOption = None,
    message: MessageOption = None,
) -> None:
    """Let a blocked message go out again at once; its attempts begin anew."""
    _check(topic, key, partition, offset, message)
    session = session_of(context)
    with session.client() as client:
        found = client.groups.release_blocked(
            group, topic=topic, key=key, partition=partition, offset=offset, message_id=message
        )
    session.output.note(f"Released {counted(len(found.keys), 'message')} of {group}.")
    session.output.show(found, blocked_table(found.keys, now_ms=session.now_ms()))


@command.command("skip")
def skip(
    context: typer.Context,
    group: GroupArgument,
    topic: TopicOption = None,
    key: KeyOption = None,
    partition: PartitionOption = None,
    offset: OffsetOption = None,
    message: MessageOption = None,
    yes: YesOption = False,
) -> None:
    """Let a blocked message be done, though nobody handled it; what is behind it goes on. There is no way back but a
    seek."""
    _check(topic, key, partition, offset, message)
    session = session_of(context)
    what = message or (f"{topic}, key {key}" if key is not None else f"{topic}, partition {partition}, offset {offset}")
    confirm(session, f"Let {group} never handle what is blocked at {what}?", is_yes=yes)
    with session.client() as client:
        found = client.groups.skip_blocked(
            group, topic=topic, key=key, partition=partition, offset=offset, message_id=message
        )
    session.output.note(f"Skipped {counted(len(found.keys), 'message')} of {group}.")
    session.output.show(found, blocked_table(found.keys, now_ms=session.now_ms()))


def _check(topic: str | None, key: str | None, partition: int | None, offset: int | None, message: str | None) -> None:
    """Raises UsageError."""
    is_place = topic is not None and partition is not None and offset is not None and key is None and message is None
    is_key = topic is not None and key is not None and partition is None and offset is None and message is None
    is_message = message is not None and topic is None and key is None and partition is None and offset is None
    if not (is_place or is_key or is_message):
        hint = "Give --message ID; or --topic TOPIC with --key KEY, or with --partition NUMBER and --offset OFFSET."
        raise UsageError("it takes one message, or one key", hint=hint)
