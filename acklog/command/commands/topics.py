"""`acklog topics`."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import TopicArgument, YesOption
from acklog.command.commands.compactions import compact, key
from acklog.command.commands.deletions import delete_before, purge
from acklog.command.confirmation import confirm
from acklog.command.failures import CommandError, UsageError
from acklog.command.partition_view import partition_table
from acklog.command.quantities import count_text, limit_text, parse_duration_ms, parse_size_bytes, size_text
from acklog.command.quotas import (
    QuotaBytesOption,
    QuotaMessagesOption,
    QuotaRequestsOption,
    topic_quota_changes,
    topic_quota_rows,
)
from acklog.command.session import Session, session_of
from acklog.command.times import ago_text, duration_text
from acklog.command.topic_compaction import (
    CleanupPolicyOption,
    MaxCompactionLagOption,
    MinCompactionLagOption,
    TombstoneRetentionOption,
    add_compaction,
    compaction_rows,
    kept_for_text,
    kept_up_to_text,
)
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Column, Fields, Table
from acklog.wire.limits import PARTITIONS_MAX, REPLICAS_MAX

if TYPE_CHECKING:
    from acklog.catalog import TopicChanges, TopicDescription
    from acklog.client.client import Client

RETENTION_MODES = ("time", "untilAcked")

command = CommandTyper(name="topics", help="List, create, change, empty and delete topics.", no_args_is_help=True)

NewTopic = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.", show_default=False)]
PartitionsOption = Annotated[
    int | None,
    typer.Option(
        "--partitions", metavar="COUNT", min=1, max=PARTITIONS_MAX, help="Partitions; they can only become more."
    ),
]
RetentionOption = Annotated[
    str | None, typer.Option("--retention", metavar="DURATION", help="Keep messages for 12h, 7d, or unlimited.")
]
RetentionSizeOption = Annotated[
    str | None,
    typer.Option("--retention-size", metavar="SIZE", help="Keep up to 10GiB per partition, or unlimited."),
]
RetentionModeOption = Annotated[
    str | None,
    typer.Option("--retention-mode", metavar="MODE", help="time, or untilAcked: also what all groups have done."),
]
SegmentSizeOption = Annotated[
    str | None, typer.Option("--segment-size", metavar="SIZE", help="Size of a file, which is removed as a whole.")
]
DedupWindowOption = Annotated[
    str | None, typer.Option("--dedup-window", metavar="DURATION", help="How long idempotency keys are remembered.")
]
ReplicasOption = Annotated[
    int | None,
    typer.Option(
        "--replicas",
        metavar="COUNT",
        min=1,
        max=REPLICAS_MAX,
        help="Nodes that hold each partition [3 where there are as many].",
    ),
]
MinInSyncOption = Annotated[
    int | None,
    typer.Option(
        "--min-in-sync",
        metavar="COUNT",
        min=1,
        max=REPLICAS_MAX,
        help="Replicas that must have a message before it counts [2 of 3, else 1].",
    ),
]
ReplicaLagOption = Annotated[
    str | None,
    typer.Option("--max-replica-lag", metavar="DURATION", help="How late a replica may be and still be in sync."),
]
TtlOption = Annotated[
    str | None,
    typer.Option("--ttl", metavar="DURATION", help="Deliver messages for 2h, 7d, or unlimited, unless they say."),
]
DelayOption = Annotated[
    str | None,
    typer.Option(
        "--delay", metavar="DURATION", help="Messages are seen 30s, 15m later (0s: at once), unless they say."
    ),
]
EncryptionOption = Annotated[
    str | None,
    typer.Option("--encryption", metavar="on|off", help="Whether what is stored from now on is encrypted at rest."),
]
DataLossOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before a change that can delete messages.")
]


@command.command("list")
def list_all(
    context: typer.Context,
    with_internal: Annotated[
        bool, typer.Option("--internal", help="Acklog's own as well, whose names begin with two underscores.")
    ] = False,
) -> None:
    """List the topics."""
    session = session_of(context)
    with session.client() as client:
        topics = client.topics.list(with_internal=with_internal)
    now_ms = session.now_ms()
    columns = [
        Column("topic", style="name"),
        Column("partitions", align="right"),
        Column("kept for"),
        Column("kept up to", align="right"),
        Column("created", may_wrap=False),
    ]
    rows = [
        [
            topic.name,
            f"{topic.partitions:,}",
            kept_for_text(topic.config),
            kept_up_to_text(topic.config),
            ago_text(topic.created_at_ms, now_ms),
        ]
        for topic in topics
    ]
    empty = "There are no topics. The first send makes one: acklog send TOPIC BODY"
    session.output.show({"topics": topics}, Table(columns, rows, empty=empty))


@command.command("show")
def show(context: typer.Context, topic: TopicArgument) -> None:
    """Show a topic's settings, and how each partition is."""
    session = session_of(context)
    with session.client() as client:
        found = client.topics.get(topic)
    session.output.show(found, _fields(session, found), partition_table(found))


