"""The calls that look at a partition's log, or choose a place in it.

Somebody else may lead by now, and have more (rule R35). So what is committed here is given out by whoever holds it,
and all that could be different elsewhere (where the log ends, what is outside of it, how far groups are) only by who is
sure to lead.
"""

from typing import Protocol

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.log.partition_log import PartitionLog
from storage.log.segment_reader import StoredBatch
from storage.node.append_times import append_time_at
from storage.node.consumers_seen import ConsumersSeen
from storage.node.filtered_reads import read_filtered
from storage.node.partition.filter_figures import FilterFigures
from storage.node.partition.named_filter import read_filter
from storage.node.partition.partition_host import PartitionHost
from storage.node.replicas.led_partition import Partition
from storage.replication.leadership import UNAVAILABLE_RETRY_MS, confirm
from storage.rpc import inspect_messages, messages

_WAITING_RETRY_MS = 1000


class CommittedLog(Protocol):
    """A leader's or a follower's messages, as far as they are committed; `leader_epoch` is of who leads or is
    followed. Readers get what is from the readable start on, which is never below the log's, and below the readable
    end, which is never above the high watermark."""

    @property
    def log(self) -> PartitionLog: ...

    @property
    def high_watermark(self) -> int: ...

    @property
    def readable_start(self) -> int: ...

    @property
    def readable_end(self) -> int: ...

    @property
    def leader_epoch(self) -> int: ...

    async def wait_for_records(self, offset: int, timeout_ms: int) -> bool:
        """Until the readable end has passed `offset`; whether it has."""
        ...

    def check_sure(self) -> None:
        """Raises ServerError UNAVAILABLE where others may have had more for a while."""
        ...

    async def confirm(self) -> None:
        """Raises ServerError UNAVAILABLE unless nobody had more when this was called."""
        ...


class LogCalls:
    """Of one node. `waiting_records_max` bounds the reads that wait at the end of a log."""

    def __init__(self, filter_figures: FilterFigures, *, waiting_records_max: int) -> None:
        self._filter_figures = filter_figures
        self._waiting_records_max = waiting_records_max
        self._waiting_records = 0

    async def inspect(
        self, partition: Partition, request: inspect_messages.InspectRequest
    ) -> inspect_messages.InspectResponse:
        """Raises ServerError UNAVAILABLE, MESSAGE_EXPIRED, MESSAGE_NOT_FOUND, RECORDS_CORRUPT."""
        await confirm(partition.leadership)
        host = partition.host
        if request.offset < host.readable_start:
            detail = "The message was removed, by retention or by whoever deleted it."
            raise ServerError(ProblemCode.MESSAGE_EXPIRED, detail, field="messageId")
        not_found = ServerError(ProblemCode.MESSAGE_NOT_FOUND, "There is no such message.", field="messageId")
        if request.offset >= host.readable_end:
            raise not_found
        batch = await partition.reader.batch_at(request.offset, readable_end=host.readable_end)
        header = batch.header
        if header.is_control or header.leader_epoch != request.leader_epoch:
            raise not_found
        record = batch.records()[request.offset - header.base_offset]
        if record is None:
            detail = "The message was removed by compaction: there is a later one of its key."
            raise ServerError(ProblemCode.MESSAGE_EXPIRED, detail, field="messageId")
        return inspect_messages.InspectResponse(
            record, header.leader_epoch, header.append_time_ms, partition.groups.views(request.offset)
        )

    async def records(self, reads: CommittedLog, request: messages.RecordsRequest) -> messages.RecordsResponse:
        """Raises ServerError OFFSET_OUT_OF_RANGE, LOG_DIVERGED, UNAVAILABLE, TOO_MANY_WAITING, RECORDS_CORRUPT."""
        check_not_diverged(
            reads.log, reads.leader_epoch, offset=request.offset, read_in_epoch=request.leader_epoch, field="epoch"
        )
        offset = request.offset
        if request.time_ms >= 0:
            found_at = await reads.log.offset_at_time(request.time_ms)
            offset = min(max(found_at, reads.readable_start), reads.readable_end)
            if offset == reads.readable_end:
                await reads.confirm()
        if not reads.readable_start <= offset <= reads.high_watermark:
            await reads.confirm()
            check_range(reads, offset, field="offset")
        if request.wait_ms and offset >= reads.readable_end:
            reads.check_sure()
            await self._wait_for_records(reads, offset, request.wait_ms)
        found: list[StoredBatch] = []
        readable_end, next_offset = reads.readable_end, offset
        if offset >= readable_end:
            reads.check_sure()  # now, too: the wait may have been long
        elif request.filter:
            read = await read_filtered(
                reads.log,
                read_filter(request.filter),
                offset,
                max_bytes=request.max_bytes,
                until=readable_end,
                figures=self._filter_figures,
            )
            found, next_offset = read.batches, read.next_offset
        else:
            found = await reads.log.read(offset, max_bytes=request.max_bytes, until=readable_end)
            next_offset = found[-1].header.next_offset if found else offset
        return messages.RecordsResponse(
            b"".join(stored.data for stored in found),
            offset,
            next_offset,
            reads.readable_start,
            reads.high_watermark,
            reads.leader_epoch,
        )

    async def follower_records(
        self, reads: CommittedLog, request: messages.RecordsRequest, *, lag_ms_max: int
    ) -> messages.RecordsResponse:
        """As `records`, from a follower, which may be behind the reader. Raises ServerError UNAVAILABLE if it stays
        there."""
        if request.offset > reads.high_watermark and not await reads.wait_for_records(request.offset - 1, lag_ms_max):
            detail = (
                f"This replica is behind the offset {request.offset}: it knows {reads.high_watermark} to be committed."
            )
            raise ServerError(ProblemCode.UNAVAILABLE, detail, field="offset")
        return await self.records(reads, request)

    async def _wait_for_records(self, reads: CommittedLog, offset: int, wait_ms: int) -> None:
        if self._waiting_records >= self._waiting_records_max:
            raise ServerError(
                ProblemCode.TOO_MANY_WAITING,
                f"{self._waiting_records} reads wait for records already, the limit is {self._waiting_records_max}.",
                retry_after_ms=_WAITING_RETRY_MS,
            )
        self._waiting_records += 1
        try:
            await reads.wait_for_records(offset, wait_ms)
        finally:
            self._waiting_records -= 1


