"""`acklog mirror`: copies topics of another cluster to this one, and says how far that is."""

import asyncio
from typing import TYPE_CHECKING

import typer

from acklog.command.failures import CommandError, UsageError
from acklog.command.mirror_options import (
    AtOnceOption,
    CheckpointIntervalOption,
    ExcludeOption,
    FromOption,
    GroupsOption,
    MaxLagOption,
    MaxSecondsOption,
    MetricsHostOption,
    MetricsPortOption,
    NameOption,
    NoGroupsOption,
    OnceOption,
    OnGapOption,
    PatternsArgument,
    PositionIntervalOption,
    PrefixOption,
    RateOption,
    RenameOption,
    ReportIntervalOption,
    SourceOption,
    StatusGroupsOption,
    StatusPatternsArgument,
)
from acklog.command.session import Session, session_of
from acklog.command.tree import CommandTyper

if TYPE_CHECKING:
    from acklog.command.mirror_status import MirrorStatus
    from acklog.mirror.mirror_gap import OnGap
    from acklog.mirror.mirror_settings import Beginning

command = CommandTyper(name="mirror")

NAME_DEFAULT = "mirror"


@command.command("run")
def run(
    context: typer.Context,
    patterns: PatternsArgument,
    source: SourceOption,
    name: NameOption = NAME_DEFAULT,
    excluded: ExcludeOption = None,
    prefix: PrefixOption = "",
    renames: RenameOption = None,
    begins_at: FromOption = "earliest",
    on_gap: OnGapOption = "stop",
    groups: GroupsOption = None,
    has_no_groups: NoGroupsOption = False,
    bytes_per_second: RateOption = None,
    at_once: AtOnceOption = 16,
    position_interval_s: PositionIntervalOption = 10.0,
    checkpoint_interval_s: CheckpointIntervalOption = 5.0,
    report_interval_s: ReportIntervalOption = 1.0,
    is_once: OnceOption = False,
    metrics_port: MetricsPortOption = None,
    metrics_host: MetricsHostOption = "127.0.0.1",
) -> None:
    """Copy topics of the source to this server, until a signal ends it.

    Each message once, in the order of its partition. All state is in the target: start it anywhere, as often as you
    like; the one that began last goes on.
    """
    from acklog.command.mirror_ends import source_server
    from acklog.command.mirror_run import MirrorPlan, MirrorRun
    from acklog.errors import InvalidArgument
    from acklog.mirror.mirror_settings import MirrorSettings
    from acklog.mirror.topic_rules import TopicRules

    session = session_of(context)
    try:
        rules = TopicRules(patterns, excluded or (), prefix, _renames(renames or []))
        rules.check()
        settings = MirrorSettings(
            name=name,
            begins_at=_beginning(begins_at),
            on_gap=_on_gap(on_gap),
            group_patterns=() if has_no_groups else tuple(groups or ("*",)),
            at_once=at_once,
            bytes_per_second=bytes_per_second,
            position_interval_ms=round(position_interval_s * 1000),
            checkpoint_interval_ms=round(checkpoint_interval_s * 1000),
            ends_when_caught_up=is_once,
        )
    except InvalidArgument as error:
        raise UsageError(str(error.detail), field=_OPTIONS.get(error.field or "", "")) from error
    plan = MirrorPlan(source_server(session, source), rules, settings, metrics_host, metrics_port, report_interval_s)
    asyncio.run(MirrorRun(session, plan).run())


@command.command("status")
def status(
    context: typer.Context,
    source: SourceOption,
    patterns: StatusPatternsArgument = None,
    name: NameOption = NAME_DEFAULT,
    groups: StatusGroupsOption = None,
    lag_max: MaxLagOption = 0,
    lag_s_max: MaxSecondsOption = None,
) -> None:
    """How far a mirror is, and whether it runs; the exit code is 0 if all is good, and 1 if not.

    It goes by what the mirror keeps in this server, and by what the source has: ask from anywhere, also when the mirror
    is away.
    """
    from acklog.command.mirror_view import status_document, status_views

    session = session_of(context)
    found = asyncio.run(_read_status(session, source, name, patterns or ["*"], groups or [], lag_max, lag_s_max))
    session.output.show(status_document(found), *status_views(found))
    if not found.is_good:
        raise typer.Exit(1)


async def _read_status(
    session: Session,
    source: str,
    name: str,
    patterns: list[str],
    groups: list[str],
    lag_max: int,
    lag_s_max: float | None,
) -> "MirrorStatus":
    from acklog.command.mirror_ends import source_server
    from acklog.command.mirror_status import StatusReader
    from acklog.errors import TopicNotFound
    from acklog.mirror.client_end import ClientEnd
    from acklog.mirror.mirror import state_topic_of

    server = source_server(session, source)
    async with (
        session.surroundings.connect_async(server, session.options.timeout_s) as at_source,
        session.async_client() as at_target,
    ):
        reader = StatusReader(ClientEnd(at_source), ClientEnd(at_target), name, now_ms=session.now_ms())
        lag_ms_max = None if lag_s_max is None else round(lag_s_max * 1000)
        try:
            return await reader.read(patterns, groups, lag_max=lag_max, lag_ms_max=lag_ms_max)
        except TopicNotFound as error:
            hint = "Name it as it was started: --name. Where is its target? See --server and --profile."
            what = f"no mirror {name!r} has ever kept its state here ({state_topic_of(name)})"
            raise CommandError(what, hint=hint) from error


_OPTIONS = {
    "name": "--name",
    "patterns": "TOPIC",
    "excluded": "--exclude",
    "prefix": "--prefix",
    "renames": "--rename",
    "begins_at": "--from",
    "on_gap": "--on-gap",
}


def _renames(texts: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        source, separator, target = text.partition("=")
        if not (separator and source and target):
            raise UsageError(f"{text!r} renames nothing", field="--rename", hint="Write it as orders=orders-of-eu.")
        if source in found:
            raise UsageError(f"{source} has two names", field="--rename")
        found[source] = target
    return found


def _beginning(text: str) -> "Beginning":
    if text == "earliest":
        return "earliest"
    if text == "latest":
        return "latest"
    raise UsageError(f"{text!r} is no place to begin at", field="--from", hint="It is earliest or latest.")


def _on_gap(text: str) -> "OnGap":
    from acklog.mirror.mirror_gap import OnGap

    try:
        return OnGap(text)
    except ValueError as error:
        hint = "It is stop or skip."
        raise UsageError(f"{text!r} is not what can be done about gaps", field="--on-gap", hint=hint) from error
