"""A node that another one stands behind: every call is passed on as it is."""

from storage.rpc import (
    compaction_messages,
    copy_messages,
    deletion_messages,
    inspect_messages,
    membership_messages,
    messages,
    quota_messages,
    schedule_messages,
    table_messages,
)
from storage.rpc.node_api import NodeApi, ProduceWaiter


class PassingNode:
    """NodeApi, for classes that do something of their own with some of its calls."""

    def __init__(self, node: NodeApi) -> None:
        self._node = node

    async def produce(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        return await self._node.produce(request)

    def begin_produce(self, request: messages.ProduceRequest, waiter: ProduceWaiter) -> bool:
        return self._node.begin_produce(request, waiter)

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
        return await self._node.schedule(request)

    async def scheduled(self, request: schedule_messages.ScheduledRequest) -> schedule_messages.ScheduledResponse:
        return await self._node.scheduled(request)

    async def scheduled_list(
        self, request: schedule_messages.ScheduledListRequest
    ) -> schedule_messages.ScheduledListResponse:
        return await self._node.scheduled_list(request)

    async def adopt(self, request: schedule_messages.AdoptRequest) -> schedule_messages.AdoptResponse:
        return await self._node.adopt(request)

    async def copy(self, request: copy_messages.CopyRequest) -> copy_messages.CopyResponse:
        return await self._node.copy(request)

    async def quota_shares(self, request: quota_messages.QuotaSharesRequest) -> quota_messages.QuotaSharesResponse:
        return await self._node.quota_shares(request)