@command.command("create")
def create(
    context: typer.Context,
    topic: NewTopic,
    partitions: PartitionsOption = None,
    retention: RetentionOption = None,
    retention_size: RetentionSizeOption = None,
    retention_mode: RetentionModeOption = None,
    segment_size: SegmentSizeOption = None,
    dedup_window: DedupWindowOption = None,
    replicas: ReplicasOption = None,
    min_in_sync: MinInSyncOption = None,
    max_replica_lag: ReplicaLagOption = None,
    cleanup_policy: CleanupPolicyOption = None,
    min_compaction_lag: MinCompactionLagOption = None,
    max_compaction_lag: MaxCompactionLagOption = None,
    tombstone_retention: TombstoneRetentionOption = None,
    ttl: TtlOption = None,
    delay: DelayOption = None,
    encryption: EncryptionOption = None,
    quota_messages: QuotaMessagesOption = None,
    quota_bytes: QuotaBytesOption = None,
    quota_requests: QuotaRequestsOption = None,
) -> None:
    """Create a topic. One that is there already with these settings is fine."""
    from acklog.errors import TopicExists

    session = session_of(context)
    changes = _changes(retention, retention_size, retention_mode, segment_size, dedup_window, ttl, delay)
    changes |= topic_quota_changes(quota_messages, quota_bytes, quota_requests)
    _add_replication(changes, min_in_sync, max_replica_lag)
    _add_encryption(changes, encryption)
    add_compaction(changes, cleanup_policy, min_compaction_lag, max_compaction_lag, tombstone_retention)
    with session.client() as client:
        is_there = _is_there(client, topic)
        try:
            made = client.topics.create(topic, partitions, replication_factor=replicas, **changes)
        except TopicExists as error:
            hint = f"Change it: acklog topics update {topic} ..."
            raise CommandError(
                f"{topic} exists with other settings: {', '.join(error.differing)}", hint=hint
            ) from error
        count = count_text(made.partitions, "partition")
        session.output.note(f"{topic} is there already." if is_there else f"Created {topic} with {count}.")
        found = client.topics.get(topic)
    session.output.show(found, _fields(session, found))


@command.command("update")
def update(
    context: typer.Context,
    topic: TopicArgument,
    partitions: PartitionsOption = None,
    retention: RetentionOption = None,
    retention_size: RetentionSizeOption = None,
    retention_mode: RetentionModeOption = None,
    segment_size: SegmentSizeOption = None,
    dedup_window: DedupWindowOption = None,
    replicas: ReplicasOption = None,
    min_in_sync: MinInSyncOption = None,
    max_replica_lag: ReplicaLagOption = None,
    cleanup_policy: CleanupPolicyOption = None,
    min_compaction_lag: MinCompactionLagOption = None,
    max_compaction_lag: MaxCompactionLagOption = None,
    tombstone_retention: TombstoneRetentionOption = None,
    ttl: TtlOption = None,
    delay: DelayOption = None,
    encryption: EncryptionOption = None,
    quota_messages: QuotaMessagesOption = None,
    quota_bytes: QuotaBytesOption = None,
    quota_requests: QuotaRequestsOption = None,
    yes: DataLossOption = False,
) -> None:
    """Change settings of a topic. What is not named stays."""
    from acklog.errors import DataLossNotAllowed

    session = session_of(context)
    changes = _changes(retention, retention_size, retention_mode, segment_size, dedup_window, ttl, delay)
    changes |= topic_quota_changes(quota_messages, quota_bytes, quota_requests)
    _add_replication(changes, min_in_sync, max_replica_lag)
    _add_encryption(changes, encryption)
    add_compaction(changes, cleanup_policy, min_compaction_lag, max_compaction_lag, tombstone_retention)
    if partitions is None and replicas is None and not changes:
        raise UsageError("nothing is to be changed", hint="Name a setting, such as --retention 3d or --partitions 16.")
    with session.client() as client:
        try:
            client.topics.update(topic, partitions=partitions, replication_factor=replicas, **changes)
        except DataLossNotAllowed as error:
            confirm(session, f"Change {topic}, though {error.field} takes messages away for good?", is_yes=yes)
            client.topics.update(
                topic, partitions=partitions, replication_factor=replicas, allow_data_loss=True, **changes
            )
        found = client.topics.get(topic)
    session.output.show(found, _fields(session, found))


