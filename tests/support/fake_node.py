"""A NodeApi whose answers a test decides."""

from typing import Any

from acklog.wire.batch import DedupKey
from acklog.wire.identifiers import Receipt
from acklog.wire.record import Record
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
from storage.rpc.node_api import ProduceWaiter
from tests.support.answers import Answers

TOPIC_ID = "0123456789abc"
GROUP_ID = "cba9876543210"

ANSWERS: dict[str, Any] = {
    "produce": messages.ProduceResponse(7, 3, 1_700_000_000_000, [messages.KeyedResult(1, 5, 2, True, 7)]),
    "receive": messages.ReceiveResponse(
        [
            messages.DeliveredMessage(
                TOPIC_ID,
                2,
                offset,
                3,
                1_700_000_000_000,
                1,
                str(Receipt(TOPIC_ID, 2, offset, GROUP_ID, 0, 3, 1)),
                Record(b'{"a":1}', "key", {"h": "v"}, ["tag"], 1, "text/plain"),
            )
            for offset in (7, 8)
        ]
    ),
    "settle": messages.SettleResponse(["", "RECEIPT_STALE"]),
    "inspect": inspect_messages.InspectResponse(
        Record(b"x"), 3, 1_700_000_000_000, [inspect_messages.MessageInGroup(GROUP_ID, "leased", 1, 5000, "me")]
    ),
    "records": messages.RecordsResponse(bytes(range(256)) * 1000, 5, 105, 0, 200),
    "known_keys": messages.KnownKeysResponse([messages.KeyedResult(0, 7, 3, count=2)]),
    "positions": messages.PositionsResponse(0, 200, 4096, 3, [messages.GroupPosition(GROUP_ID, 5, 1, 2, 0, 0)]),
    "seek": messages.SeekResponse(5, 9),
    "commit": messages.CommitResponse(5, 2),
    "delete": deletion_messages.DeleteResponse(7, 3, [deletion_messages.UndoneByGroup(GROUP_ID, 2)]),
    "compact": compaction_messages.CompactResponse(True, False, 4096, 512),
    "latest": table_messages.LatestResponse(7, 3, 1_700_000_000_000, Record(b"1", "key")),
    "blocked": messages.BlockedResponse([messages.BlockedItem(7, 5, 1_700_000_000_000, 3, "key")], 2),
    "replica_report": messages.ReplicaReportResponse(
        7, "directory", 3, messages.LogReach(0, 200, 3, 190), messages.LogReach(5, 9, 2, 9), False
    ),
    "heartbeat": membership_messages.HeartbeatResponse(
        4, 5, [membership_messages.Ownership(TOPIC_ID, 2, 4, True)], 15_000
    ),
    "quota_shares": quota_messages.QuotaSharesResponse([[quota_messages.QuotaGrant("billing", 20.0, 10.0)]]),
    "members": membership_messages.MembersResponse(
        5,
        [
            membership_messages.MemberDescription(
                "me",
                4,
                3,
                [TOPIC_ID],
                ["orders.*"],
                "a",
                15_000,
                True,
                "first",
                250,
                [membership_messages.Ownership(TOPIC_ID, 2, 4)],
            )
        ],
    ),
    "schedule": messages.ProduceResponse(7, 3, 1_700_000_000_000),
    "scheduled": schedule_messages.ScheduledResponse(
        schedule_messages.ScheduledItem(7, 3, "scheduled", 1_700_000_000_000, 7, 1, Record(b"x"))
    ),
    "scheduled_list": schedule_messages.ScheduledListResponse(
        [schedule_messages.ScheduledItem(7, 3, "scheduled", 1_700_000_000_000, 7, 1, Record(b""))], True, 5
    ),
    "adopt": schedule_messages.AdoptResponse(7, 3),
    "copy": copy_messages.CopyResponse(b"state" * 1000, 1, 9, 2, 3, ["g1"]),
}
REQUESTS: dict[str, Any] = {
    "quota_shares": quota_messages.QuotaSharesRequest(
        "gateway", [quota_messages.QuotaAsk("topic/orders", 100, [quota_messages.QuotaWant("billing", 30.0)])]
    ),
    "produce": messages.ProduceRequest(TOPIC_ID, 2, bytearray(b"batch" * 1000), acks=1, timeout_ms=5000),
    "receive": messages.ReceiveRequest([TOPIC_ID], GROUP_ID, "me", 10, 1000, wait_ms=5000, visibility_ms=0),
    "settle": messages.SettleRequest(
        TOPIC_ID, 2, GROUP_ID, "nack", [messages.SettleItem(7, 0, 3, 1)], delay_ms=5, visibility_ms=6
    ),
    "inspect": inspect_messages.InspectRequest(TOPIC_ID, 2, 7, 3),
    "records": messages.RecordsRequest(TOPIC_ID, 2, 5, time_ms=6, max_bytes=7, wait_ms=8),
    "known_keys": messages.KnownKeysRequest(TOPIC_ID, 2, [DedupKey(0, "a", b"12345678", 2)], 2, 5),
    "positions": messages.PositionsRequest(TOPIC_ID, 2),
    "seek": messages.SeekRequest(TOPIC_ID, 2, GROUP_ID, "offset", 5, True),
    "commit": messages.CommitRequest(TOPIC_ID, 2, GROUP_ID, 5, 3, "mine", 2, "me", 4),
    "delete": deletion_messages.DeleteRequest(TOPIC_ID, 2, "offset", 7),
    "compact": compaction_messages.CompactRequest(TOPIC_ID, 2, True),
    "latest": table_messages.LatestRequest(TOPIC_ID, 2, "key", 1),
    "blocked": messages.BlockedRequest(TOPIC_ID, 2, GROUP_ID, "release", 7, 3, "key", 10),
    "replica_report": messages.ReplicaReportRequest(TOPIC_ID, 2),
    "heartbeat": membership_messages.HeartbeatRequest(
        2, GROUP_ID, "me", 3, [TOPIC_ID], ["orders.*"], "a", 15_000, True, "first", 4, 5000
    ),
    "members": membership_messages.MembersRequest(2, GROUP_ID),
    "schedule": messages.ProduceRequest(TOPIC_ID, 2, bytearray(b"batch" * 1000), acks=1, timeout_ms=5000),
    "scheduled": schedule_messages.ScheduledRequest(TOPIC_ID, 2, "move", 7, 3, 1_700_000_000_000, -1, 5000),
    "scheduled_list": schedule_messages.ScheduledListRequest(TOPIC_ID, 2, 0, -1, 1_700_000_000_000, 10, 5000),
    "adopt": schedule_messages.AdoptRequest(TOPIC_ID, 2, b"batch" * 1000, origin=1, epoch=3, number=4, mapping=5),
    "copy": copy_messages.CopyRequest(TOPIC_ID, 2, "groups", "r1", b"state" * 1000, group_ids={"g1": "g2"}),
}


