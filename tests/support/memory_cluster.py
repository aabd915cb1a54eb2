"""Whole nodes and gateways of a cluster on virtual time, with a store and a transport in memory. Nothing fails here but
what a test makes fail; the cluster's simulation is for the rest."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import httpx2

from app.configuration.node_process_settings import NodeProcessSettings
from app.configuration.server_settings import Settings
from app.http.application import create_app
from app.processes.cluster_gateway import ClusterGateway, start_cluster_gateway
from app.processes.cluster_node import ClusterNode, start_cluster_node
from cluster.ports.coordination import CoordinationStore
from cluster.stores.memory_store import MemoryStore
from storage.log.log_settings import LogStoreSettings
from storage.node.partition.node_settings import NodeSettings
from storage.rpc.transport import Listener, StreamHandler
from tests.sim.environment import MachineClock, SimClock, SimEntropy, SimExecutor
from tests.sim.loop import SimLoop, simulate
from tests.sim.sim_disk import SimDisk
from tests.support.flaky_store import FlakyStore
from tests.support.memory_transport import MemoryTransport

_Result = TypeVar("_Result")

SMALL = NodeSettings(log_store=LogStoreSettings(journal_file_bytes=256 * 1024, reserve_bytes=0, ballast_bytes=0))


class OwnConnection(FlakyStore):
    """One process's connection to the store that all share: closing it closes nothing of the others'."""

    is_closed = False

    async def close(self) -> None:
        self.is_closed = True


class ListeningTransport(MemoryTransport):
    refuse_listening = False

    async def listen(self, address: str, accept: Callable[[], StreamHandler]) -> Listener:
        if self.refuse_listening:
            raise OSError(f"{address} is in use")
        return await super().listen(address, accept)


class MemoryCluster:
    def __init__(self, loop: SimLoop) -> None:
        self.clock = SimClock(MachineClock(loop))
        self.store = MemoryStore(self.clock)
        self.transport = ListeningTransport()
        self.disks: dict[int, SimDisk] = {}
        self._starts = 0

    async def node(
        self,
        node_id: int,
        *,
        disk: SimDisk | None = None,
        connections: list[OwnConnection] | None = None,
        connection: CoordinationStore | None = None,
        **settings: Any,
    ) -> ClusterNode:
        """Started on the disk of its earlier life, unless another one is given. Its connection to the store is added to
        `connections`."""
        self._starts += 1
        own = OwnConnection(self.store)
        if connections is not None:
            connections.append(own)
        self.disks[node_id] = disk or self.disks.get(node_id) or SimDisk(seed=node_id)
        return await start_cluster_node(
            store=connection or own,
            transport=self.transport,
            disk=self.disks[node_id],
            io=SimExecutor(self._starts),
            clock=self.clock,
            entropy=SimEntropy(self._starts),
            settings=NodeProcessSettings(node_id=node_id, **{"listen": f"node-{node_id}:7000", **settings}),
            node_settings=SMALL,
        )

    async def stop(self, node: ClusterNode) -> None:
        await node.close()
        self.disks[node.settings.node_id].kill()

    async def gateway(self, *, connection: CoordinationStore | None = None, **settings: Any) -> ClusterGateway:
        self._starts += 1
        return await start_cluster_gateway(
            store=connection or OwnConnection(self.store),
            transport=self.transport,
            clock=self.clock,
            entropy=SimEntropy(self._starts),
            settings=Settings(**settings),
        )

    async def until(self, condition: Callable[[], object], *, patience_ms: int = 60_000) -> None:
        end_ms = self.clock.monotonic_ms() + patience_ms
        while not condition():
            assert self.clock.monotonic_ms() < end_ms, "waited in vain"
            await self.clock.sleep(10)


def client_of(gateway: ClusterGateway) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=create_app(gateway.gateway), raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url="http://gateway", timeout=None)


def with_cluster(main: Callable[[MemoryCluster], Coroutine[Any, Any, _Result]]) -> _Result:
    """Run `main(cluster)` on a simulated loop."""

    async def run(loop: SimLoop) -> _Result:
        return await main(MemoryCluster(loop))

    result, _ = simulate(1, run)
    return result
