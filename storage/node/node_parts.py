"""Parts of a node, put together."""

from collections.abc import Awaitable, Callable

from storage.delivery.partition_delivery import PartitionDelivery
from storage.log.high_watermarks import HighWatermarks
from storage.log.keys import LogKey
from storage.log.store import LogStore
from storage.node.append_times import AppendTimes
from storage.node.compaction.compactor import Compactor
from storage.node.encryption.data_key_keeper import DataKeyKeeper
from storage.node.encryption.data_key_steps import DataKeySteps
from storage.node.group_coordinators import GroupCoordinators
from storage.node.groups.delivery_snapshots import DeliverySnapshots
from storage.node.groups.mapping_passages import MappingPassages
from storage.node.groups.waiting import TopicReaders
from storage.node.housekeeping import Housekeeping
from storage.node.node_ports import NodePorts
from storage.node.offset_projection import OffsetProjection
from storage.node.partition.batch_cache import BatchCache
from storage.node.partition.node_settings import NodeSettings
from storage.node.replicas.fetch_service import FetchService
from storage.node.replicas.fetch_sessions import FetchSessions
from storage.node.replicas.held_replicas import HeldReplicas
from storage.node.replicas.isr_figures import IsrFigures
from storage.node.replicas.isr_writer import IsrWriter
from storage.node.replicas.leader_figures import LeaderFigures
from storage.node.replicas.led_partition import Partition
from storage.node.replicas.opening import PartitionOpener
from storage.node.replicas.replica_context import ReplicaContext
from storage.node.replicas.replicas import Replicas
from storage.node.schedule.other_schedules import OtherSchedules
from storage.node.schedule.recurring_definitions import RecurringDefinitions
from storage.node.schedule.run_quotas import NotCounted, RunQuotas
from storage.node.schedule.schedule_keepers import ScheduleKeepers
from storage.quota_use.quota_book import QuotaBook
from storage.replication.assignment import ReplicaIdentity
from storage.replication.replication_settings import ReplicationSettings


def compactor_of(
    ports: NodePorts, held: HeldReplicas, logs: LogStore, cache: BatchCache, settings: NodeSettings
) -> Compactor:
    """Of the replicas that the node holds."""
    return Compactor(
        lambda: held,
        logs=logs,
        metadata=ports.metadata,
        cache=cache,
        disk=ports.disk,
        io=ports.io,
        clock=ports.clock,
        settings=settings.compaction,
        producers_window_ms=settings.producers.window_ms,
    )


def coordinators_of(
    ports: NodePorts,
    held: HeldReplicas,
    partition: Callable[[str, int], Awaitable[Partition]],
    settings: NodeSettings,
    *,
    on_crashed: Callable[[BaseException], None],
) -> GroupCoordinators:
    """Of the groups that the node coordinates."""
    return GroupCoordinators(
        held,
        ports.store,
        ports.metadata,
        partition,
        clock=ports.clock,
        settings=settings.coordinator,
        metadata_lag_ms_max=settings.metadata_lag_ms_max,
        on_crashed=on_crashed,
    )


def append_times_of(settings: NodeSettings) -> AppendTimes:
    return AppendTimes(known_max=settings.append_times_max, reads_at_once=settings.append_times_read_at_once)


def housekeeping_of(
    ports: NodePorts,
    replicas: Replicas,
    projection: OffsetProjection,
    append_times: AppendTimes,
    settings: NodeSettings,
    forget_deleted_groups: Callable[[], Awaitable[None]],
    on_group_removed: Callable[[str], None],
) -> Housekeeping:
    """What is done of the node from time to time."""
    return Housekeeping(
        replicas,
        store=ports.store,
        metadata=ports.metadata,
        clock=ports.clock,
        projection=projection,
        append_times=append_times,
        settings=settings,
        forget_deleted_groups=forget_deleted_groups,
        on_group_removed=on_group_removed,
    )


def replica_context(
    ports: NodePorts,
    me: ReplicaIdentity,
    logs: LogStore,
    high_watermarks: HighWatermarks,
    passages: MappingPassages,
    *,
    sessions: FetchSessions,
    service: FetchService,
    cache: BatchCache,
    figures: LeaderFigures,
    isr_figures: IsrFigures,
    settings: NodeSettings,
    replication: ReplicationSettings,
    readers: Callable[[str], TopicReaders],
    forget_table: Callable[[LogKey], Awaitable[None]],
    is_registered: Callable[[], bool],
    on_crashed: Callable[[BaseException], None],
) -> ReplicaContext:
    """`readers` are those who wait for messages of a topic."""

    def new_delivery_state(leader_epoch: int) -> PartitionDelivery:
        return PartitionDelivery(
            leader_epoch=leader_epoch,
            groups_max=settings.groups_per_partition_max,
            settings=settings.delivery,
        )

    data_keys, quotas = _data_keys_of(ports, me, on_crashed), _run_quotas_of(ports, me)
    snapshots = DeliverySnapshots(ports.disk, ports.io, ports.clock, new_state=new_delivery_state)
    opener = PartitionOpener(
        logs,
        metadata=ports.metadata,
        dead_letters=ports.dead_letters,
        snapshots=snapshots,
        passages=passages,
        recurring=RecurringDefinitions(ports.store, ports.metadata, timeout_ms=settings.recurring_store_timeout_ms),
        quotas=quotas,
        others=OtherSchedules(ports.metadata, ports.client_of, timeout_ms=settings.schedule.hand_over_timeout_ms),
        data_keys=data_keys,
        cache=cache,
        figures=figures,
        clock=ports.clock,
        entropy=ports.entropy,
        settings=settings,
        on_high_watermark=lambda topic_id, number: readers(topic_id).note_all(number),
        on_returned=lambda topic_id, group_id, number: readers(topic_id).note(group_id, number),
        on_crashed=on_crashed,
    )
    return ReplicaContext(
        me=me,
        sessions=sessions,
        service=service,
        peers=ports.peers,
        isr_writer=IsrWriter(ports.store, ports.metadata, isr_figures, changes_at_once=settings.isr_changes_at_once),
        opener=opener,
        snapshots=snapshots,
        schedules=ScheduleKeepers(ports.schedule_indexes, ports.clock, settings.schedule, on_crashed),
        data_keys=data_keys,
        quotas=quotas,
        high_watermarks=high_watermarks,
        forget_table=forget_table,
        cache=cache,
        clock=ports.clock,
        settings=replication,
        producers=settings.producers,
        close_timeout_ms=settings.partition_close_timeout_ms,
        is_registered=is_registered,
        on_crashed=on_crashed,
    )


def _data_keys_of(ports: NodePorts, me: ReplicaIdentity, on_crashed: Callable[[BaseException], None]) -> DataKeyKeeper:
    steps = DataKeySteps(
        me,
        store=ports.store,
        metadata=ports.metadata,
        master_keys=ports.master_keys,
        clock=ports.clock,
        entropy=ports.entropy,
    )
    return DataKeyKeeper(
        steps, metadata=ports.metadata, clock=ports.clock, entropy=ports.entropy, on_crashed=on_crashed
    )


def _run_quotas_of(ports: NodePorts, me: ReplicaIdentity) -> RunQuotas:
    book = QuotaBook(
        f"node {me.node_id}, incarnation {me.incarnation}",
        ports.metadata,
        ports.client_of,
        NotCounted(),
        clock=ports.clock,
        has_ended=lambda: False,  # it is closed
    )
    return RunQuotas(ports.metadata, book)