class FakeNode(Answers):
    """Answers from ANSWERS, unless it is told otherwise."""

    def __init__(self) -> None:
        super().__init__({name: lambda _, answer=answer: answer for name, answer in ANSWERS.items()})

    async def produce(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        return await self._call("produce", request)  # type: ignore[no-any-return]

    def begin_produce(self, request: messages.ProduceRequest, waiter: ProduceWaiter) -> bool:
        return False

    async def receive(self, request: messages.ReceiveRequest) -> messages.ReceiveResponse:
        return await self._call("receive", request)  # type: ignore[no-any-return]

    async def settle(self, request: messages.SettleRequest) -> messages.SettleResponse:
        return await self._call("settle", request)  # type: ignore[no-any-return]

    async def inspect(self, request: inspect_messages.InspectRequest) -> inspect_messages.InspectResponse:
        return await self._call("inspect", request)  # type: ignore[no-any-return]

    async def records(self, request: messages.RecordsRequest) -> messages.RecordsResponse:
        return await self._call("records", request)  # type: ignore[no-any-return]

    async def known_keys(self, request: messages.KnownKeysRequest) -> messages.KnownKeysResponse:
        return await self._call("known_keys", request)  # type: ignore[no-any-return]

    async def positions(self, request: messages.PositionsRequest) -> messages.PositionsResponse:
        return await self._call("positions", request)  # type: ignore[no-any-return]

    async def seek(self, request: messages.SeekRequest) -> messages.SeekResponse:
        return await self._call("seek", request)  # type: ignore[no-any-return]

    async def commit(self, request: messages.CommitRequest) -> messages.CommitResponse:
        return await self._call("commit", request)  # type: ignore[no-any-return]

    async def blocked(self, request: messages.BlockedRequest) -> messages.BlockedResponse:
        return await self._call("blocked", request)  # type: ignore[no-any-return]

    async def compact(self, request: compaction_messages.CompactRequest) -> compaction_messages.CompactResponse:
        return await self._call("compact", request)  # type: ignore[no-any-return]

    async def latest(self, request: table_messages.LatestRequest) -> table_messages.LatestResponse:
        return await self._call("latest", request)  # type: ignore[no-any-return]

    async def delete(self, request: deletion_messages.DeleteRequest) -> deletion_messages.DeleteResponse:
        return await self._call("delete", request)  # type: ignore[no-any-return]

    async def replica_report(self, request: messages.ReplicaReportRequest) -> messages.ReplicaReportResponse:
        return await self._call("replica_report", request)  # type: ignore[no-any-return]

    async def heartbeat(self, request: membership_messages.HeartbeatRequest) -> membership_messages.HeartbeatResponse:
        return await self._call("heartbeat", request)  # type: ignore[no-any-return]

    async def members(self, request: membership_messages.MembersRequest) -> membership_messages.MembersResponse:
        return await self._call("members", request)  # type: ignore[no-any-return]

    async def schedule(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        return await self._call("schedule", request)  # type: ignore[no-any-return]

    async def scheduled(self, request: schedule_messages.ScheduledRequest) -> schedule_messages.ScheduledResponse:
        return await self._call("scheduled", request)  # type: ignore[no-any-return]

    async def scheduled_list(
        self, request: schedule_messages.ScheduledListRequest
    ) -> schedule_messages.ScheduledListResponse:
        return await self._call("scheduled_list", request)  # type: ignore[no-any-return]

    async def adopt(self, request: schedule_messages.AdoptRequest) -> schedule_messages.AdoptResponse:
        return await self._call("adopt", request)  # type: ignore[no-any-return]

    async def copy(self, request: copy_messages.CopyRequest) -> copy_messages.CopyResponse:
        return await self._call("copy", request)  # type: ignore[no-any-return]

    async def quota_shares(self, request: quota_messages.QuotaSharesRequest) -> quota_messages.QuotaSharesResponse:
        return await self._call("quota_shares", request)  # type: ignore[no-any-return]
