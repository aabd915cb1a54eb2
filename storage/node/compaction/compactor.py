"""Compacts the logs of a node's partitions, in the background: whoever leads or follows does so for itself.

One partition at a time, at a rate, so that sends and receives notice little of it. A pass that fails or is given up
leaves a log in which everything can be read; the next one does the rest.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.values import TopicConfig
from cluster.ports.clock import Clock
from storage.compaction.compaction_plan import Compacted, CompactionLags, CompactionPlan, plan_compaction
from storage.compaction.compaction_settings import CompactionSettings
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk, DiskFailedError, DiskRefusedError
from storage.log.log_table import LogKind
from storage.log.store import LogStore
from storage.node.compaction.log_compaction import LogCompaction
from storage.node.partition.batch_cache import BatchCache
from storage.node.replicas.replica_host import ReplicaHost
from storage.replication.messages import PartitionId

logger = structlog.get_logger(__name__)


@dataclass(slots=True)
class CompactorFigures:
    """Since the start."""

    passes: int = 0
    records_removed: int = 0
    bytes_reclaimed: int = 0
    failures: int = 0


class Compactor:
    """Of one node. `replicas` are those that it holds."""

    def __init__(
        self,
        replicas: Callable[[], Iterable[ReplicaHost]],
        *,
        logs: LogStore,
        metadata: MetadataView,
        cache: BatchCache,
        disk: Disk,
        io: IoExecutor,
        clock: Clock,
        settings: CompactionSettings,
        producers_window_ms: int,
    ) -> None:
        self.figures = CompactorFigures()
        self.under_way: PartitionId | None = None
        self._replicas = replicas
        self._logs = logs
        self._metadata = metadata
        self._cache = cache
        self._disk = disk
        self._io = io
        self._clock = clock
        self._settings = settings
        self._producers_window_ms = producers_window_ms
        self._compactions: dict[PartitionId, tuple[ReplicaHost, LogCompaction]] = {}
        self._retry_at_ms: dict[PartitionId, int] = {}
        self._asked: dict[PartitionId, int] = {}  # where the log ended then
        self._plans: dict[PartitionId, CompactionPlan] = {}
        self._wake = asyncio.Event()

    async def run(self) -> None:
        while True:
            try:
                settings = self._settings
                interval_ms = settings.asked_look_interval_ms if self._asked else settings.look_interval_ms
                async with asyncio.timeout(interval_ms / 1000):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            await self.look()

    def ask(self, replica: ReplicaHost) -> None:
        """Compact it soon, however little there is to be done."""
        self._asked[replica.id] = replica.logs[LogKind.MESSAGES].log_end
        self._retry_at_ms.pop(replica.id, None)
        self._wake.set()

    def is_asked(self, partition: PartitionId) -> bool:
        """Somebody has asked for it, and it has not come to its end since."""
        return partition in self._asked

    def last_plans(self) -> dict[PartitionId, CompactionPlan]:
        """How much of each partition was clean and dirty when it was looked at last: `look_interval_ms` ago at most
        while no pass is under way."""
        return dict(self._plans)

    def _failed(self, replica: ReplicaHost, error: Exception) -> None:
        """The pass is tried again later."""
        self.figures.failures += 1
        self._retry_at_ms[replica.id] = self._clock.monotonic_ms() + self._settings.retry_ms
        logger.warning("compaction_failed", topic=replica.topic.name, partition=replica.number, reason=str(error))

    async def look(self) -> None:
        """Compact all that is due."""
        replicas = [each for each in self._replicas() if each.topic.config.is_compacted and not each.topic.is_restoring]
        held = {each.id for each in replicas}
        for partition in [each for each in (*self._compactions, *self._asked) if each not in held]:
            for known in (self._compactions, self._retry_at_ms, self._asked, self._plans):
                known.pop(partition, None)
        for replica in replicas:
            if self._retry_at_ms.get(replica.id, 0) > self._clock.monotonic_ms():
                continue
            self.under_way = replica.id
            try:
                await self._compact(replica)
            except (ServerError, ValueError, FileNotFoundError, DiskFailedError, DiskRefusedError) as error:
                if not replica.logs[LogKind.MESSAGES].is_removed:  # else the replica was let go in the middle of a pass
                    self._failed(replica, error)
            finally:
                self.under_way = None

    async def plan(self, replica: ReplicaHost) -> CompactionPlan:
        """What the next pass would do. Raises DiskFailedError, DiskRefusedError."""
        compaction = self._compaction_of(replica)
        return self._plan(replica, await compaction.compacted())

    async def _compact(self, replica: ReplicaHost) -> None:
        """As many passes as it takes."""
        asked, config = self._asked.get(replica.id), replica.topic.config
        is_asked = asked is not None
        compaction, log = self._compaction_of(replica), replica.logs[LogKind.MESSAGES]
        if is_asked or config.max_compaction_lag_ms >= 0:
            lag_ms = config.min_compaction_lag_ms if is_asked else config.max_compaction_lag_ms
            await log.seal(appended_before_ms=self._clock.now_ms() - lag_ms)
        while True:
            plan = self._plan(replica, done := await compaction.compacted())
            self._plans[replica.id] = plan
            is_wanted = is_asked and plan.end > done.clean_end
            if not (plan.is_due or is_wanted):
                break
            self._check_space(replica)
            outcome = await compaction.go_through(
                plan.end,
                tombstone_ms=config.tombstone_retention_ms,
                identities_ms=max(config.dedup_window_ms, self._producers_window_ms),
                tombstones_may_go=lambda: self._tombstones_may_go(replica),
            )
            self.figures.passes += 1
            self.figures.records_removed += outcome.records_removed
            self.figures.bytes_reclaimed += outcome.bytes_reclaimed
            logger.info(
                "log_compacted",
                topic=replica.topic.name,
                partition=replica.number,
                end=outcome.compacted.clean_end,
                removed=outcome.records_removed,
                reclaimed_bytes=outcome.bytes_reclaimed,
            )
            if outcome.compacted.clean_end >= plan.end:
                self._plans[replica.id] = self._plan(replica, outcome.compacted)
                break
        # A follower hears later than its leader what is committed.
        is_all_committed = asked is not None and replica.high_watermarks[LogKind.MESSAGES] >= min(asked, log.log_end)
        if is_all_committed and self._asked.get(replica.id) == asked:
            del self._asked[replica.id]

    def _plan(self, replica: ReplicaHost, done: Compacted) -> CompactionPlan:
        return plan_compaction(
            replica.logs[LogKind.MESSAGES].sealed_segments(),
            done,
            _lags_of(replica.topic.config),
            committed_end=_removable_end(replica),
            now_ms=self._clock.now_ms(),
            dirty_ratio_min=self._settings.dirty_ratio_min,
            tombstones_may_go=self._tombstones_may_go(replica),
        )

    def _compaction_of(self, replica: ReplicaHost) -> LogCompaction:
        known = self._compactions.get(replica.id)
        if known is not None and known[0] is replica:
            return known[1]
        log = replica.logs[LogKind.MESSAGES]
        compaction = LogCompaction(
            log,
            disk=self._disk,
            io=self._io,
            clock=self._clock,
            settings=self._settings,
            on_replaced=partial(self._replaced, replica),
        )
        self._compactions[replica.id] = replica, compaction
        return compaction

    def _replaced(self, replica: ReplicaHost, start: int, end: int) -> None:
        self._cache.drop_between(replica.logs[LogKind.MESSAGES].key, start, end)
        if replica.partition is not None:  # else whoever leads it next looks for himself
            replica.partition.compacted(start, end)

    def _tombstones_may_go(self, replica: ReplicaHost) -> bool:
        """A replica that is behind a tombstone may still have what that removes; and where the topic's partitions were
        changed, another partition may have an earlier value of the key, for good."""
        if replica.topic.mapping > 0:
            return False
        state = self._metadata.partition(replica.topic.id, replica.number)
        return state is not None and not state.is_moving and set(state.isr) == set(state.replicas)

    def _check_space(self, replica: ReplicaHost) -> None:
        """Raises ServerError where the largest segment would not fit beside itself."""
        largest = max((each.size_bytes for each in replica.logs[LogKind.MESSAGES].sealed_segments()), default=0)
        if self._logs.free_bytes < self._logs.reserve_bytes + largest:
            raise ServerError(ProblemCode.STORAGE_FULL, "there is no room for another copy of a segment")


def _lags_of(config: TopicConfig) -> CompactionLags:
    return CompactionLags(config.min_compaction_lag_ms, config.max_compaction_lag_ms, config.tombstone_retention_ms)


def _removable_end(replica: ReplicaHost) -> int:
    """Below it all is committed, and it is recorded which scheduled messages came to be there: what a leader does not
    find there it appends again."""
    if replica.partition is not None:
        recorded_end = replica.partition.schedule.recorded_end
    elif replica.logs[LogKind.SCHEDULE].log_end > 0:
        recorded_end = replica.schedule.state.messages_end
    else:
        return replica.high_watermarks[LogKind.MESSAGES]
    return min(recorded_end, replica.high_watermarks[LogKind.MESSAGES])
