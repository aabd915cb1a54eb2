"""The interface of a storage node, as a gateway uses it: in process or over a connection, the same words."""

from typing import Protocol

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


class ProduceWaiter(Protocol):
    """Who is told what became of a produced batch: a future is one. Exactly one of the other two is called, at most
    once, unless it is `done`; what it does must be short, and must not fail."""

    def done(self) -> bool: ...

    def set_result(self, response: messages.ProduceResponse, /) -> None: ...

    def set_exception(self, error: BaseException, /) -> None: ...


class NodeApi(Protocol):
    """Every call raises ServerError: UNAVAILABLE when this node does not lead the partition (ask again elsewhere),
    OVERLOADED, STORAGE_FULL, STORAGE_FAILED, TIMED_OUT, SHUTTING_DOWN and what each request's docstring names.

    Cancelling a call gives up waiting for the answer; an append or an ack may still take effect.
    """

    async def produce(self, request: messages.ProduceRequest) -> messages.ProduceResponse: ...

    def begin_produce(self, request: messages.ProduceRequest, waiter: ProduceWaiter) -> bool:
        """As `produce`, without a task, where it can begin at once: True, and `waiter` is told what became of it, at
        the earliest when this has returned, unless `acks` is 0. False: nothing was done, `produce` is for it."""
        ...

    async def known_keys(self, request: messages.KnownKeysRequest) -> messages.KnownKeysResponse: ...

    async def receive(self, request: messages.ReceiveRequest) -> messages.ReceiveResponse: ...

    async def settle(self, request: messages.SettleRequest) -> messages.SettleResponse: ...

    async def inspect(self, request: inspect_messages.InspectRequest) -> inspect_messages.InspectResponse: ...

    async def records(self, request: messages.RecordsRequest) -> messages.RecordsResponse: ...

    async def positions(self, request: messages.PositionsRequest) -> messages.PositionsResponse: ...

    async def seek(self, request: messages.SeekRequest) -> messages.SeekResponse: ...

    async def commit(self, request: messages.CommitRequest) -> messages.CommitResponse: ...

    async def blocked(self, request: messages.BlockedRequest) -> messages.BlockedResponse: ...

    async def delete(self, request: deletion_messages.DeleteRequest) -> deletion_messages.DeleteResponse: ...

    async def compact(self, request: compaction_messages.CompactRequest) -> compaction_messages.CompactResponse:
        """Asks the replica that this node holds, and not the leader's."""
        ...

    async def latest(self, request: table_messages.LatestRequest) -> table_messages.LatestResponse: ...

    async def replica_report(self, request: messages.ReplicaReportRequest) -> messages.ReplicaReportResponse: ...

    async def heartbeat(
        self, request: membership_messages.HeartbeatRequest
    ) -> membership_messages.HeartbeatResponse: ...

    async def members(self, request: membership_messages.MembersRequest) -> membership_messages.MembersResponse: ...

    async def schedule(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        """As `produce`, for messages that are to be seen later: the offsets are those of the schedule log."""
        ...

    async def scheduled(self, request: schedule_messages.ScheduledRequest) -> schedule_messages.ScheduledResponse: ...

    async def scheduled_list(
        self, request: schedule_messages.ScheduledListRequest
    ) -> schedule_messages.ScheduledListResponse: ...

    async def adopt(self, request: schedule_messages.AdoptRequest) -> schedule_messages.AdoptResponse: ...

    async def copy(self, request: copy_messages.CopyRequest) -> copy_messages.CopyResponse: ...

    async def quota_shares(self, request: quota_messages.QuotaSharesRequest) -> quota_messages.QuotaSharesResponse:
        """A gateway's part of quotas. Nothing of it is durable; an answer that is lost costs no more than what it
        granted."""
        ...
