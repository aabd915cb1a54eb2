"""Bringing a partition to life, for who leads it: from what its logs hold."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Protocol

import msgspec

from acklog.wire.batch import BatchCorruptError
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.ports.clock import Clock
from cluster.ports.entropy import Entropy
from storage.delivery.records import DeliveryFormatError
from storage.disk.port import DiskFailedError, DiskRefusedError
from storage.log.checkpoint import CheckpointDamagedError
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from storage.log.refusal import refusal_of
from storage.log.store import LogStore
from storage.node.encryption.data_key_keeper import DataKeyKeeper
from storage.node.groups.dead_letter_sink import DeadLetterSink
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.groups.delivery_snapshots import DeliverySnapshots
from storage.node.groups.delivery_steps import DeliverySteps
from storage.node.groups.mapping_passages import MappingPassages
from storage.node.groups.partition_groups import PartitionGroups
from storage.node.groups.partition_walls import PartitionWalls
from storage.node.partition.batch_cache import BatchCache
from storage.node.partition.keyed_log import read_keys
from storage.node.partition.keyed_runs import KeyedRuns
from storage.node.partition.mapping_gate import MappingGate
from storage.node.partition.node_settings import NodeSettings
from storage.node.partition.partition_host import PartitionHost
from storage.node.partition.record_reader import RecordReader
from storage.node.replicas.leader_figures import LeaderFigures
from storage.node.replicas.led_partition import Partition
from storage.node.schedule.other_schedules import OtherSchedules
from storage.node.schedule.recurring_definitions import RecurringDefinitions
from storage.node.schedule.run_quotas import RunQuotas
from storage.node.schedule.schedule_host import ScheduleHost
from storage.node.schedule.schedule_keeper import ScheduleKeeper
from storage.produce.dedup_window import DedupWindow
from storage.produce.producer_window import ProducerWindow
from storage.replication.leadership import Leadership


class LedReplica(Leadership, Protocol):
    """The replica that is opened."""

    @property
    def number(self) -> int: ...

    @property
    def logs(self) -> Sequence[PartitionLog]: ...

    @property
    def producers(self) -> Mapping[int, ProducerWindow]:
        """Of the logs that gateways send to, by number."""
        ...

    @property
    def schedule(self) -> ScheduleKeeper: ...


class PartitionOpener:
    """Opens partitions of one node; they share its cache and its ports."""

    def __init__(
        self,
        logs: LogStore,
        *,
        metadata: MetadataView,
        dead_letters: DeadLetterSink,
        snapshots: DeliverySnapshots,
        passages: MappingPassages,
        recurring: RecurringDefinitions,
        quotas: RunQuotas,
        others: OtherSchedules,
        data_keys: DataKeyKeeper,
        cache: BatchCache,
        figures: LeaderFigures,
        clock: Clock,
        entropy: Entropy,
        settings: NodeSettings,
        on_high_watermark: Callable[[str, int], None],
        on_returned: Callable[[str, str, int], None],
        on_crashed: Callable[[BaseException], None],
    ) -> None:
        self._logs = logs
        self._metadata = metadata
        self._dead_letters = dead_letters
        self._snapshots = snapshots
        self._passages = passages
        self._recurring = recurring
        self._quotas = quotas
        self._others = others
        self._data_keys = data_keys
        self._cache = cache
        self._figures = figures
        self._clock = clock
        self._entropy = entropy
        self._settings = settings
        self._on_high_watermark = on_high_watermark
        self._on_returned = on_returned
        self._on_crashed = on_crashed

    async def open(self, replica: "LedReplica") -> Partition:
        """Raises ServerError when the partition's logs cannot be served: RECORDS_CORRUPT, STORAGE_FULL,
        OVERLOADED, STORAGE_FAILED, and UNAVAILABLE where the data keys of its topic are not known.

        A damaged snapshot or delivery log refuses this partition and no other: to go on without it would deliver
        acknowledged messages again, so that is for the operator to say.
        """
        await self._data_keys.require(replica.topic)
        try:
            return await self._open(replica)
        except (CheckpointDamagedError, DeliveryFormatError, BatchCorruptError, msgspec.DecodeError) as error:
            raise _state_damaged(error) from error
        except DiskFailedError as error:  # of a read: a failed write has ended the store
            raise ServerError(ProblemCode.RECORDS_CORRUPT, f"The partition's state cannot be read: {error}") from error
        except DiskRefusedError as error:
            raise refusal_of(error, retry_after_ms=self._settings.open_retry_ms) from error

    async def _open(self, replica: "LedReplica") -> Partition:
        topic, number = replica.topic, replica.number
        log = replica.logs[LogKind.MESSAGES]
        keyed = KeyedRuns(await self._rebuild_dedup(replica), replica, self._clock)
        tokens = count(1)
        gate = MappingGate(partial(self._metadata.partitions, topic.id))

        def host_of(kind: int, on_high_watermark: Callable[[int], None]) -> PartitionHost:
            return PartitionHost(
                number,
                log=replica.logs[kind],
                keyed=keyed,
                tokens=tokens,
                producers=replica.producers[kind],
                find_producer=lambda producer_id: self._metadata.producers.find(producer_id),
                leadership=replica,
                gate=gate,
                cache=self._cache,
                clock=self._clock,
                settings=self._settings,
                on_high_watermark=on_high_watermark,
            )

        host = host_of(LogKind.MESSAGES, partial(self._on_high_watermark, topic.id))
        schedule = ScheduleHost(
            host,
            host_of(LogKind.SCHEDULE, lambda _number: schedule.look()),
            replica.schedule,
            replica,
            self._recurring,
            self._quotas,
            self._others,
            self._figures.schedules,
            clock=self._clock,
            settings=self._settings.schedule,
            on_crashed=self._on_crashed,
        )
        delivery = await self._open_delivery(replica)
        reader = RecordReader(log, self._cache, self._figures.filters, read_ahead_bytes=self._settings.read_ahead_bytes)
        on_returned = partial(self._on_returned, topic.id)
        steps = DeliverySteps(
            host,
            delivery,
            reader,
            metadata=self._metadata,
            dead_letters=self._dead_letters,
            figures=self._figures.given_up,
            clock=self._clock,
            settings=self._settings,
            on_returned=lambda group_id: on_returned(group_id, number),
            on_crashed=self._on_crashed,
        )
        groups = PartitionGroups(
            host,
            delivery,
            reader,
            steps,
            PartitionWalls(
                host, self._passages, clock=self._clock, on_returned=lambda group_id: on_returned(group_id, number)
            ),
            figures=self._figures.given_up,
            clock=self._clock,
            entropy=self._entropy,
            settings=self._settings,
            on_returned=on_returned,
        )
        return Partition(replica, host, reader, delivery, groups, steps, schedule)

    async def _open_delivery(self, replica: "LedReplica") -> DeliveryHost:
        delivery = DeliveryHost(
            self._snapshots.new_state(replica.leader_epoch),
            replica.logs[LogKind.DELIVERY],
            leadership=replica,
            clock=self._clock,
            snapshots=self._snapshots,
            snapshot_bytes=self._settings.delivery_snapshot_bytes,
            on_disk_failed=self._logs.fail,
        )
        try:
            await delivery.recover()
        except ServerError as error:
            if error.code is not ProblemCode.RECORDS_CORRUPT:
                raise
            raise _state_damaged(error) from error
        return delivery

    async def _rebuild_dedup(self, replica: "LedReplica") -> DedupWindow:
        """The keys of the last window, from the logs: what a new leader needs to answer a retry (rule R19)."""
        config = replica.topic.config
        window = DedupWindow(window_ms=config.dedup_window_ms, limit_bytes=self._settings.dedup_window_bytes_max)
        for kind in replica.producers:
            await read_keys(replica.logs[kind], window, self._clock)
        return window


def _state_damaged(error: Exception) -> ServerError:
    detail = (
        "What the groups of the partition have done is damaged, so it is not served. Stop the server: "
        "`acklog fsck --repair` says what can be restored, and does it with --yes; a node of a cluster takes it from "
        f"the other replicas. {error}"
    )
    return ServerError(ProblemCode.RECORDS_CORRUPT, detail)
