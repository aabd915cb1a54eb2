"""What the replicas of a node share."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cluster.ports.clock import Clock
from storage.log.high_watermarks import HighWatermarks
from storage.log.keys import LogKey
from storage.node.encryption.data_key_keeper import DataKeyKeeper
from storage.node.groups.delivery_snapshots import DeliverySnapshots
from storage.node.partition.batch_cache import BatchCache
from storage.node.replicas.fetch_service import FetchService
from storage.node.replicas.fetch_sessions import FetchSessions
from storage.node.replicas.isr_writer import IsrWriter
from storage.node.replicas.opening import PartitionOpener
from storage.node.replicas.peer_directory import Peers
from storage.node.schedule.run_quotas import RunQuotas
from storage.node.schedule.schedule_keepers import ScheduleKeepers
from storage.produce.producer_window import ProducerWindowSettings
from storage.replication.assignment import ReplicaIdentity
from storage.replication.replication_settings import ReplicationSettings


@dataclass(frozen=True, slots=True)
class ReplicaContext:
    """`forget_table` removes what is kept of a log's keys. `close_timeout_ms` is how long a stop waits for followers to
    get what was accepted. `is_registered` goes by the clock: whether the node would have heard if somebody else had
    been made leader of what it leads."""

    me: ReplicaIdentity
    sessions: FetchSessions
    service: FetchService
    peers: Peers
    isr_writer: IsrWriter
    opener: PartitionOpener
    snapshots: DeliverySnapshots
    high_watermarks: HighWatermarks
    cache: BatchCache
    clock: Clock
    settings: ReplicationSettings
    producers: ProducerWindowSettings
    schedules: ScheduleKeepers
    quotas: RunQuotas
    data_keys: DataKeyKeeper
    forget_table: Callable[[LogKey], Awaitable[None]]
    close_timeout_ms: int
    is_registered: Callable[[], bool]
    on_crashed: Callable[[BaseException], None]
