"""An embedded server's machine: node, gateway and coordination store are one process, and nobody else is needed."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar, cast

from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.processes.cluster_node import ClusterNode
from app.processes.embedded import EmbeddedServer, start_embedded
from app.processes.embedded_node import NODE_ID
from cluster.ports.coordination import Compare, KeyValue, Listing, Operation, StoreLease, TransactionResult, Watch
from cluster.stores.memory_store import MemoryStore
from tests.sim.cluster.machines import Connection, Host, NodeMachine, ProcessDisk, Surrounding, node_settings
from tests.sim.environment import SimClock, SimEntropy, SimExecutor
from tests.sim.http_client import HttpClient
from tests.sim.process import Process, ProcessDiedError, outside
from tests.sim.simulated_master_key import master_keys_of

_Result = TypeVar("_Result")

GRACE_S = 2
"""What requests that are under way get in a graceful stop."""


class ProcessStore:
    """The coordination store as one process has it: each call takes a while, and may be done after the process died."""

    def __init__(self, store: MemoryStore, process: Process, seed: str, mean_ms: float) -> None:
        self._store = store
        self._process = process
        self._random = random.Random(f"store {seed}")
        self._mean_ms = mean_ms

    async def _do(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        if self._process.is_dead:
            work.close()
            raise ProcessDiedError(self._process.name)
        delay_s = self._random.expovariate(1 / self._mean_ms) / 1000

        async def later() -> _Result:
            await asyncio.sleep(delay_s)
            return await work

        result = await outside(later())
        await asyncio.sleep(delay_s / 4)
        return result

    async def get(self, key: str) -> KeyValue | None:
        return await self._do(self._store.get(key))

    async def list(self, prefix: str) -> Listing:
        return await self._do(self._store.list(prefix))

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        return await self._do(self._store.transact(compares, then, otherwise))

    async def grant_lease(self, ttl_ms: int) -> StoreLease:
        return await self._do(self._store.grant_lease(ttl_ms))

    async def keep_alive(self, lease_id: int) -> None:
        await self._do(self._store.keep_alive(lease_id))

    async def revoke_lease(self, lease_id: int) -> None:
        await self._do(self._store.revoke_lease(lease_id))

    def watch(self, prefix: str, start_revision: int) -> Watch:
        return self._store.watch(prefix, start_revision)

    async def compact(self, revision: int) -> None:
        await self._do(self._store.compact(revision))

    async def close(self) -> None:
        """The store outlives the process."""

    def end(self) -> None:
        """So it does where the process is killed."""


class EmbeddedMachine(NodeMachine):
    """A node's machine that is its own gateway. Whatever its end, its store has what was written."""

    def __init__(self, around: Surrounding, on_death: Callable[[Host], None]) -> None:
        super().__init__(NODE_ID, around, on_death)
        self.gateway: EmbeddedServer | None = None
        self.http: HttpClient | None = None

    def _connect(self, process: Process) -> Connection:
        options = self._around.options
        return ProcessStore(
            self._around.coordination.store, process, f"{process.name} {options.seed}", options.server.store_mean_ms
        )

    async def _start_server(self, process: Process, io: SimExecutor) -> ClusterNode:
        """What is asked of a node here, an embedded server has as well."""
        options = self._around.options
        assert self.store is not None
        server = await start_embedded(
            store=self.store,
            disk=ProcessDisk(self.disk, process),
            io=io,
            clock=SimClock(self.clock),
            entropy=SimEntropy(f"{process.name} {options.seed}"),
            settings=Settings(partitions_default=options.server.partitions, encrypt_topics=options.is_encrypted),
            node_settings=node_settings(options.server),
            master_keys=master_keys_of(options, process.name),
        )
        return cast(ClusterNode, server)

    def _serves(self, node: ClusterNode) -> None:
        assert self.process is not None
        self.gateway = server = cast(EmbeddedServer, node)
        self.http = HttpClient(self.process, create_server_app(server.gateway), server.gateway.settings)

    def _is_failure_of_the_disk(self, error: Exception) -> bool:
        """Whatever a start says, the next one is on what the disk really has."""
        return True

    @property
    def reason_to_end(self) -> object | None:
        return None if self.node is None else self.node.node.failure

    async def stop(self) -> None:
        self._answers_no_more()
        await super().stop()

    async def _close(self, node: ClusterNode) -> None:
        server = cast(EmbeddedServer, node)
        server.begin_shutdown()
        await asyncio.sleep(GRACE_S)
        await server.close()

    def end(self, *, loses_power: bool = False) -> None:
        self._answers_no_more()
        super().end(loses_power=loses_power)

    def _answers_no_more(self) -> None:
        self.gateway = None
        self.http = None
