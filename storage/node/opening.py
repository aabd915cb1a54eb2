"""Bringing a partition to life from what is on disk, and removing it for good."""

from collections.abc import Callable
from functools import partial

import msgspec
import structlog

from acklog.wire.batch import BatchCorruptError, decode_keys
from acklog.wire.problems import ProblemCode
from cluster import keys
from cluster.clock import Clock
from cluster.coordination import CoordinationStore
from cluster.entropy import Entropy
from cluster.errors import AcklogError
from cluster.metadata_view import MetadataView
from cluster.model import GroupSettings, PartitionState, Topic
from storage.delivery.dedup_window import DedupWindow
from storage.delivery.partition_delivery import PartitionDelivery
from storage.delivery.records import DeliveryFormatError
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk, DiskFailedError, DiskFullError
from storage.log.checkpoint import CheckpointDamagedError
from storage.log.keys import LogKey, LogKind
from storage.log.partition_log import PartitionLog
from storage.log.settings import LogSettings
from storage.log.store import LogStore
from storage.node.batch_cache import BatchCache
from storage.node.dead_letter_sink import DeadLetterSink
from storage.node.delivery_host import DeliveryHost
from storage.node.delivery_steps import DeliverySteps
from storage.node.partition import Partition
from storage.node.partition_groups import PartitionGroups
from storage.node.partition_host import PartitionHost
from storage.node.record_reader import RecordReader
from storage.node.settings import NodeSettings

logger = structlog.get_logger(__name__)

_DEDUP_READ_BYTES = 4 * 1024 * 1024


class PartitionOpener:
    """Opens partitions of one node; they share its cache and its ports."""

    def __init__(
        self,
        logs: LogStore,
        *,
        store: CoordinationStore,
        metadata: MetadataView,
        dead_letters: DeadLetterSink,
        disk: Disk,
        io: IoExecutor,
        cache: BatchCache,
        clock: Clock,
        entropy: Entropy,
        settings: NodeSettings,
        on_high_watermark: Callable[[str, int], None],
        on_returned: Callable[[str, str, int], None],
        on_crashed: Callable[[BaseException], None],
    ) -> None:
        self._logs = logs
        self._store = store
        self._metadata = metadata
        self._dead_letters = dead_letters
        self._disk = disk
        self._io = io
        self._cache = cache
        self._clock = clock
        self._entropy = entropy
        self._settings = settings
        self._on_high_watermark = on_high_watermark
        self._on_returned = on_returned
        self._on_crashed = on_crashed

    async def open(self, topic: Topic, state: PartitionState) -> Partition:
        """Raises AcklogError when the partition's logs cannot be served: RECORDS_CORRUPT, STORAGE_FULL, STORAGE_FAILED.

        A damaged snapshot or delivery log refuses this partition and no other: to go on without it would deliver
        acknowledged messages again.
        """
        try:
            return await self._open(topic, state)
        except (CheckpointDamagedError, DeliveryFormatError, BatchCorruptError, msgspec.DecodeError) as error:
            raise AcklogError(ProblemCode.RECORDS_CORRUPT, f"The partition's state is damaged: {error}") from error
        except DiskFailedError as error:  # of a read: a failed write has ended the store
            raise AcklogError(ProblemCode.RECORDS_CORRUPT, f"The partition's state cannot be read: {error}") from error
        except DiskFullError as error:
            raise AcklogError(ProblemCode.STORAGE_FULL, f"The partition cannot be opened: {error}") from error

    async def _open(self, topic: Topic, state: PartitionState) -> Partition:
        log = await self._logs.open_log(
            LogKey(topic.id, state.partition, LogKind.MESSAGES),
            LogSettings(segment_bytes=topic.config.segment_bytes),
        )
        host = PartitionHost(
            topic,
            state.partition,
            log=log,
            dedup=await self._rebuild_dedup(topic, log),
            leader_epoch=state.leader_epoch,
            cache=self._cache,
            clock=self._clock,
            settings=self._settings,
            on_high_watermark=partial(self._on_high_watermark, topic.id),
        )
        delivery = await self._open_delivery(topic, state)
        reader = RecordReader(log, self._cache, read_ahead_bytes=self._settings.read_ahead_bytes)
        on_returned = partial(self._on_returned, topic.id)
        steps = DeliverySteps(
            host,
            delivery,
            reader,
            metadata=self._metadata,
            dead_letters=self._dead_letters,
            clock=self._clock,
            settings=self._settings,
            on_returned=lambda group_id: on_returned(group_id, state.partition),
            on_crashed=self._on_crashed,
        )
        groups = PartitionGroups(
            host,
            delivery,
            reader,
            steps,
            clock=self._clock,
            entropy=self._entropy,
            settings=self._settings,
            on_returned=on_returned,
        )
        try:
            await groups.advance_log_start()
        except AcklogError as error:  # the next retention tries again
            logger.warning("group_jump_delayed", topic=topic.name, partition=state.partition, reason=str(error))
        steps.arm()
        return Partition(host, reader, delivery, groups, steps)

    async def _open_delivery(self, topic: Topic, state: PartitionState) -> DeliveryHost:
        log = await self._logs.open_log(
            LogKey(topic.id, state.partition, LogKind.DELIVERY),
            LogSettings(segment_bytes=self._settings.delivery_segment_bytes),
        )
        delivery = DeliveryHost(
            PartitionDelivery(
                leader_epoch=state.leader_epoch,
                settings_of=self._group_settings,
                groups_max=self._settings.groups_per_partition_max,
                settings=self._settings.delivery,
            ),
            log,
            leader_epoch=state.leader_epoch,
            clock=self._clock,
            disk=self._disk,
            io=self._io,
            snapshot_path=f"{log.key.directory}/snapshot",
            snapshot_bytes=self._settings.delivery_snapshot_bytes,
            on_disk_failed=self._logs.fail,
        )
        await delivery.recover()
        return delivery

    def _group_settings(self, group_id: str) -> GroupSettings:
        group = self._metadata.group_by_id(group_id)
        return group.settings if group is not None else GroupSettings()

    async def _rebuild_dedup(self, topic: Topic, log: PartitionLog) -> DedupWindow:
        """The keys of the last window, from the log itself: what a new leader needs to answer a retry (rule R19)."""
        window = DedupWindow(window_ms=topic.config.dedup_window_ms, limit_bytes=self._settings.dedup_window_bytes_max)
        wall_now_ms = self._clock.now_ms()
        since_ms = wall_now_ms - topic.config.dedup_window_ms
        for first, end in log.keyed_ranges_since(since_ms):
            offset = max(first, log.log_start)
            while offset < end:
                for stored in await log.read(offset, max_bytes=_DEDUP_READ_BYTES, until=end):
                    header = stored.header
                    offset = header.next_offset
                    if header.is_keyed and header.append_time_ms >= since_ms:
                        window.rebuild(
                            decode_keys(stored.data, header),
                            header.base_offset,
                            header.leader_epoch,
                            age_ms=wall_now_ms - header.append_time_ms,
                            now_ms=self._clock.monotonic_ms(),
                        )
        return window


async def remove_partition_data(logs: LogStore, store: CoordinationStore, topic_id: str, partition: int) -> bool:
    """Remove a deleted topic's logs, if its tombstone says that it was deleted on purpose (rule R13)."""
    if await store.get(keys.tombstone(topic_id)) is None:
        logger.error("partition_data_kept", topic_id=topic_id, partition=partition, reason="no tombstone")
        return False
    for kind in (LogKind.DELIVERY, LogKind.MESSAGES):
        await logs.remove_log(LogKey(topic_id, partition, kind))
    return True
