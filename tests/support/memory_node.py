"""A storage node in memory that keeps every promise of `NodeApi` which a gateway relies on, and no other: no disk, no
time. A lease ends only when it is settled."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from acklog.wire.batch import DedupKey, decode_keys, decode_records, read_header, stamp, verify_unstamped
from acklog.wire.identifiers import Receipt
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from storage.delivery.partition_delivery import encode_snapshot
from storage.quotas.quota_owner import QuotaOwner
from storage.quotas.quota_settings import QuotaSettings
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

LEADER_EPOCH = 3
APPEND_TIME_MS = 1_700_000_000_000


@dataclass(slots=True)
class _Lease:
    attempt: int
    is_live: bool = True


@dataclass(slots=True)
class _Reader:
    """One group's state in one partition."""

    progress: int = 0
    done: set[int] = field(default_factory=set)
    leases: dict[int, _Lease] = field(default_factory=dict)


@dataclass(slots=True)
class _Log:
    batches: list[bytes] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    keys: dict[str, tuple[int, bytes, int]] = field(default_factory=dict)
    readers: dict[str, _Reader] = field(default_factory=dict)


class MemoryNode:
    """`fail` makes the next calls of one kind raise; `seen` holds every request; `may_produce` cleared keeps sends
    waiting. `owned` is what the members of exclusive groups have, by their names."""

    def __init__(self) -> None:
        self.owned: dict[str, list[membership_messages.Ownership]] = {}
        self.seen: list[tuple[str, Any]] = []
        self.undone: list[str] = []
        """Ids of groups that have done nothing."""
        self._logs: dict[tuple[str, int], _Log] = {}
        self.quota_ms = 0
        self._quotas = QuotaOwner(QuotaSettings())
        self._failures: dict[str, list[Exception]] = {}
        self._appended = asyncio.Event()
        self.before_produce: Callable[[messages.ProduceRequest], None] | None = None
        self.may_produce = asyncio.Event()
        self.may_produce.set()

    def fail(self, name: str, *errors: Exception) -> None:
        self._failures.setdefault(name, []).extend(errors)

    def forgive(self) -> None:
        """Nothing fails any more of what has not failed yet."""
        self._failures.clear()

    def calls(self, name: str) -> list[Any]:
        return [request for seen, request in self.seen if seen == name]

    def stored(self, topic_id: str) -> list[Record]:
        """Every record of the topic, by partition."""
        return [record for place in sorted(self._logs) if place[0] == topic_id for record in self._logs[place].records]

    def log(self, topic_id: str, partition: int) -> _Log:
        return self._logs.setdefault((topic_id, partition), _Log())

    def live_leases(self, topic_id: str) -> int:
        return sum(
            lease.is_live
            for place, log in self._logs.items()
            if place[0] == topic_id
            for reader in log.readers.values()
            for lease in reader.leases.values()
        )

    def _note(self, name: str, request: Any) -> None:
        self.seen.append((name, request))
        failures = self._failures.get(name)
        if failures:
            raise failures.pop(0)

    async def produce(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        self._note("produce", request)
        await self.may_produce.wait()
        if self.before_produce is not None:
            self.before_produce(request)
        batch = bytearray(request.batch)
        header = verify_unstamped(batch)
        log = self.log(request.topic_id, request.partition)
        keys = decode_keys(batch, header)
        assert len({key.key for key in keys}) == len(keys), "a key stands twice in one batch"
        known = _known(log, keys)
        if known:
            return messages.ProduceResponse(-1, LEADER_EPOCH, APPEND_TIME_MS, known)
        base = len(log.records)
        stamp(batch, base_offset=base, leader_epoch=LEADER_EPOCH, append_time_ms=APPEND_TIME_MS)
        log.batches.append(bytes(batch))
        log.records.extend(decode_records(batch, header))
        for key in keys:
            log.keys[key.key] = (base + key.index, key.fingerprint, key.count)
        self._appended.set()
        self._appended = asyncio.Event()
        return messages.ProduceResponse(-1 if request.acks == 0 else base, LEADER_EPOCH, APPEND_TIME_MS)

    def begin_produce(self, request: messages.ProduceRequest, waiter: ProduceWaiter) -> bool:
        return False

    async def known_keys(self, request: messages.KnownKeysRequest) -> messages.KnownKeysResponse:
        self._note("known_keys", request)
        return messages.KnownKeysResponse(_known(self.log(request.topic_id, request.partition), request.keys))

    async def replica_report(self, request: messages.ReplicaReportRequest) -> messages.ReplicaReportResponse:
        self._note("replica_report", request)
        end = len(self.log(request.topic_id, request.partition).records)
        reach = messages.LogReach(0, end, LEADER_EPOCH, end)
        return messages.ReplicaReportResponse(1, "directory", LEADER_EPOCH, reach, reach, False)

    async def receive(self, request: messages.ReceiveRequest) -> messages.ReceiveResponse:
        self._note("receive", request)
        while True:
            leased = self._lease(request)
            if leased or request.wait_ms == 0:
                return messages.ReceiveResponse(leased, "" if leased else "EMPTY")
            try:
                async with asyncio.timeout(request.wait_ms / 1000):
                    await self._appended.wait()
            except TimeoutError:
                return messages.ReceiveResponse([], "EMPTY")

    def _lease(self, request: messages.ReceiveRequest) -> list[messages.DeliveredMessage]:
        leased: list[messages.DeliveredMessage] = []
        size = 0
        for place in sorted(self._logs):
            if place[0] not in request.topic_ids:
                continue
            log = self._logs[place]
            reader = log.readers.setdefault(request.group_id, _Reader())
            for offset in range(reader.progress, len(log.records)):
                lease = reader.leases.get(offset)
                if offset in reader.done or (lease is not None and lease.is_live):
                    continue
                record = log.records[offset]
                if len(leased) >= request.max_messages or (leased and size + len(record.body) > request.max_bytes):
                    return leased
                size += len(record.body)
                attempt = 1 if lease is None else lease.attempt + 1
                if request.auto_ack:
                    reader.done.add(offset)
                    receipt = ""
                else:
                    reader.leases[offset] = _Lease(attempt)
                    receipt = str(Receipt(*place, offset, request.group_id, 0, LEADER_EPOCH, attempt))
                leased.append(
                    messages.DeliveredMessage(*place, offset, LEADER_EPOCH, APPEND_TIME_MS, attempt, receipt, record)
                )
        return leased

    async def settle(self, request: messages.SettleRequest) -> messages.SettleResponse:
        self._note("settle", request)
        reader = self.log(request.topic_id, request.partition).readers.setdefault(request.group_id, _Reader())
        return messages.SettleResponse([self._settle(reader, request.action, item) for item in request.items])

    def _settle(self, reader: _Reader, action: str, item: messages.SettleItem) -> str:
        lease = reader.leases.get(item.offset)
        if item.offset in reader.done:
            return ""
        if lease is None:
            return "NOT_DELIVERED"
        if item.attempt not in {0, lease.attempt}:
            return "RECEIPT_STALE"
        if action == "ack":
            reader.done.add(item.offset)
        if action in {"ack", "nack", "release"}:
            lease.is_live = False
        if action == "release":
            lease.attempt -= 1
        return ""

    async def inspect(self, request: inspect_messages.InspectRequest) -> inspect_messages.InspectResponse:
        self._note("inspect", request)
        log = self.log(request.topic_id, request.partition)
        if request.offset >= len(log.records) or request.leader_epoch != LEADER_EPOCH:
            raise ServerError(ProblemCode.MESSAGE_NOT_FOUND, "there is no such message")
        groups = []
        for group_id, reader in log.readers.items():
            lease = reader.leases.get(request.offset)
            state = "done" if request.offset in reader.done else "leased" if lease and lease.is_live else "waiting"
            groups.append(inspect_messages.MessageInGroup(group_id, state, lease.attempt if lease else 0, -1, ""))
        return inspect_messages.InspectResponse(log.records[request.offset], LEADER_EPOCH, APPEND_TIME_MS, groups)

    async def records(self, request: messages.RecordsRequest) -> messages.RecordsResponse:
        self._note("records", request)
        log = self.log(request.topic_id, request.partition)
        end = len(log.records)
        offset = request.offset if request.time_ms < 0 else (0 if request.time_ms <= APPEND_TIME_MS else end)
        if not 0 <= offset <= end:
            raise ServerError(ProblemCode.OFFSET_OUT_OF_RANGE, f"the log holds 0 to {end}", field="offset")
        chosen, next_offset = b"", offset
        for batch in log.batches:
            header = read_header(batch)
            if header.next_offset > offset and (not chosen or len(chosen) + len(batch) <= request.max_bytes):
                chosen += batch
                next_offset = header.next_offset
        return messages.RecordsResponse(chosen, offset, next_offset, 0, end, LEADER_EPOCH)

    async def positions(self, request: messages.PositionsRequest) -> messages.PositionsResponse:
        self._note("positions", request)
        log = self.log(request.topic_id, request.partition)
        groups = []
        for group_id, reader in log.readers.items():
            progress = reader.progress
            while progress in reader.done:
                progress += 1
            above = sum(offset > progress for offset in reader.done)
            live = sum(lease.is_live for lease in reader.leases.values())
            groups.append(messages.GroupPosition(group_id, progress, above, live, 0, 0))
        size = sum(len(batch) for batch in log.batches)
        return messages.PositionsResponse(0, len(log.records), size, LEADER_EPOCH, groups)

    async def seek(self, request: messages.SeekRequest) -> messages.SeekResponse:
        self._note("seek", request)
        log = self.log(request.topic_id, request.partition)
        reader = log.readers.setdefault(request.group_id, _Reader())
        end = len(log.records)
        targets = {
            "earliest": 0,
            "latest": end,
            "offset": request.value,
            "time": 0,
            "relative": reader.progress + request.value,
        }
        target = targets[request.to]
        if not 0 <= target <= end:
            raise ServerError(ProblemCode.OFFSET_OUT_OF_RANGE, f"the log holds 0 to {end}", field="to.offset")
        previous = reader.progress
        if not request.dry_run:
            reader.progress = target
            reader.done.clear()
            reader.leases.clear()
        return messages.SeekResponse(target, previous)

    async def commit(self, request: messages.CommitRequest) -> messages.CommitResponse:
        self._note("commit", request)
        reader = self.log(request.topic_id, request.partition).readers.setdefault(request.group_id, _Reader())
        previous = reader.progress
        if request.offset < previous and request.expected != previous:
            raise ServerError(ProblemCode.COMMIT_CONFLICT, "it is elsewhere", extra={"progress": previous})
        reader.progress = request.offset
        return messages.CommitResponse(request.offset, previous)

    async def blocked(self, request: messages.BlockedRequest) -> messages.BlockedResponse:
        self._note("blocked", request)
        return messages.BlockedResponse([], 0)

    async def compact(self, request: compaction_messages.CompactRequest) -> compaction_messages.CompactResponse:
        self._note("compact", request)
        return compaction_messages.CompactResponse(request.is_asked, False, 0, 0)

    async def copy(self, request: copy_messages.CopyRequest) -> copy_messages.CopyResponse:
        self._note("copy", request)
        end = len(self.log(request.topic_id, request.partition).records)
        return copy_messages.CopyResponse(encode_snapshot([]), 0, end, 0, LEADER_EPOCH)

    async def scheduled_list(
        self, request: schedule_messages.ScheduledListRequest
    ) -> schedule_messages.ScheduledListResponse:
        """It has no schedule, so there is nothing in it."""
        self._note("scheduled_list", request)
        return schedule_messages.ScheduledListResponse([])

    async def latest(self, request: table_messages.LatestRequest) -> table_messages.LatestResponse:
        self._note("latest", request)
        records = self.log(request.topic_id, request.partition).records
        offsets = [offset for offset, record in enumerate(records) if record.key == request.key]
        if not offsets:
            return table_messages.LatestResponse(-1)
        found = records[offsets[-1]]
        record = None if found.is_tombstone else found
        return table_messages.LatestResponse(offsets[-1], LEADER_EPOCH, APPEND_TIME_MS, record)

    async def delete(self, request: deletion_messages.DeleteRequest) -> deletion_messages.DeleteResponse:
        self._note("delete", request)
        end = len(self.log(request.topic_id, request.partition).records)
        target = end if request.to == "end" else min(end, request.value)
        undone = [deletion_messages.UndoneByGroup(group_id, target) for group_id in self.undone]
        return deletion_messages.DeleteResponse(target, 0, undone)

    async def heartbeat(self, request: membership_messages.HeartbeatRequest) -> membership_messages.HeartbeatResponse:
        self._note("heartbeat", request)
        return membership_messages.HeartbeatResponse(1, 1, self.owned.get(request.member, []), 15_000)

    async def members(self, request: membership_messages.MembersRequest) -> membership_messages.MembersResponse:
        self._note("members", request)
        described = [
            membership_messages.MemberDescription(name, 1, 1, [], [], "", 15_000, False, "", 0, owned)
            for name, owned in sorted(self.owned.items())
        ]
        return membership_messages.MembersResponse(1 if described else 0, described)

    async def quota_shares(self, request: quota_messages.QuotaSharesRequest) -> quota_messages.QuotaSharesResponse:
        """At a time that stands still: a burst, and no more. `quota_ms` moves it."""
        self._note("quota_shares", request)
        return self._quotas.answer(request, self.quota_ms)


def _known(log: _Log, keys: list[DedupKey]) -> list[messages.KeyedResult]:
    known = []
    for key in keys:
        before = log.keys.get(key.key)
        if before is not None:
            is_conflict = before[1:] != (key.fingerprint, key.count)
            known.append(messages.KeyedResult(key.index, before[0], LEADER_EPOCH, is_conflict, key.count))
    return known
