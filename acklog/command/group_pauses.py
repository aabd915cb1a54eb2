"""`acklog groups pause` and `resume`, and what is paused in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.failures import UsageError
from acklog.command.session import session_of
from acklog.command.times import ago_text
from acklog.command.topic_names import complete_groups, complete_topics
from acklog.wire.limits import PARTITIONS_MAX

if TYPE_CHECKING:
    from acklog.catalog import Group, Paused

GroupArgument = Annotated[
    str, typer.Argument(metavar="GROUP", help="The group.", autocompletion=complete_groups, show_default=False)
]
TopicOption = Annotated[
    str | None,
    typer.Option("--topic", "-t", metavar="TOPIC", help="Only this topic.", autocompletion=complete_topics),
]
PartitionOption = Annotated[
    list[int] | None,
    typer.Option(
        "--partition",
        "-p",
        metavar="NUMBER",
        min=0,
        max=PARTITIONS_MAX - 1,
        help="Only this partition of the topic; may repeat.",
    ),
]


def pause(
    context: typer.Context, group: GroupArgument, topic: TopicOption = None, partitions: PartitionOption = None
) -> None:
    """Deliver nothing to a group, or from a topic, until it is resumed."""
    _check(topic, partitions)
    session = session_of(context)
    with session.client() as client:
        found = client.groups.pause(group, topic=topic, partitions=partitions or None)
    session.output.note(f"Paused {_named(group, topic, partitions)}. What is leased may be settled.")
    session.output.show({"group": found})


def resume(
    context: typer.Context, group: GroupArgument, topic: TopicOption = None, partitions: PartitionOption = None
) -> None:
    """Let a group go on, or what of it is named."""
    _check(topic, partitions)
    session = session_of(context)
    with session.client() as client:
        found = client.groups.resume(group, topic=topic, partitions=partitions or None)
    session.output.note(f"Resumed {_named(group, topic, partitions)}.")
    if topic is not None and any(each.topic is None for each in found.paused):
        session.output.note(f"{group} is still paused as a whole. Let it go on: acklog groups resume {group}")
    session.output.show({"group": found})


def paused_text(group: "Group", now_ms: int) -> str:
    """What is paused of the group, and since when; "no" where nothing is."""
    return "; ".join(_paused(each, now_ms) for each in group.paused) or "no"


def _paused(paused: "Paused", now_ms: int) -> str:
    since = ago_text(paused.since_ms, now_ms)
    if paused.topic is None:
        return f"all of it, {since}"
    if paused.partitions is None:
        return f"{paused.topic}, {since}"
    return f"{paused.topic} ({', '.join(map(str, paused.partitions))}), {since}"


def _named(group: str, topic: str | None, partitions: Sequence[int] | None) -> str:
    if topic is None:
        return group
    if not partitions:
        return f"{topic} for {group}"
    return f"{topic} ({', '.join(map(str, partitions))}) for {group}"


def _check(topic: str | None, partitions: Sequence[int] | None) -> None:
    if partitions and topic is None:
        raise UsageError("partitions are a topic's", field="--partition", hint="Name it: --topic TOPIC.")