async def positions_of(
    partition: Partition, request: messages.PositionsRequest, clock: Clock, seen: ConsumersSeen
) -> messages.PositionsResponse:
    """Where the log and its groups are. Raises ServerError UNAVAILABLE."""
    await confirm(partition.leadership)
    host = partition.host
    positions = partition.groups.positions()
    answer = messages.PositionsResponse(
        host.readable_start,
        host.high_watermark,
        host.log.size_bytes,
        host.leader_epoch,
        positions,
        clock.now_ms(),
        host.log.last_append_ms,
        host.log.accepted_end,
    )
    for position in positions:
        if position.group_id == request.group_id:
            position.oldest_append_ms = await append_time_at(partition, position.progress)
            if request.consumers_max:
                now_ms = clock.monotonic_ms()
                position.consumers = seen.names(position.group_id, now_ms=now_ms, limit=request.consumers_max)
    return answer


async def seek_target(partition: Partition, request: messages.SeekRequest) -> int:
    """The offset that a seek asks for. Raises ServerError UNAVAILABLE, INVALID_FIELD, OFFSET_OUT_OF_RANGE."""
    await confirm(partition.leadership)
    host = partition.host
    if request.to == "earliest":
        return host.readable_start
    if request.to == "latest":
        return host.readable_end
    if request.to == "time":
        return await offset_at_time(host, request.value)
    if request.to != "offset":
        raise ServerError(
            ProblemCode.INVALID_FIELD, "to must be earliest, latest, offset, time or relative.", field="to"
        )
    check_range(host, request.value, field="to")
    return request.value


async def offset_at_time(host: PartitionHost, time_ms: int) -> int:
    """Of the first message there is that was appended then or later. Raises ServerError RECORDS_CORRUPT."""
    return min(max(await host.log.offset_at_time(time_ms), host.readable_start), host.readable_end)


def check_not_diverged(log: PartitionLog, leader_epoch: int, *, offset: int, read_in_epoch: int, field: str) -> None:
    """The reader has read up to `offset` from a leader of `read_in_epoch`; this replica is of `leader_epoch`. Raises
    ServerError UNAVAILABLE where this one is of an earlier epoch, LOG_DIVERGED where what was read is not in the log
    any more (rule R4)."""
    if read_in_epoch > leader_epoch:
        detail = f"This replica is at the leader epoch {leader_epoch}, the reader at {read_in_epoch}."
        raise ServerError(ProblemCode.UNAVAILABLE, detail, field=field, retry_after_ms=UNAVAILABLE_RETRY_MS)
    _, end_offset = log.leader_epochs.end_offset_for(read_in_epoch)
    if 0 <= end_offset < offset:
        raise ServerError(
            ProblemCode.LOG_DIVERGED,
            f"What was read up to {offset} in the leader epoch {read_in_epoch} is in the log up to {end_offset} only; "
            "from there on it has other messages.",
            field=field,
            extra={"divergedAt": end_offset, "leaderEpoch": leader_epoch},
        )


class ReadableRange(Protocol):
    """Between where readers begin and what is committed."""

    @property
    def readable_start(self) -> int: ...

    @property
    def high_watermark(self) -> int: ...


def check_range(reads: ReadableRange, offset: int, *, field: str) -> None:
    """Raises ServerError OFFSET_OUT_OF_RANGE."""
    start, end = reads.readable_start, reads.high_watermark
    if not start <= offset <= end:
        raise ServerError(
            ProblemCode.OFFSET_OUT_OF_RANGE,
            f"The offset {offset} is outside the log, which goes from {start} to {end}.",
            field=field,
            extra={"logStart": start, "highWatermark": end},
        )
