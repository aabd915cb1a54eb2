"""The state of exclusive groups in a partition of `__groups`: records in messages, read, appended and trimmed."""

from collections.abc import Iterable, Iterator

from acklog.wire.batch import decode_records, encode_batch
from acklog.wire.record import Record
from storage.groups.coordinator import Coordinator
from storage.groups.records import GroupRecord, decode_record, encode_record
from storage.node.partition.partition_host import PartitionHost
from storage.rpc.messages import ProduceRequest

_READ_BYTES = 4 * 1024 * 1024
_CONTENT_TYPE = "application/msgpack"


class GroupLog:
    """Calls raise ServerError. One writer: a call at a time."""

    def __init__(self, host: PartitionHost, *, commit_timeout_ms: int, batch_bytes_max: int) -> None:
        self._host = host
        self._commit_timeout_ms = commit_timeout_ms
        self._batch_bytes_max = batch_bytes_max
        self._rewritten_bytes = 0

    async def read_into(self, coordinator: Coordinator, now_ms: int) -> None:
        """All that is committed, when nothing is on its way any more. Raises ValueError for a batch, or a record, that
        nobody can make out."""
        await self._host.wait_until_committed()
        log, until = self._host.log, self._host.high_watermark
        offset = log.log_start
        while offset < until:
            for stored in await log.read(offset, max_bytes=_READ_BYTES, until=until):
                if stored.header.base_offset >= offset:
                    for record in decode_records(stored.data, stored.header):
                        coordinator.restore(decode_record(record.body), now_ms)
                offset = stored.header.next_offset
        coordinator.restored()

    async def append(self, records: Iterable[GroupRecord]) -> None:
        """Durable on every replica in sync when this returns. When it raises, nobody knows how many of them are; each
        makes sense without those behind it."""
        await self._append_all(records)

    def is_long(self, bytes_max: int) -> bool:
        """Whether it pays to write the state anew."""
        return self._host.log.size_bytes > max(bytes_max, 4 * self._rewritten_bytes)

    async def rewrite(self, records: Iterator[GroupRecord]) -> None:
        """Write the whole state at the log's end, and drop what is before it. Nothing else is appended meanwhile."""
        start = self._host.log.log_end
        self._rewritten_bytes = await self._append_all(records)
        await self._host.log.remove_before(start)

    async def _append_all(self, records: Iterable[GroupRecord]) -> int:
        """In batches of a bounded size; how many bytes all records have."""
        messages: list[Record] = []
        written = size = 0
        for record in records:
            message = _message_of(record)
            if size + len(message.body) > self._batch_bytes_max and messages:
                await self._append(messages)
                messages, size = [], 0
            messages.append(message)
            size += len(message.body)
            written += len(message.body)
        if messages:
            await self._append(messages)
        return written

    async def _append(self, messages: list[Record]) -> None:
        request = ProduceRequest(
            self._host.topic.id, self._host.partition, encode_batch(messages), timeout_ms=self._commit_timeout_ms
        )
        await self._host.produce(request)


def _message_of(record: GroupRecord) -> Record:
    return Record(encode_record(record), key=record.group_id, content_type=_CONTENT_TYPE)
