"""`acklog namespaces`: the topics and groups of one tenant, and what they may be together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, cast

import msgspec
import typer

from acklog.command.arguments import YesOption
from acklog.command.confirmation import confirm
from acklog.command.failures import UsageError
from acklog.command.quantities import UNLIMITED_TEXT, size_text
from acklog.command.quotas import QuotaBytesOption, QuotaMessagesOption, QuotaRequestsOption, parse_per_second
from acklog.command.session import session_of
from acklog.command.times import clock_text
from acklog.command.topic_names import complete_namespaces
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Column, Fields, Table
from acklog.wire.limits import NAMESPACE_COUNT_MAX

if TYPE_CHECKING:
    from acklog.namespaces import Namespace, NamespaceChanges

command = CommandTyper(
    name="namespaces", help="Namespaces: the topics and groups of one tenant each.", no_args_is_help=True
)

NameArgument = Annotated[
    str,
    typer.Argument(metavar="NAMESPACE", help="The namespace.", autocompletion=complete_namespaces, show_default=False),
]
TopicsOption = Annotated[
    str | None, typer.Option("--topics-max", metavar="COUNT", help="Topics at most; or unlimited.")
]
PartitionsOption = Annotated[
    str | None, typer.Option("--partitions-max", metavar="COUNT", help="Partitions of all topics; or unlimited.")
]
GroupsOption = Annotated[
    str | None, typer.Option("--groups-max", metavar="COUNT", help="Groups at most; or unlimited.")
]

SchedulesOption = Annotated[
    str | None, typer.Option("--schedules-max", metavar="COUNT", help="Recurring schedules at most; or unlimited.")
]
ProducersOption = Annotated[
    str | None, typer.Option("--producers-max", metavar="COUNT", help="Named producers at most; or unlimited.")
]


@command.command("list")
def list_all(context: typer.Context) -> None:
    """List those that you may do something in."""
    session = session_of(context)
    with session.client() as client:
        found = client.namespaces.list()
    rows: list[list[Cell | str]] = [
        [
            Cell(each.name, "name"),
            _used(each.topics, each.settings.topics_max),
            _used(each.partitions, each.settings.partitions_max),
            _used(each.groups, each.settings.groups_max),
            _quota_text(each),
        ]
        for each in found
    ]
    columns = [
        Column("namespace", may_wrap=True),
        Column("topics", align="right"),
        Column("partitions", align="right"),
        Column("groups", align="right"),
        Column("quota"),
    ]
    table = Table(columns, rows, empty="There are no namespaces.")
    session.output.show({"namespaces": [msgspec.to_builtins(each) for each in found]}, table)


@command.command("show")
def show(context: typer.Context, name: NameArgument) -> None:
    """Show what there is in one, and what there may be."""
    session = session_of(context)
    with session.client() as client:
        namespace = client.namespaces.get(name)
    session.output.show(msgspec.to_builtins(namespace), _fields(namespace))


@command.command("create")
def create(
    context: typer.Context,
    name: NameArgument,
    topics_max: TopicsOption = None,
    partitions_max: PartitionsOption = None,
    groups_max: GroupsOption = None,
    schedules_max: SchedulesOption = None,
    producers_max: ProducersOption = None,
    messages: QuotaMessagesOption = None,
    size_bytes: QuotaBytesOption = None,
    requests: QuotaRequestsOption = None,
) -> None:
    """Make a namespace. Its topics and groups are NAMESPACE/NAME."""
    session = session_of(context)
    counts = {
        "topics_max": topics_max,
        "partitions_max": partitions_max,
        "groups_max": groups_max,
        "schedules_max": schedules_max,
        "producers_max": producers_max,
    }
    changes = _changes(counts, messages, size_bytes, requests)
    with session.client() as client:
        namespace = client.namespaces.create(name, **changes)
    session.output.show(msgspec.to_builtins(namespace), _fields(namespace))


@command.command("set")
def set_limits(
    context: typer.Context,
    name: NameArgument,
    topics_max: TopicsOption = None,
    partitions_max: PartitionsOption = None,
    groups_max: GroupsOption = None,
    schedules_max: SchedulesOption = None,
    producers_max: ProducersOption = None,
    messages: QuotaMessagesOption = None,
    size_bytes: QuotaBytesOption = None,
    requests: QuotaRequestsOption = None,
) -> None:
    """Change what there may be in one; what there is already stays."""
    session = session_of(context)
    counts = {
        "topics_max": topics_max,
        "partitions_max": partitions_max,
        "groups_max": groups_max,
        "schedules_max": schedules_max,
        "producers_max": producers_max,
    }
    changes = _changes(counts, messages, size_bytes, requests)
    if not changes:
        raise UsageError("nothing is to be changed", hint="Name a limit: --topics-max 100.")
    with session.client() as client:
        namespace = client.namespaces.update(name, **changes)
    session.output.show(msgspec.to_builtins(namespace), _fields(namespace))


@command.command("delete")
def delete(context: typer.Context, name: NameArgument, is_yes: YesOption = False) -> None:
    """Delete one in which there is nothing any more."""
    session = session_of(context)
    confirm(session, f"Delete the namespace {name}?", is_yes=is_yes)
    with session.client() as client:
        client.namespaces.delete(name)
    session.output.show({"namespace": name, "deleted": True}, Fields([("deleted", Cell(name, "name"))]))


def _changes(
    counts: Mapping[str, str | None], messages: str | None, size_bytes: str | None, requests: str | None
) -> "NamespaceChanges":
    """What the options name. Raises UsageError."""
    changes: dict[str, int | None] = {}
    for name, text in counts.items():
        if text is not None:
            changes[name] = _count(text, field=f"--{name.replace('_', '-')}")
    if messages is not None:
        changes["messages_per_second"] = parse_per_second(messages, field="--quota-messages")
    if size_bytes is not None:
        changes["bytes_per_second"] = parse_per_second(size_bytes, field="--quota-bytes")
    if requests is not None:
        changes["requests_per_second"] = parse_per_second(requests, field="--quota-requests")
    return cast("NamespaceChanges", changes)


def _count(text: str, *, field: str) -> int | None:
    """None for no limit. Raises UsageError."""
    if text == UNLIMITED_TEXT:
        return None
    if not text.isdecimal() or int(text) > NAMESPACE_COUNT_MAX:
        hint = f"It may be 0 to {NAMESPACE_COUNT_MAX:,}, or {UNLIMITED_TEXT}."
        raise UsageError(f"{text!r} is no limit", field=field, hint=hint)
    return int(text)


def _fields(namespace: "Namespace") -> Fields:
    settings = namespace.settings
    rows: list[tuple[str, Cell | str]] = [
        ("namespace", Cell(namespace.name, "name")),
        ("topics", _used(namespace.topics, settings.topics_max)),
        ("partitions", _used(namespace.partitions, settings.partitions_max)),
        ("groups", _used(namespace.groups, settings.groups_max)),
        ("recurring schedules", _used(namespace.schedules, settings.schedules_max)),
        ("named producers", _used(namespace.producers, settings.producers_max)),
        ("created", clock_text(namespace.created_at_ms)),
    ]
    quota = _quota_text(namespace)
    if quota:
        rows.append(("quota", f"{quota} per second"))
    return Fields(rows)


def _used(count: int, most: int | None) -> str:
    return f"{count:,}" if most is None else f"{count:,} of {most:,}"


def _quota_text(namespace: "Namespace") -> str:
    settings = namespace.settings
    found = [
        f"{settings.messages_per_second:,} messages" if settings.messages_per_second is not None else "",
        size_text(settings.bytes_per_second) if settings.bytes_per_second is not None else "",
        f"{settings.requests_per_second:,} requests" if settings.requests_per_second is not None else "",
    ]
    return ", ".join(filter(None, found))
