"""The other nodes of the cluster, by their registrations."""

import asyncio
from typing import Protocol

from acklog.wire.problems import ProblemCode
from cluster.clock import Clock
from cluster.entropy import Entropy
from cluster.errors import AcklogError
from cluster.metadata_view import MetadataView
from cluster.model import NodeRegistration
from storage.rpc.peer_api import PeerApi
from storage.rpc.peer_client import RemotePeer
from storage.rpc.settings import RpcClientSettings
from storage.rpc.transport import Transport

PEER_CLIENT = RpcClientSettings(request_timeout_ms=4_000, dial_timeout_ms=1_000, backoff_max_ms=1_000)
"""Shorter than `ReplicationSettings.fetch_answer_timeout_ms`, so that a silent connection is given up before the fetch
session is; and soon back at a node that was away."""


class Peers(Protocol):
    def peer(self, node_id: int) -> PeerApi:
        """Raises AcklogError UNAVAILABLE for a node that is not known."""
        ...


class PeerDirectory:
    """Connections to the other nodes, dialled when they are first used. `close` it at the end.

    A node that registers anew gets new connections: the old ones lead to a process that is gone. One whose registration
    ends keeps its address until then: leases also end because the coordination store was away, while the node lives and
    its followers go on fetching.
    """

    def __init__(
        self,
        metadata: MetadataView,
        transport: Transport,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: RpcClientSettings = PEER_CLIENT,
    ) -> None:
        self._metadata = metadata
        self._transport = transport
        self._clock = clock
        self._entropy = entropy
        self._settings = settings
        self._peers: dict[int, tuple[NodeRegistration, RemotePeer]] = {}
        self._closing: dict[asyncio.Task[None], None] = {}
        self._is_closed = False
        self._unsubscribe = metadata.subscribe(self._metadata_changed)

    def peer(self, node_id: int) -> PeerApi:
        """Raises AcklogError UNAVAILABLE for a node that never registered as long as this process lives."""
        if self._is_closed:
            raise AcklogError(ProblemCode.UNAVAILABLE, "the connections to the other nodes are closed")
        known = self._peers.get(node_id)
        if known is not None:
            return known[1]
        registration = self._metadata.node(node_id)
        if registration is None:
            raise AcklogError(ProblemCode.UNAVAILABLE, f"node {node_id} is not registered")
        return self._add(registration)

    async def close(self) -> None:
        self._is_closed = True
        self._unsubscribe()
        for node_id in list(self._peers):
            self._retire(node_id)
        await asyncio.gather(*self._closing)

    def _metadata_changed(self) -> None:
        for node_id, (registration, _) in list(self._peers.items()):
            present = self._metadata.node(node_id)
            if present is not None and not _is_same_process(present, registration):
                self._retire(node_id)

    def _add(self, registration: NodeRegistration) -> RemotePeer:
        peer = RemotePeer(
            self._transport,
            registration.address,
            clock=self._clock,
            entropy=self._entropy,
            settings=self._settings,
        )
        self._peers[registration.node_id] = registration, peer
        return peer

    def _retire(self, node_id: int) -> None:
        _, peer = self._peers.pop(node_id)
        task = asyncio.get_running_loop().create_task(peer.close())
        self._closing[task] = None
        task.add_done_callback(self._closing.pop)


def _is_same_process(one: NodeRegistration, other: NodeRegistration) -> bool:
    return (one.incarnation, one.address) == (other.incarnation, other.address)
