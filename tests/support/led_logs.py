"""Replicas that lead everything, over logs of one byte a record: what a FetchService is given in tests."""

import asyncio
from collections.abc import Callable

from storage.replication.divergence import LogPosition
from storage.replication.fetch_answer import Read
from storage.replication.leader_events import FetchRefusal, FetchVerdict, FollowerFetched, LogVerdict
from storage.replication.messages import PartitionFetch, PartitionId
from storage.replication.served_session import LogView

EPOCH = 5


def partition(number: int) -> PartitionId:
    return PartitionId("t", number)


def fetch_from(number: int, offset: int = 0) -> PartitionFetch:
    """The second log of every partition is empty."""
    return PartitionFetch(partition(number), EPOCH, [LogPosition(offset, 1), LogPosition(0, -1)])


def content(number: int, start: int, end: int) -> bytes:
    return bytes((number * 31 + offset) % 251 for offset in range(start, end))


class LedLogs:
    """Implements `storage.node.replicas.fetch_service.LeadReplicas`."""

    def __init__(self) -> None:
        self.ends: dict[PartitionId, int] = {}
        self.high_watermark = 0
        self.refusals: dict[PartitionId, FetchRefusal] = {}
        self.read_errors: list[Exception] = []
        self.gate: asyncio.Event | None = None
        """Reads wait for it."""
        self.on_judge: Callable[[PartitionId], None] | None = None
        self.judged = 0
        self.heard_again_of: list[PartitionId] = []
        self.viewed = 0
        self.reads: list[Read] = []

    def verdict(self, partition_id: PartitionId, event: FollowerFetched) -> FetchVerdict:
        refusal = self.refusals.get(partition_id)
        if refusal is not None:
            return FetchVerdict(event.follower, EPOCH + 1, refusal)
        return FetchVerdict(event.follower, EPOCH, None, tuple(LogVerdict(each, None) for each in event.positions))

    def judge(self, partition_id: PartitionId, event: FollowerFetched) -> FetchVerdict:
        self.judged += 1
        if self.on_judge is not None:
            self.on_judge(partition_id)
        return self.verdict(partition_id, event)

    def heard_again(self, partition_id: PartitionId) -> None:
        self.heard_again_of.append(partition_id)

    def views(self, partition_id: PartitionId) -> tuple[LogView, ...]:
        self.viewed += 1
        return LogView(0, self.high_watermark, self.ends.get(partition_id, 0)), LogView(0, 0, 0)

    async def read(self, read: Read) -> bytes:
        self.reads.append(read)
        if self.gate is not None:
            await self.gate.wait()
        if self.read_errors:
            raise self.read_errors.pop(0)
        start = read.position.offset
        end = min(read.until, self.ends[read.id], start + read.bytes_max)
        return content(read.id.partition, start, max(start, end))
