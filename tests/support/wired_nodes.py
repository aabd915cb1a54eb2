"""Node servers on a transport in memory, and registrations that say where they are: what clients of nodes are given."""

from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.values import NodeRegistration
from cluster.ports.coordination import Delete, Put
from cluster.stores.memory_store import MemoryStore
from storage.rpc.peer_api import PeerApi
from storage.rpc.rpc_settings import RpcServerSettings
from storage.rpc.server import NodeServer
from tests.sim.environment import MachineClock, SimClock
from tests.sim.loop import SimLoop
from tests.support.fake_node import FakeNode
from tests.support.memory_transport import MemoryTransport


class WiredNodes:
    """`start` and `close` it. The view knows of a registration when `register` returns, once it was started."""

    def __init__(self, loop: SimLoop, transport: MemoryTransport | None = None) -> None:
        self.loop = loop
        self.clock = SimClock(MachineClock(loop))
        self.transport = transport or MemoryTransport()
        self.store = MemoryStore(self.clock)
        self.metadata = MetadataView(self.store, self.clock)
        self._servers: list[NodeServer] = []
        self._is_started = False

    async def start(self) -> None:
        await self.metadata.start()
        self._is_started = True

    async def close(self) -> None:
        for server in self._servers:
            await server.close()
        await self.metadata.close()

    async def listen(self, address: str, node: FakeNode | None = None, *, peer: PeerApi | None = None) -> NodeServer:
        server = NodeServer(node or FakeNode(), self.transport, settings=RpcServerSettings(), peer=peer)
        await server.start(address)
        self._servers.append(server)
        return server

    async def register(self, node_id: int, incarnation: int, address: str, *, is_leaving: bool = False) -> None:
        registration = NodeRegistration(node_id, incarnation, f"d{node_id}", address, is_leaving=is_leaving)
        await self._write(Put(keys.node(node_id), encode(registration)))

    async def unregister(self, node_id: int) -> None:
        await self._write(Delete(keys.node(node_id)))

    async def _write(self, operation: Put | Delete) -> None:
        result = await self.store.transact([], [operation])
        if self._is_started:
            await self.metadata.wait_for(result.revision)
