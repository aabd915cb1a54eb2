"""`acklog groups`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import YesOption
from acklog.command.blocked_view import blocked_view
from acklog.command.commands.group_demand import demand
from acklog.command.commands.group_positions import commit, copy, group_lag
from acklog.command.commands.seek import seek
from acklog.command.confirmation import confirm
from acklog.command.failures import CommandError, UsageError
from acklog.command.group_members import members_view, owners_view
from acklog.command.group_pauses import pause, resume
from acklog.command.group_retries import BackoffMaxOption, BackoffMinOption, DelaysOption, JitterOption, retry_changes
from acklog.command.group_settings import (
    MODES,
    AssignorOption,
    AttemptsOption,
    DeadLettersOption,
    FilterOption,
    InFlightOption,
    ModeOption,
    OnExhaustedOption,
    OnExpiredOption,
    OnMissingPositionOption,
    RebalanceTimeoutOption,
    SessionTimeoutOption,
    StartOption,
    VisibilityOption,
    delivery_changes,
    expiry_changes,
    filter_changes,
    member_changes,
    one_of,
    position_changes,
    settings_fields,
)
from acklog.command.group_sharing import FairByOption, PerConsumerOption, PerHeaderOption, PerKeyOption, sharing_changes
from acklog.command.lag_figures import TopicLag, lags_of
from acklog.command.lag_view import lag_table
from acklog.command.quotas import QuotaBytesOption, QuotaMessagesOption, QuotaRequestsOption, group_quota_changes
from acklog.command.session import session_of
from acklog.command.times import ago_text, duration_text
from acklog.command.topic_names import complete_groups
from acklog.command.tree import CommandTyper
from acklog.command.views import Column, Table

if TYPE_CHECKING:
    from acklog.client.client import Client

command = CommandTyper(name="groups", help="List, create, change and delete groups.", no_args_is_help=True)

GroupArgument = Annotated[
    str, typer.Argument(metavar="GROUP", help="The group.", autocompletion=complete_groups, show_default=False)
]
NewGroup = Annotated[str, typer.Argument(metavar="GROUP", help="The group.", show_default=False)]


command.command("seek")(seek)
command.command("commit")(commit)
command.command("copy")(copy)
command.command("lag")(group_lag)
command.command("demand")(demand)


@command.command("list")
def list_all(context: typer.Context) -> None:
    """List the groups. How far they are: acklog lag."""
    session = session_of(context)
    with session.client() as client:
        groups = client.groups.list()
    now_ms = session.now_ms()
    columns = [
        Column("group", style="name"),
        Column("mode"),
        Column("begins at"),
        Column("lease", align="right"),
        Column("attempts", align="right"),
        Column("created", may_wrap=False),
    ]
    rows = [
        [
            group.name,
            group.mode,
            group.settings.start_position,
            duration_text(group.settings.visibility_ms),
            f"{group.settings.max_attempts:,}",
            ago_text(group.created_at_ms, now_ms),
        ]
        for group in groups
    ]
    empty = "There are no groups. The first receive makes one: acklog receive TOPIC --group GROUP"
    session.output.show({"groups": groups}, Table(columns, rows, empty=empty))


@command.command("describe")
@command.command("show")
def show(context: typer.Context, group: GroupArgument) -> None:
    """Show a group's settings, its members and what is theirs, how far it is in each topic, and what is blocked."""
    session = session_of(context)
    with session.client() as client:
        found = client.groups.get(group)
        offsets = client.groups.offsets(group)
        lags = lags_of(offsets)
        topics = [lag.topic for lag in lags if lag.blocked]
        blocked = client.groups.blocked(group, topics) if topics else None
    document = {
        "group": found,
        "topics": [lag.document(with_partitions=False) for lag in lags],
        "blocked": [] if blocked is None else blocked.keys,
        "partitions": offsets.offsets,
    }
    now_ms = session.now_ms()
    members = [*members_view(found), *owners_view(found, offsets.offsets)]
    views = [settings_fields(found, now_ms), *members, _progress(lags, group)]
    session.output.show(document, *views, *blocked_view(blocked, now_ms=now_ms))


