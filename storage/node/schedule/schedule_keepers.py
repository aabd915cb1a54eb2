"""What keeps the schedules of a node's partitions."""

from collections.abc import Callable
from functools import partial

from cluster.ports.clock import Clock
from storage.log.keys import LogKey
from storage.log.partition_log import PartitionLog
from storage.node.schedule.loop_share import LoopShare
from storage.node.schedule.schedule_keeper import ScheduleKeeper
from storage.schedule.schedule_index import ScheduleIndexes
from storage.schedule.schedule_settings import ScheduleSettings


class ScheduleKeepers:
    """Those of a node, by partition."""

    def __init__(
        self,
        indexes: ScheduleIndexes,
        clock: Clock,
        settings: ScheduleSettings,
        on_crashed: Callable[[BaseException], None],
    ) -> None:
        self._indexes = indexes
        self._clock = clock
        self._settings = settings
        self._on_crashed = on_crashed
        self._appending = LoopShare(percent=settings.append_loop_percent, rest_max_ms=settings.append_rest_max_ms)
        self._reading = LoopShare(percent=settings.read_loop_percent, rest_max_ms=settings.read_rest_max_ms)

    def of(self, log: PartitionLog) -> ScheduleKeeper:
        return ScheduleKeeper(
            log,
            indexes=self._indexes,
            appending=self._appending,
            reading=self._reading,
            clock=self._clock,
            settings=self._settings,
            on_crashed=self._on_crashed,
        )

    async def forget(self, key: LogKey) -> None:
        """The node holds the partition no more; nothing of its index is left."""
        await self._indexes.run(partial(self._indexes.remove, key))
