"""Another node of the cluster at the other end of connections, as if it were here."""

import asyncio
from collections.abc import Callable

from cluster.ports.clock import Clock
from cluster.ports.entropy import Entropy
from cluster.tls.peer_identity import PeerIdentity
from storage.replication.messages import FetchAnswer, FetchMode, FetchRequest, SnapshotAnswer, SnapshotRequest
from storage.rpc import methods
from storage.rpc.peer_api import ProbeAnswer, ProbeRequest
from storage.rpc.rpc_channel import RpcChannel
from storage.rpc.rpc_settings import RpcClientSettings
from storage.rpc.transport import NodeTransport


class RemotePeer:
    """PeerApi over a NodeTransport; what callers learn when no answer comes is said in `RpcChannel`.

    Bulk (catching up, snapshots) has a connection of its own: within one, a live fetch would stand behind megabytes.
    Each is dialled when it is first needed. `on_lost` hears of every connection that breaks.
    """

    def __init__(
        self,
        transport: NodeTransport,
        address: str,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: RpcClientSettings,
        on_lost: Callable[[], None] | None = None,
        expects: PeerIdentity | None = None,
    ) -> None:
        self._settings = settings
        self._live, self._bulk = (
            RpcChannel(
                transport,
                address,
                clock=clock,
                entropy=entropy,
                settings=settings,
                on_lost=on_lost,
                expects=expects,
            )
            for _ in range(2)
        )

    async def close(self) -> None:
        """End the connections; whoever still waits learns that they are gone."""
        await asyncio.gather(self._live.close(), self._bulk.close())

    @property
    def was_refused(self) -> bool:
        """The machine answered the last dial, and said that nobody listens there."""
        return self._live.was_refused

    # --- PeerApi ---

    async def fetch(self, request: FetchRequest) -> FetchAnswer:
        channel = self._bulk if request.mode == FetchMode.CATCH_UP else self._live
        timeout_ms = request.wait_ms + self._settings.request_timeout_ms
        return await channel.call(methods.FETCH, request, timeout_ms=timeout_ms)

    async def snapshot(self, request: SnapshotRequest) -> SnapshotAnswer:
        return await self._bulk.call(methods.SNAPSHOT, request)

    async def probe(self, request: ProbeRequest) -> ProbeAnswer:
        return await self._live.call(methods.PROBE, request)
