"""The storage nodes of a cluster, as a gateway reaches them: over connections to where they registered."""

from cluster.metadata.metadata_view import MetadataView
from cluster.model.values import NodeRegistration
from cluster.ports.clock import Clock
from cluster.ports.entropy import Entropy
from cluster.tls.peer_identity import node_identity
from storage.rpc.client import RemoteNode
from storage.rpc.node_api import NodeApi
from storage.rpc.node_connections import NodeConnections
from storage.rpc.rpc_settings import RpcClientSettings
from storage.rpc.transport import NodeTransport


class RemoteNodes:
    """`app.gateway.dependencies.NodeDirectory` of a gateway that is a process of its own. `close` it at the end."""

    def __init__(
        self,
        metadata: MetadataView,
        transport: NodeTransport,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: RpcClientSettings,
    ) -> None:
        def connect(node: NodeRegistration) -> RemoteNode:
            return RemoteNode(
                transport,
                node.address,
                clock=clock,
                entropy=entropy,
                settings=settings,
                expects=node_identity(node.node_id),
            )

        self._connections = NodeConnections.following(metadata, connect)

    def client(self, node_id: int) -> NodeApi:
        """Raises ServerError UNAVAILABLE for a node that is not known."""
        return self._connections.to(node_id)

    async def close(self) -> None:
        """Hang up. Whoever still waits for an answer learns that none will come."""
        await self._connections.close()
