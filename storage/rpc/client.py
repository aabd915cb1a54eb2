"""A storage node at the other end of a connection, as if it were here."""

import asyncio

import structlog

from cluster.errors import ServerError
from cluster.ports.clock import Clock
from cluster.ports.entropy import Entropy
from cluster.tls.peer_identity import PeerIdentity
from storage.rpc import (
    compaction_messages,
    copy_messages,
    deletion_messages,
    inspect_messages,
    membership_messages,
    messages,
    methods,
    quota_messages,
    schedule_messages,
    table_messages,
)
from storage.rpc.framing import Frame, FrameKind
from storage.rpc.methods import MalformedMessageError
from storage.rpc.node_api import ProduceWaiter
from storage.rpc.release import release_requests
from storage.rpc.rpc_channel import RpcChannel
from storage.rpc.rpc_settings import RpcClientSettings
from storage.rpc.transport import NodeTransport

logger = structlog.get_logger(__name__)


class RemoteNode:
    """NodeApi over a NodeTransport; what callers learn when no answer comes is said in `RpcChannel`."""

    def __init__(
        self,
        transport: NodeTransport,
        address: str,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: RpcClientSettings,
        expects: PeerIdentity | None = None,
    ) -> None:
        self._settings = settings
        self._channel = RpcChannel(transport, address, clock=clock, entropy=entropy, settings=settings, expects=expects)
        self._releases: dict[asyncio.Task[None], None] = {}

    @property
    def in_flight_requests(self) -> int:
        return self._channel.in_flight_requests

    @property
    def in_flight_bytes(self) -> int:
        return self._channel.in_flight_bytes

    async def close(self) -> None:
        """End the connection; whoever still waits learns that it is gone."""
        await self._channel.close()
        releases = list(self._releases)
        for release in releases:
            release.cancel()
        await asyncio.gather(*releases, return_exceptions=True)

    # --- NodeApi ---

    async def produce(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        timeout_ms = request.timeout_ms + self._settings.produce_margin_ms
        return await self._channel.call(methods.PRODUCE, request, timeout_ms=timeout_ms)

    def begin_produce(self, request: messages.ProduceRequest, waiter: ProduceWaiter) -> bool:
        return False

    async def known_keys(self, request: messages.KnownKeysRequest) -> messages.KnownKeysResponse:
        timeout_ms = request.timeout_ms + self._settings.produce_margin_ms
        return await self._channel.call(methods.KNOWN_KEYS, request, timeout_ms=timeout_ms)

    async def receive(self, request: messages.ReceiveRequest) -> messages.ReceiveResponse:
        return await self._channel.call(
            methods.RECEIVE,
            request,
            timeout_ms=request.wait_ms + self._settings.request_timeout_ms,
            on_late_answer=self._release_leases,
        )

    async def settle(self, request: messages.SettleRequest) -> messages.SettleResponse:
        return await self._channel.call(methods.SETTLE, request)

    async def inspect(self, request: inspect_messages.InspectRequest) -> inspect_messages.InspectResponse:
        return await self._channel.call(methods.INSPECT, request)

    async def records(self, request: messages.RecordsRequest) -> messages.RecordsResponse:
        timeout_ms = request.wait_ms + self._settings.request_timeout_ms
        return await self._channel.call(methods.RECORDS, request, timeout_ms=timeout_ms)

    async def positions(self, request: messages.PositionsRequest) -> messages.PositionsResponse:
        return await self._channel.call(methods.POSITIONS, request)

    async def seek(self, request: messages.SeekRequest) -> messages.SeekResponse:
        return await self._channel.call(methods.SEEK, request)

    async def commit(self, request: messages.CommitRequest) -> messages.CommitResponse:
        return await self._channel.call(methods.COMMIT, request)

    async def blocked(self, request: messages.BlockedRequest) -> messages.BlockedResponse:
        return await self._channel.call(methods.BLOCKED, request)

    async def delete(self, request: deletion_messages.DeleteRequest) -> deletion_messages.DeleteResponse:
        return await self._channel.call(methods.DELETE, request)

    async def compact(self, request: compaction_messages.CompactRequest) -> compaction_messages.CompactResponse:
        return await self._channel.call(methods.COMPACT, request)

    async def latest(self, request: table_messages.LatestRequest) -> table_messages.LatestResponse:
        return await self._channel.call(methods.LATEST, request)

    async def replica_report(self, request: messages.ReplicaReportRequest) -> messages.ReplicaReportResponse:
        return await self._channel.call(methods.REPLICA_REPORT, request)

    async def heartbeat(self, request: membership_messages.HeartbeatRequest) -> membership_messages.HeartbeatResponse:
        timeout_ms = request.wait_ms + self._settings.request_timeout_ms
        return await self._channel.call(methods.HEARTBEAT, request, timeout_ms=timeout_ms)

    async def members(self, request: membership_messages.MembersRequest) -> membership_messages.MembersResponse:
        return await self._channel.call(methods.MEMBERS, request)

    async def schedule(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        timeout_ms = request.timeout_ms + self._settings.produce_margin_ms
        return await self._channel.call(methods.SCHEDULE, request, timeout_ms=timeout_ms)

    async def scheduled(self, request: schedule_messages.ScheduledRequest) -> schedule_messages.ScheduledResponse:
        timeout_ms = request.timeout_ms + self._settings.produce_margin_ms
        return await self._channel.call(methods.SCHEDULED, request, timeout_ms=timeout_ms)

    async def scheduled_list(
        self, request: schedule_messages.ScheduledListRequest
    ) -> schedule_messages.ScheduledListResponse:
        timeout_ms = request.timeout_ms + self._settings.produce_margin_ms
        return await self._channel.call(methods.SCHEDULED_LIST, request, timeout_ms=timeout_ms)

    async def adopt(self, request: schedule_messages.AdoptRequest) -> schedule_messages.AdoptResponse:
        return await self._channel.call(methods.ADOPT, request)

    async def copy(self, request: copy_messages.CopyRequest) -> copy_messages.CopyResponse:
        timeout_ms = request.timeout_ms + self._settings.produce_margin_ms
        return await self._channel.call(methods.COPY, request, timeout_ms=timeout_ms)

    async def quota_shares(self, request: quota_messages.QuotaSharesRequest) -> quota_messages.QuotaSharesResponse:
        return await self._channel.call(methods.QUOTA_SHARES, request)

    # --- answers that nobody waits for ---

    def _release_leases(self, frame: Frame) -> None:
        """Leases in an answer that crossed the caller's leaving go back at once."""
        if frame.kind is not FrameKind.RESPONSE or self._channel.is_closed:
            return
        try:
            response = methods.RECEIVE.response.decode(frame.body, frame.attachment)
        except MalformedMessageError:
            logger.exception("rpc.malformed_answer", method=methods.RECEIVE.name)
            return
        for request in release_requests(response):
            task = asyncio.get_running_loop().create_task(self._release(request))
            self._releases[task] = None
            task.add_done_callback(self._releases.pop)

    async def _release(self, request: messages.SettleRequest) -> None:
        try:
            await self.settle(request)
        except ServerError as error:  # the leases end by themselves, later
            logger.info("rpc.release_failed", error=str(error), leases=len(request.items))
