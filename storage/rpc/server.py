"""Serves a storage node to the gateways and the other nodes that dial it."""

import asyncio

import structlog

from cluster.tls.peer_identity import PeerKind
from storage.rpc.connection_slots import ConnectionSlots
from storage.rpc.coordination_api import CoordinationApi
from storage.rpc.node_api import NodeApi
from storage.rpc.peer_api import PeerApi
from storage.rpc.rpc_settings import RpcServerSettings
from storage.rpc.server_connection import ServerConnection
from storage.rpc.stranger_log import StrangerLog
from storage.rpc.transport import Listener, NodeTransport

logger = structlog.get_logger(__name__)


class NodeServer:
    """Create, `start`, and `close` when the node has stopped waiting. Without `peer` there are no other nodes; without
    `coordination` gateways learn elsewhere what there is."""

    def __init__(
        self,
        node: NodeApi,
        transport: NodeTransport,
        *,
        settings: RpcServerSettings,
        peer: PeerApi | None = None,
        coordination: CoordinationApi | None = None,
    ) -> None:
        self._node = node
        self._peer = peer
        self._coordination = coordination
        self._transport = transport
        self._settings = settings
        self._listener: Listener | None = None
        self._slots = ConnectionSlots(settings)
        self._connections: dict[ServerConnection, None] = {}
        self._log = StrangerLog(settings.log_lines)

    async def start(self, address: str) -> None:
        """Raises OSError when the address cannot be used."""
        self._listener = await self._transport.listen(address, self._accept)

    @property
    def address(self) -> str:
        assert self._listener is not None, "start comes first"
        return self._listener.address

    @property
    def connections(self) -> int:
        return len(self._connections)

    async def close(self) -> None:
        """Accept no more, answer what is open (SHUTTING_DOWN, or OUTCOME_UNKNOWN for what may have changed something),
        hang up."""
        if self._listener is not None:
            await self._listener.close()
        await asyncio.gather(*(connection.close() for connection in list(self._connections)))

    def _accept(self) -> "ServerConnection":
        return ServerConnection(
            self._node,
            self._peer,
            self._coordination,
            settings=self._settings,
            log=self._log,
            on_began=self._connection_began,
            on_introduced=self._connection_introduced,
            on_ended=self._connection_ended,
        )

    def _connection_began(self, connection: "ServerConnection") -> None:
        self._connections[connection] = None
        self._slots.begin(connection)

    def _connection_introduced(self, connection: "ServerConnection", kind: PeerKind) -> bool:
        now_ms = asyncio.get_running_loop().time() * 1000
        if self._slots.introduce(connection, kind, now_ms=now_ms):
            return True
        self._log.warn("rpc.too_many_connections", kind=kind.value)
        return False

    def _connection_ended(self, connection: "ServerConnection") -> None:
        self._slots.end(connection)
        self._connections.pop(connection, None)
