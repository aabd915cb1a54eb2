"""What a node of a cluster does about disks that fail: its own, and what other nodes say of theirs."""

import asyncio

import structlog

from app.processes.node_end import NodeEnd, StorageFailedError
from cluster.life.registration import NodeRegistrar
from cluster.metadata.metadata_view import MetadataView
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationError
from storage.disk.port import DiskFailedError, ShortageError
from storage.node.disk_health import DiskHealth
from storage.node.replicas.impaired_nodes import ImpairedNodes
from storage.node.storage_node import StorageNode

_log = structlog.get_logger(__name__)


class StorageWatch:
    """Run `run` as a task."""

    def __init__(
        self,
        node: StorageNode,
        registrar: NodeRegistrar,
        metadata: MetadataView,
        end: NodeEnd,
        *,
        clock: Clock,
        interval_ms: int,
    ) -> None:
        self.health = DiskHealth()
        self._node = node
        self._registrar = registrar
        self._metadata = metadata
        self._end = end
        self._clock = clock
        self._interval_ms = interval_ms
        self._impaired_nodes = ImpairedNodes()
        self._announced: str | None = None

    async def run(self) -> None:
        """Until the data directory has failed: a node that cannot store anything must not keep others from leading."""
        announcing: asyncio.Task[None] | None = None
        try:
            while self._node.failure is None:
                await self._clock.sleep(self._interval_ms)
                self._look()
                self._impaired_nodes.tell(self._node.replicas(), self._metadata.nodes())
                is_idle = announcing is None or announcing.done()
                if is_idle and (self.health.impairment is None) is not (self._announced is None):
                    announcing = asyncio.create_task(self._announce(self.health.impairment), name="disk health")
            self._end.tell(StorageFailedError(self._node.failure))
        finally:
            if announcing is not None:
                announcing.cancel()

    def _look(self) -> None:
        logs = self._node.logs
        try:
            free_bytes = logs.free_bytes
        except ShortageError:
            return  # nothing can be said now
        except DiskFailedError:
            free_bytes = 0
        self.health.look(
            free_bytes=free_bytes,
            reserve_bytes=logs.reserve_bytes,
            pending_bytes=logs.pending_bytes,
            rounds=logs.rounds,
            now_ms=self._clock.monotonic_ms(),
        )

    async def _announce(self, impairment: str | None) -> None:
        """Tried again at the next look where the store cannot be reached."""
        try:
            await self._registrar.announce_storage(is_impaired=impairment is not None)
        except CoordinationError as error:
            _log.warning("disk_health_not_announced", reason=str(error))
            return
        self._announced = impairment
        if impairment is None:
            _log.warning("disk_recovered")
        else:
            _log.error("disk_impaired", reason=impairment)
