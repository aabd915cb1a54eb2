"""What a storage node can be told. Every buffer, wait and cache of it has its limit here."""

from dataclasses import dataclass, field

from acklog.wire.limits import RECEIVE_MESSAGES_MAX
from storage.compaction.compaction_settings import CompactionSettings
from storage.delivery.delivery_settings import DeliverySettings
from storage.groups.coordinator_settings import CoordinatorSettings
from storage.log.log_settings import LogStoreSettings
from storage.produce.producer_window import ProducerWindowSettings
from storage.quotas.quota_settings import QuotaSettings
from storage.redrive.redrive_settings import RedriveSettings
from storage.schedule.schedule_settings import ScheduleSettings
from storage.table.table_settings import TableSettings


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """Sizes are in bytes, times in milliseconds."""

    log_store: LogStoreSettings = field(default_factory=LogStoreSettings)
    delivery: DeliverySettings = field(default_factory=DeliverySettings)

    coordinator: CoordinatorSettings = field(default_factory=CoordinatorSettings)

    producers: ProducerWindowSettings = field(default_factory=ProducerWindowSettings)

    partition_inbox_bytes_max: int = 32 * 1024 * 1024
    """Unflushed appends of one partition; beyond it a send gets OVERLOADED."""

    producers_read_bytes_max: int = 8 * 1024 * 1024
    """How much of a log's end is read at the start for the batches that gateways may send again. Where there is more in
    the producers' window, retries are answered OUTCOME_UNKNOWN for as long."""

    uncommitted_appends_max: int = 100_000
    """Appends of one partition that wait for replicas; beyond it a send gets OVERLOADED."""

    batch_cache_bytes_max: int = 64 * 1024 * 1024
    """Batches kept in memory for readers, over all partitions of the node."""

    read_ahead_bytes: int = 256 * 1024
    """How much a receive reads at once from the disk when its messages are not in the cache."""

    damaged_batches_per_receive_max: int = 16
    """Damaged batches that one receive steps over in one partition, to find messages behind them."""

    expired_per_look_max: int = RECEIVE_MESSAGES_MAX
    """Messages that are leased at once to find those whose time to live is not over, behind others of which it is."""

    expired_per_receive_max: int = 100_000
    """Messages that have outlived their time which one receive passes over in one partition before it gives way."""

    looks_per_receive_max: int = 16
    """How often one receive of a group that chooses by what it sees looks on in one partition before it gives way."""

    shown_ahead_bytes_max: int = 256 * 1024
    """Stored bytes of batches in the cache that one such look decodes for those who have not come to them yet."""

    filter_read_bytes: int = 1024 * 1024
    """How much of the log one such look reads at once for a group that has a filter."""

    filter_turn_messages: int = 2_000
    """Messages that a filter judges in a row before others have their turn."""

    filter_reach_messages: int = 100_000
    """How far beyond where its group is a receive with a filter of its own looks."""

    filters_per_partition_max: int = 16
    """Filters, and headers that groups are fair by, for which it is remembered what they see of a partition; the one
    used longest ago is forgotten."""

    follower_lag_ms_max: int = 200
    """How long a reader waits at a follower that is behind its offset; then it has to ask the leader."""

    waiting_receives_max: int = 20_000
    """Long polls of the node; beyond it a receive gets TOO_MANY_WAITING."""

    waiting_records_max: int = 5_000
    """Waiting reads of records of the node; beyond it TOO_MANY_WAITING."""

    groups_per_partition_max: int = 1_000
    """Groups with state in one partition; beyond it a first receive gets OVERLOADED."""

    metadata_lag_ms_max: int = 1_000
    """How long a request waits for a topic or group that its gateway knows and this node does not know yet."""

    partition_open_timeout_ms: int = 5_000
    """How long a request waits for a partition that is being opened."""

    partitions_opened_at_once: int = 16

    partition_close_timeout_ms: int = 2_000
    """How long a stop waits for followers to get what was accepted."""

    isr_changes_at_once: int = 32
    """Partitions that are read from the coordination store at the same time to settle a change of in-sync replicas."""

    high_watermark_checkpoint_ms: int = 5_000
    """How often the high watermarks of replicated partitions are written down."""

    dedup_window_bytes_max: int = 64 * 1024 * 1024
    """Memory for the idempotency keys of one partition's window; beyond it DEDUP_WINDOW_FULL."""

    delivery_snapshot_bytes: int = 4 * 1024 * 1024
    """A partition's delivery log is snapshotted and trimmed when it has grown by this much."""

    delivery_segment_bytes: int = 8 * 1024 * 1024

    compaction: CompactionSettings = field(default_factory=CompactionSettings)
    table: TableSettings = field(default_factory=TableSettings)

    quotas: QuotaSettings = field(default_factory=QuotaSettings)

    schedule: ScheduleSettings = field(default_factory=ScheduleSettings)

    recurring_store_timeout_ms: int = 5_000
    """How long the coordination store is waited for, when a recurring schedule is another partition's from now on."""
    redrive: RedriveSettings = field(default_factory=RedriveSettings)

    schedule_segment_bytes: int = 16 * 1024 * 1024
    """Of the logs of messages that are to be seen later."""

    expiries_per_step_max: int = 1_000
    """Leases that one step of a partition's timer gives back, so that a mass expiry does not stall the loop."""

    removed_looked_up_per_step_max: int = 1_000
    """Messages that came back of which one step looks up whether compaction has left them, so that it stalls nobody."""

    blocked_looked_up_per_step_max: int = 1_000
    """Messages that wait for a person of which one step looks up how long they live, or ends that."""

    dead_letters_at_once: int = 100
    dead_letters_bytes_max: int = 4 * 1024 * 1024
    """Dead letters that are appended together; a single one may be larger."""

    dead_letter_retry_ms: int = 5_000

    failed_step_retry_ms: int = 1_000
    """Pause after a step of a partition's timer could not be logged (the disk is full, say)."""

    open_retry_ms: int = 5_000
    """Pause before a partition that could not be opened is tried again, if that can help."""

    append_times_max: int = 100_000
    """Of messages that groups are at: as many are known for metrics, at most."""
    append_times_read_at_once: int = 100
    """Of those that are not known, so many are looked up each `projection_interval_ms`, at most: each reads a batch."""

    retention_interval_ms: int = 30_000
    projection_interval_ms: int = 1_000
    """Progress is written to the offset store at most this often."""
