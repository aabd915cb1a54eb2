"""The calls that look at a partition's log, or choose a place in it."""

from acklog.wire.problems import ProblemCode
from cluster.errors import AcklogError
from storage.node.partition import Partition
from storage.rpc import messages

_WAITING_RETRY_MS = 1000


class LogCalls:
    """Of one node. `waiting_records_max` bounds the reads that wait at the end of a log."""

    def __init__(self, *, waiting_records_max: int) -> None:
        self._waiting_records_max = waiting_records_max
        self._waiting_records = 0

    async def inspect(self, partition: Partition, request: messages.InspectRequest) -> messages.InspectResponse:
        host = partition.host
        if request.offset < host.log.log_start:
            raise AcklogError(ProblemCode.MESSAGE_EXPIRED, "Retention has removed the message.", field="messageId")
        not_found = AcklogError(ProblemCode.MESSAGE_NOT_FOUND, "There is no such message.", field="messageId")
        if request.offset >= host.high_watermark:
            raise not_found
        batch, record = await partition.reader.record_at(request.offset, high_watermark=host.high_watermark)
        if batch.header.leader_epoch != request.leader_epoch:
            raise not_found
        return messages.InspectResponse(
            record, batch.header.leader_epoch, batch.header.append_time_ms, partition.groups.views(request.offset)
        )

    async def records(self, partition: Partition, request: messages.RecordsRequest) -> messages.RecordsResponse:
        host = partition.host
        offset = request.offset
        if request.time_ms >= 0:
            offset = min(await host.log.offset_at_time(request.time_ms), host.high_watermark)
        _check_range(partition, offset, field="offset")
        if request.wait_ms and offset == host.high_watermark:
            await self._wait_for_records(partition, offset, request.wait_ms)
        found = []
        if offset < host.high_watermark:
            found = await host.log.read(offset, max_bytes=request.max_bytes, until=host.high_watermark)
        return messages.RecordsResponse(
            b"".join(stored.data for stored in found),
            offset,
            found[-1].header.next_offset if found else offset,
            host.log.log_start,
            host.high_watermark,
        )

    async def _wait_for_records(self, partition: Partition, offset: int, wait_ms: int) -> None:
        if self._waiting_records >= self._waiting_records_max:
            raise AcklogError(
                ProblemCode.TOO_MANY_WAITING,
                f"{self._waiting_records} reads wait for records already, the limit is {self._waiting_records_max}.",
                retry_after_ms=_WAITING_RETRY_MS,
            )
        self._waiting_records += 1
        try:
            await partition.host.wait_for_records(offset, wait_ms)
        finally:
            self._waiting_records -= 1


def positions_of(partition: Partition) -> messages.PositionsResponse:
    """Where the log and its groups are."""
    host = partition.host
    return messages.PositionsResponse(
        host.log.log_start, host.high_watermark, host.log.size_bytes, host.leader_epoch, partition.groups.positions()
    )


async def seek_target(partition: Partition, request: messages.SeekRequest) -> int:
    """The offset that a seek asks for. Raises AcklogError INVALID_FIELD, OFFSET_OUT_OF_RANGE."""
    host = partition.host
    if request.to == "earliest":
        return host.log.log_start
    if request.to == "latest":
        return host.high_watermark
    if request.to == "time":
        return min(await host.log.offset_at_time(request.value), host.high_watermark)
    if request.to != "offset":
        raise AcklogError(ProblemCode.INVALID_FIELD, "to must be earliest, latest, offset or time.", field="to")
    _check_range(partition, request.value, field="to")
    return request.value


def _check_range(partition: Partition, offset: int, *, field: str) -> None:
    host = partition.host
    if not host.log.log_start <= offset <= host.high_watermark:
        raise AcklogError(
            ProblemCode.OFFSET_OUT_OF_RANGE,
            f"The offset {offset} is outside the log, which goes from {host.log.log_start} to {host.high_watermark}.",
            field=field,
            extra={"logStart": host.log.log_start, "highWatermark": host.high_watermark},
        )
