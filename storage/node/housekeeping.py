"""What a node does in the background: retention, the projection of progress, and forgetting deleted groups."""

from collections.abc import Awaitable, Callable

import structlog

from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.partition_change import found_empty
from cluster.model.values import PartitionLife, PartitionState, RetentionMode
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationError, CoordinationStore, Put, unchanged
from storage.node.append_times import AppendTimes
from storage.node.offset_projection import OffsetProjection
from storage.node.partition.node_settings import NodeSettings
from storage.node.registered_readers import RegisteredReaders
from storage.node.replicas.led_partition import Partition
from storage.node.replicas.replicas import Replicas
from storage.node.schedule.schedule_trimming import keep_short
from storage.schedule.schedule_index import IndexFailedError

logger = structlog.get_logger(__name__)


class Housekeeping:
    """One task; each step is bounded and a failing one never stops the others."""

    def __init__(
        self,
        replicas: Replicas,
        *,
        store: CoordinationStore,
        metadata: MetadataView,
        clock: Clock,
        projection: OffsetProjection,
        append_times: AppendTimes,
        settings: NodeSettings,
        forget_deleted_groups: Callable[[], Awaitable[None]],
        on_group_removed: Callable[[str], None],
    ) -> None:
        self._replicas = replicas
        self._store = store
        self._metadata = metadata
        self._clock = clock
        self._projection = projection
        self._append_times = append_times
        self._settings = settings
        self._forget_in_coordinators = forget_deleted_groups
        self._on_group_removed = on_group_removed
        self._readers = RegisteredReaders(store, metadata)
        self.bytes_removed = 0

    async def run(self) -> None:
        next_retention_ms = self._clock.monotonic_ms() + self._settings.retention_interval_ms
        next_checkpoint_ms = self._clock.monotonic_ms() + self._settings.high_watermark_checkpoint_ms
        while True:
            await self._clock.sleep(self._settings.projection_interval_ms)
            await self._projection.flush_if_due(self._replicas.held.take_moved)
            await self._append_times.look_up()
            if self._clock.monotonic_ms() >= next_checkpoint_ms:
                next_checkpoint_ms = self._clock.monotonic_ms() + self._settings.high_watermark_checkpoint_ms
                await self._replicas.checkpoint_high_watermarks()
            if self._clock.monotonic_ms() < next_retention_ms:
                continue
            next_retention_ms = self._clock.monotonic_ms() + self._settings.retention_interval_ms
            await self._replicas.compact_followers()
            self._readers.look_anew()
            for partition in self._replicas.held.led():
                try:
                    if partition.host.topic.is_restoring:
                        continue  # what comes in is old, and nobody has seen it yet
                    if _has_been_used(partition):
                        await self.retain(partition)
                        await self._keep_schedule_short(partition)
                        await self._forget_deleted_groups(partition)
                    await self._tell_if_empty(partition)
                except (ServerError, CoordinationError) as error:
                    logger.warning(
                        "housekeeping_failed",
                        topic=partition.host.topic.name,
                        partition=partition.number,
                        reason=str(error),
                    )
            try:
                await self._forget_in_coordinators()
            except CoordinationError as error:
                logger.warning("housekeeping_failed", reason=str(error))

    async def retain(self, partition: Partition) -> None:
        """Remove whole segments that are deleted, or past the topic's retention, and say so to the groups that lose by
        it.

        Only what is committed is ever removed: followers are told, and follow. Raises ServerError, CoordinationError.
        """
        log = partition.host.log
        config = partition.host.topic.config
        before_bytes, before_start = log.size_bytes, log.log_start
        # Idempotency keys live in the batches, so nothing removes those of the present window (rule R28).
        keep_keyed_after_ms = self._clock.now_ms() - config.dedup_window_ms
        removable_end = partition.schedule.recorded_end
        unneeded_end = min(await self._unneeded_end(partition), removable_end)
        if unneeded_end > log.log_start:
            await log.retain(
                retention_ms=0,
                retention_bytes=-1,
                not_after_offset=unneeded_end,
                keep_keyed_after_ms=keep_keyed_after_ms,
            )
        await log.retain(
            retention_ms=config.retention_ms if config.is_retained else -1,
            retention_bytes=config.retention_bytes if config.is_retained else -1,
            not_after_offset=removable_end,
            keep_keyed_after_ms=keep_keyed_after_ms,
        )
        self.bytes_removed += max(0, before_bytes - log.size_bytes)
        if log.log_start > before_start:
            partition.leadership.log_moved()  # followers hear of it, also where nothing is sent any more
        await partition.groups.advance_log_start()

    async def _unneeded_end(self, partition: Partition) -> int:
        """Nobody needs what is below: it is deleted, or done by every group that the topic keeps messages for. Raises
        CoordinationError."""
        start = partition.host.readable_start
        if partition.host.topic.config.retention is not RetentionMode.UNTIL_ACKED:
            return start
        done_end = min((position.progress for position in partition.groups.positions()), default=start)
        if done_end <= start or await self._readers.not_here_yet(partition) is not None:
            return start
        return done_end

    async def _keep_schedule_short(self, partition: Partition) -> None:
        try:
            await keep_short(partition.schedule, self._clock, self._settings.schedule)
        except IndexFailedError as error:
            logger.warning("schedule_not_kept_short", partition=partition.number, reason=str(error))

    async def _forget_deleted_groups(self, partition: Partition) -> None:
        for group_id in partition.groups.group_ids():
            # A group is forgotten on its tombstone only, never because the metadata looks empty (rule R13).
            if self._metadata.group_by_id(group_id) is None:
                tombstone = await self._store.get(keys.tombstone(group_id))
                if tombstone is not None:
                    await partition.groups.remove(group_id)
                    self._on_group_removed(group_id)

    async def _tell_if_empty(self, partition: Partition) -> None:
        """Only its leader knows that nothing is left in a decommissioned partition; the controller then lets it go."""
        host = partition.host
        state = self._metadata.partition(partition.topic_id, partition.number)
        if state is None or state.life is not PartitionLife.DECOMMISSIONED:
            return
        if host.log.log_start < host.log.log_end or host.high_watermark < host.log.log_end:
            return
        if partition.schedule.may_have_any:
            return
        item = await self._store.get(keys.partition(partition.topic_id, partition.number))
        if item is None:
            return
        changed = found_empty(decode(PartitionState, item.value))
        if changed is not None and changed.leader_epoch == host.leader_epoch:
            await self._store.transact([unchanged(item)], [Put(item.key, encode(changed))])


def _has_been_used(partition: Partition) -> bool:
    """Thousands of partitions may be there that nobody has used yet: there is nothing to keep short in them."""
    return bool(partition.host.log.log_end or partition.groups.group_ids() or partition.schedule.keeper.has_any)
