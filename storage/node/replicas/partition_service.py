"""Opening and closing what a replica serves while it leads."""

import asyncio
from typing import Protocol

from cluster.errors import ServerError
from storage.node.partition.batch_cache import BatchCache
from storage.node.replicas.background_tasks import BackgroundTasks
from storage.node.replicas.led_partition import Partition
from storage.node.replicas.mapping_starter import MappingStarter
from storage.node.replicas.opening import LedReplica, PartitionOpener


class ServingReplica(LedReplica, Protocol):
    @property
    def is_serving(self) -> bool:
        """It leads, and knows what is committed."""
        ...

    def pass_on_high_watermarks(self) -> None:
        """Tell the partition, which has just been opened."""
        ...


class ServiceListener(Protocol):
    """The node. `opened` and `closed` follow one another; `not_opened` says why a partition that this node leads is not
    served."""

    def opened(self, partition: Partition) -> None: ...

    def closed(self, partition: Partition) -> None: ...

    def not_opened(self, replica: ServingReplica, error: ServerError) -> None: ...


class PartitionService:
    """`partition` is what is served: set while the replica leads and is open."""

    def __init__(
        self,
        replica: ServingReplica,
        opener: PartitionOpener,
        cache: BatchCache,
        tasks: BackgroundTasks,
        listener: ServiceListener,
        mappings: MappingStarter,
    ) -> None:
        self.partition: Partition | None = None
        self._replica = replica
        self._opener = opener
        self._cache = cache
        self._tasks = tasks
        self._listener = listener
        self._mappings = mappings
        self._starting: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None
        self._ended: Partition | None = None
        self._is_closed = False

    @property
    def opening(self) -> asyncio.Task[None] | None:
        """The task that opens the partition, if that is under way."""
        return self._opening

    def open(self) -> None:
        """Begin to open what the replica leads, unless that has been done."""
        if self._is_closed or self._opening is not None or self.partition is not None or self._ended is not None:
            return
        if self._replica.is_serving:
            self._opening = self._tasks.start(self._open(self._replica.leader_epoch))

    async def _open(self, leader_epoch: int) -> None:
        try:
            partition = await self._opener.open(self._replica)
        except ServerError as error:
            if self._is_still_served(leader_epoch):
                self._listener.not_opened(self._replica, error)
            return
        finally:
            self._opening = None  # what follows must not keep the end of the role waiting
        if not self._is_still_served(leader_epoch):
            partition.end_leadership()
            await partition.close()
            return
        self.partition = partition
        self._replica.pass_on_high_watermarks()  # they may have risen meanwhile
        if not await self._follows_cut_log(partition):
            return
        self._listener.opened(partition)
        self.topic_changed()
        await partition.begin()

    def topic_changed(self) -> None:
        """Who is served by another mapping from now on says where that begins. With another time to live of the topic
        something may have expired."""
        if self.partition is None:
            return
        self.partition.topic_changed()
        if not self._mappings.is_due(self._replica.topic):
            return
        if self._starting is None or self._starting.done():  # else the one that is at it sees this change, too
            self._starting = self._tasks.start(self._mappings.start(lambda: self.partition))

    async def _follows_cut_log(self, partition: Partition) -> bool:
        """Before anything is appended: what was appended later could not be told from what was cut. False: the
        leadership has ended, or cannot begin."""
        try:
            await partition.follow_cut_log()
        except ServerError as error:
            if self.partition is partition:
                self.partition = None
                partition.end_leadership()
                await partition.close()
                self._listener.not_opened(self._replica, error)
        return self.partition is partition

    def _is_still_served(self, leader_epoch: int) -> bool:
        return not self._is_closed and self._replica.is_serving and self._replica.leader_epoch == leader_epoch

    def end(self) -> None:
        """Another leads, or will: whoever waits learns that this leader will never know, and nothing more is taken."""
        partition, self.partition = self.partition, None
        if partition is not None:
            partition.end_leadership()
            self._ended = partition
            self._listener.closed(partition)

    async def close_ended(self) -> None:
        """Wait until what has ended is at rest."""
        if self._opening is not None:
            await asyncio.gather(self._opening, return_exceptions=True)
        partition, self._ended = self._ended, None
        if partition is not None:
            await partition.close()
            for host in (partition.host, partition.schedule.scheduled):
                self._cache.drop(host.log.key)

    async def close(self, timeout_ms: int) -> None:
        """Take nothing more; finish what was accepted, as long as followers come for it, `timeout_ms` at most."""
        partition = self.partition
        if partition is not None:
            self._listener.closed(partition)
            partition.host.stop_waiting()
            await partition.settle_down(timeout_ms)
            if self.partition is partition:  # else it has ended meanwhile
                self._ended, self.partition = partition, None
        self._is_closed = True
        await self.close_ended()