@command.command("create")
def create(
    context: typer.Context,
    group: NewGroup,
    mode: ModeOption = None,
    start: StartOption = None,
    visibility: VisibilityOption = None,
    max_attempts: AttemptsOption = None,
    backoff_min: BackoffMinOption = None,
    backoff_max: BackoffMaxOption = None,
    retry_delays: DelaysOption = None,
    retry_jitter: JitterOption = None,
    dead_letters: DeadLettersOption = None,
    max_in_flight: InFlightOption = None,
    on_exhausted: OnExhaustedOption = None,
    max_in_flight_per_consumer: PerConsumerOption = None,
    max_in_flight_per_key: PerKeyOption = None,
    max_in_flight_per_header: PerHeaderOption = None,
    fair_by: FairByOption = None,
    session_timeout: SessionTimeoutOption = None,
    rebalance_timeout: RebalanceTimeoutOption = None,
    assignor: AssignorOption = None,
    message_filter: FilterOption = None,
    on_expired: OnExpiredOption = None,
    on_missing_position: OnMissingPositionOption = None,
    quota_messages: QuotaMessagesOption = None,
    quota_bytes: QuotaBytesOption = None,
    quota_requests: QuotaRequestsOption = None,
) -> None:
    """Create a group. One that is there already with these settings is fine."""
    from acklog.errors import GroupExists

    session = session_of(context)
    if mode is not None:
        one_of(MODES, mode, field="--mode")
    changes = delivery_changes(start, visibility, max_attempts, dead_letters, max_in_flight, on_exhausted)
    changes |= retry_changes(backoff_min, backoff_max, retry_delays, retry_jitter)
    changes |= sharing_changes(max_in_flight_per_consumer, max_in_flight_per_key, max_in_flight_per_header, fair_by)
    changes |= member_changes(session_timeout, rebalance_timeout, assignor) | filter_changes(message_filter)
    changes |= position_changes(on_missing_position) | expiry_changes(on_expired)
    changes |= group_quota_changes(quota_messages, quota_bytes, quota_requests)
    with session.client() as client:
        is_there = _is_there(client, group)
        try:
            found = client.groups.create(group, mode=mode, **changes)
        except GroupExists as error:
            hint = f"Change it: acklog groups update {group} ..."
            raise CommandError(
                f"{group} exists with other settings: {', '.join(error.differing)}", hint=hint
            ) from error
        session.output.note(f"{group} is there already." if is_there else f"Created {group}.")
    session.output.show(found, settings_fields(found, session.now_ms()))


@command.command("update")
def update(
    context: typer.Context,
    group: GroupArgument,
    start: StartOption = None,
    visibility: VisibilityOption = None,
    max_attempts: AttemptsOption = None,
    backoff_min: BackoffMinOption = None,
    backoff_max: BackoffMaxOption = None,
    retry_delays: DelaysOption = None,
    retry_jitter: JitterOption = None,
    dead_letters: DeadLettersOption = None,
    max_in_flight: InFlightOption = None,
    on_exhausted: OnExhaustedOption = None,
    max_in_flight_per_consumer: PerConsumerOption = None,
    max_in_flight_per_key: PerKeyOption = None,
    max_in_flight_per_header: PerHeaderOption = None,
    fair_by: FairByOption = None,
    session_timeout: SessionTimeoutOption = None,
    rebalance_timeout: RebalanceTimeoutOption = None,
    assignor: AssignorOption = None,
    message_filter: FilterOption = None,
    on_expired: OnExpiredOption = None,
    on_missing_position: OnMissingPositionOption = None,
    quota_messages: QuotaMessagesOption = None,
    quota_bytes: QuotaBytesOption = None,
    quota_requests: QuotaRequestsOption = None,
) -> None:
    """Change settings of a group. What is not named stays."""
    session = session_of(context)
    changes = delivery_changes(start, visibility, max_attempts, dead_letters, max_in_flight, on_exhausted)
    changes |= retry_changes(backoff_min, backoff_max, retry_delays, retry_jitter)
    changes |= sharing_changes(max_in_flight_per_consumer, max_in_flight_per_key, max_in_flight_per_header, fair_by)
    changes |= member_changes(session_timeout, rebalance_timeout, assignor) | filter_changes(message_filter)
    changes |= position_changes(on_missing_position) | expiry_changes(on_expired)
    changes |= group_quota_changes(quota_messages, quota_bytes, quota_requests)
    if not changes:
        raise UsageError("nothing is to be changed", hint="Name a setting, such as --visibility 5m.")
    with session.client() as client:
        found = client.groups.update(group, **changes)
    session.output.show(found, settings_fields(found, session.now_ms()))


command.command("pause")(pause)
command.command("resume")(resume)


@command.command("delete")
def delete(context: typer.Context, group: GroupArgument, yes: YesOption = False) -> None:
    """Delete a group and its progress. A new one of that name begins anew."""
    session = session_of(context)
    with session.client() as client:
        client.groups.get(group)
        lags = lags_of(client.groups.offsets(group))
        topics = f"in {', '.join(lag.topic for lag in lags)}" if lags else "in no topic"
        confirm(session, f"Delete {group} with its progress {topics}?", is_yes=yes)
        client.groups.delete(group)
    session.output.note(f"Deleted {group} with its progress {topics}.")
    session.output.show({"deleted": group, "topics": [lag.topic for lag in lags]})


def _is_there(client: "Client", group: str) -> bool:
    from acklog.errors import GroupNotFound

    try:
        client.groups.get(group)
    except GroupNotFound:
        return False
    return True


def _progress(lags: Sequence[TopicLag], group: str) -> Table:
    return lag_table(lags, with_partitions=False, empty=f"{group} has not read from any topic yet.")
