"""The other nodes of the cluster, by their registrations."""

from typing import Protocol

from cluster.metadata.metadata_view import MetadataView
from cluster.model.values import NodeRegistration
from cluster.ports.clock import Clock
from cluster.ports.entropy import Entropy
from cluster.tls.peer_identity import node_identity
from storage.rpc.node_connections import NodeConnections
from storage.rpc.peer_api import PeerApi
from storage.rpc.peer_client import RemotePeer
from storage.rpc.rpc_settings import RpcClientSettings
from storage.rpc.transport import NodeTransport

PEER_CLIENT = RpcClientSettings(request_timeout_ms=4_000, dial_timeout_ms=1_000, backoff_max_ms=1_000, is_node=True)
"""Shorter than `ReplicationSettings.fetch_answer_timeout_ms`, so that a silent connection is given up before the fetch
session is; and soon back at a node that was away."""


class Peers(Protocol):
    def peer(self, node_id: int) -> PeerApi:
        """Raises ServerError UNAVAILABLE for a node that is not known."""
        ...


class PeerDirectory:
    """Peers over connections; what becomes of them when a node registers anew or its registration ends is said in
    `NodeConnections`. `close` it at the end."""

    def __init__(
        self,
        metadata: MetadataView,
        transport: NodeTransport,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: RpcClientSettings = PEER_CLIENT,
    ) -> None:
        def connect(node: NodeRegistration) -> RemotePeer:
            return RemotePeer(
                transport,
                node.address,
                clock=clock,
                entropy=entropy,
                settings=settings,
                expects=node_identity(node.node_id),
            )

        self._connections = NodeConnections.following(metadata, connect)

    def peer(self, node_id: int) -> PeerApi:
        """Raises ServerError UNAVAILABLE for a node that never registered as long as this process lives."""
        return self._connections.to(node_id)

    async def close(self) -> None:
        await self._connections.close()
