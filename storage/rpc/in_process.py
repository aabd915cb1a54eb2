"""The node in the gateway's own process: the same words as over a connection, and the same ownership."""

import msgspec

from storage.rpc import (
    compaction_messages,
    deletion_messages,
    inspect_messages,
    membership_messages,
    messages,
    quota_messages,
    schedule_messages,
    table_messages,
)
from storage.rpc.node_api import NodeApi, ProduceWaiter


class InProcessNode:
    """NodeApi passed through. What a caller keeps is never touched by the node.

    A produced batch is copied (1 MiB costs about 0.1 ms), because the node stamps and writes its bytes for as long as
    the append takes: a caller that gave up waiting and sends the same buffer again would otherwise have it stamped
    anew while the first append is on its way to the disk. Records in answers may be shared with the node's cache:
    read them, never change them.
    """

    def __init__(self, node: NodeApi) -> None:
        self._node = node

    async def produce(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        return await self._node.produce(msgspec.structs.replace(request, batch=bytearray(request.batch)))

    def begin_produce(self, request: messages.ProduceRequest, waiter: ProduceWaiter) -> bool:
        if request.is_retry:
            return False
        own = messages.ProduceRequest(
            request.topic_id,
            request.partition,
            bytearray(request.batch),
            request.acks,
            request.timeout_ms,
            mapping=request.mapping,
        )
        return self._node.begin_produce(own, waiter)

    async def known_keys(self, request: messages.KnownKeysRequest) -> messages.KnownKeysResponse:
        return await self._node.known_keys(request)

    async def receive(self, request: messages.ReceiveRequest) -> messages.ReceiveResponse:
        return await self._node.receive(request)

    async def settle(self, request: messages.SettleRequest) -> messages.SettleResponse:
        return await self._node.settle(request)

    async def inspect(self, request: inspect_messages.InspectRequest) -> inspect_messages.InspectResponse:
        return await self._node.inspect(request)

    async def records(self, request: messages.RecordsRequest) -> messages.RecordsResponse:
        return await self._node.records(request)

    async def positions(self, request: messages.PositionsRequest) -> messages.PositionsResponse:
        return await self._node.positions(request)

    async def seek(self, request: messages.SeekRequest) -> messages.SeekResponse:
        return await self._node.seek(request)

    async def commit(self, request: messages.CommitRequest) -> messages.CommitResponse:
        return await self._node.commit(request)

    async def blocked(self, request: messages.BlockedRequest) -> messages.BlockedResponse:
        return await self._node.blocked(request)

    async def delete(self, request: deletion_messages.DeleteRequest) -> deletion_messages.DeleteResponse:
        return await self._node.delete(request)

    async def compact(self, request: compaction_messages.CompactRequest) -> compaction_messages.CompactResponse:
        return await self._node.compact(request)

    async def latest(self, request: table_messages.LatestRequest) -> table_messages.LatestResponse:
        return await self._node.latest(request)

    async def replica_report(self, request: messages.ReplicaReportRequest) -> messages.ReplicaReportResponse:
        return await self._node.replica_report(request)

    async def heartbeat(self, request: membership_messages.HeartbeatRequest) -> membership_messages.HeartbeatResponse:
        return await self._node.heartbeat(request)

    async def members(self, request: membership_messages.MembersRequest) -> membership_messages.MembersResponse:
        return await self._node.members(request)

    async def schedule(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        return await self._node.schedule(msgspec.structs.replace(request, batch=bytearray(request.batch)))

    async def scheduled(self, request: schedule_messages.ScheduledRequest) -> schedule_messages.ScheduledResponse:
        return await self._node.scheduled(request)

    async def scheduled_list(
        self, request: schedule_messages.ScheduledListRequest
    ) -> schedule_messages.ScheduledListResponse:
        return await self._node.scheduled_list(request)

    async def adopt(self, request: schedule_messages.AdoptRequest) -> schedule_messages.AdoptResponse:
        return await self._node.adopt(request)

    async def quota_shares(self, request: quota_messages.QuotaSharesRequest) -> quota_messages.QuotaSharesResponse:
        return await self._node.quota_shares(request)