@command.command("delete")
def delete(context: typer.Context, topic: TopicArgument, yes: YesOption = False) -> None:
    """Delete a topic and all its messages. This cannot be undone."""
    session = session_of(context)
    with session.client() as client:
        found = client.topics.get(topic)
        messages = count_text(_messages(found), "message")
        confirm(session, f"Delete {topic} with {messages}, for all groups?", is_yes=yes)
        client.topics.delete(topic)
    session.output.note(f"Deleted {topic} with {messages}.")
    session.output.show({"deleted": topic, "messages": _messages(found)})


command.command("purge")(purge)
command.command("delete-before")(delete_before)
command.command("compact")(compact)
command.command("key")(key)


def _changes(
    retention: str | None,
    retention_size: str | None,
    retention_mode: str | None,
    segment_size: str | None,
    dedup_window: str | None,
    ttl: str | None,
    delay: str | None,
) -> "TopicChanges":
    """What the options name. Raises UsageError."""
    changes: TopicChanges = {}
    if retention is not None:
        changes["retention_ms"] = parse_duration_ms(retention, field="--retention", may_be_unlimited=True)
    if retention_size is not None:
        changes["retention_bytes"] = parse_size_bytes(retention_size, field="--retention-size", may_be_unlimited=True)
    if retention_mode is not None:
        if retention_mode not in RETENTION_MODES:
            hint = f"It may be {' or '.join(RETENTION_MODES)}."
            raise UsageError(f"{retention_mode!r} is no way of retention", field="--retention-mode", hint=hint)
        changes["retention"] = retention_mode
    if segment_size is not None:
        changes["segment_bytes"] = parse_size_bytes(segment_size, field="--segment-size")
    if dedup_window is not None:
        changes["dedup_window_ms"] = parse_duration_ms(dedup_window, field="--dedup-window")
    if ttl is not None:
        ttl_ms = parse_duration_ms(ttl, field="--ttl", may_be_unlimited=True)
        changes["ttl_ms"] = None if ttl_ms < 0 else ttl_ms
    if delay is not None:
        changes["delay_ms"] = parse_duration_ms(delay, field="--delay")
    return changes


def _add_replication(changes: "TopicChanges", min_in_sync: int | None, max_replica_lag: str | None) -> None:
    """Raises UsageError."""
    if min_in_sync is not None:
        changes["min_insync_replicas"] = min_in_sync
    if max_replica_lag is not None:
        changes["max_replica_lag_ms"] = parse_duration_ms(max_replica_lag, field="--max-replica-lag")


def _add_encryption(changes: "TopicChanges", encryption: str | None) -> None:
    """Raises UsageError."""
    if encryption is not None:
        if encryption not in {"on", "off"}:
            raise UsageError(f"{encryption!r} is neither on nor off", field="--encryption", hint="It may be on or off.")
        changes["encryption"] = encryption


def _is_there(client: "Client", topic: str) -> bool:
    from acklog.errors import TopicNotFound

    try:
        client.topics.get(topic)
    except TopicNotFound:
        return False
    return True


def _fields(session: Session, topic: "TopicDescription") -> Fields:
    config = topic.config
    is_limited = config.retention_bytes >= 0 and config.cleanup_policy != "compact"
    rows: list[tuple[str, Cell | str]] = [
        ("topic", Cell(topic.name, "name")),
        ("partitions", f"{topic.partitions:,}"),
        ("messages", f"{_messages(topic):,}"),
        ("size", size_text(sum(state.size_bytes or 0 for state in topic.partition_states))),
        ("kept for", kept_for_text(config)),
        ("kept up to", kept_up_to_text(config) + (" per partition" if is_limited else "")),
        ("dedup window", limit_text(config.dedup_window_ms)),
        ("segment size", size_text(config.segment_bytes)),
        ("created", ago_text(topic.created_at_ms, session.now_ms())),
    ]
    if topic.replication_factor > 1:
        in_sync = f"{config.min_insync_replicas} of {topic.replication_factor} have a message before it counts"
        rows.insert(2, ("replicas", in_sync))
        rows.append(("replica lag", limit_text(config.max_replica_lag_ms)))
    if topic.decommissioned:
        rows.append(("decommissioned", ", ".join(map(str, topic.decommissioned))))
    if config.ttl_ms is not None:
        rows.append(("delivered for", limit_text(config.ttl_ms)))
    if config.delay_ms:
        rows.append(("delivered after", duration_text(config.delay_ms)))
    if config.encryption != "off":
        rows.append(("encryption", config.encryption))
    if config.retention != "time":
        rows.append(("retention", config.retention))
    rows += [*compaction_rows(config), *topic_quota_rows(config)]
    troubled = sum(state.problem is not None for state in topic.partition_states)
    if troubled:
        rows.append(("problems", Cell(f"{count_text(troubled, 'partition')} cannot be served", "bad")))
    return Fields(rows)


def _messages(topic: "TopicDescription") -> int:
    return sum((state.high_watermark or 0) - (state.log_start or 0) for state in topic.partition_states)
