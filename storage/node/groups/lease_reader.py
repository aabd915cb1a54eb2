"""The messages behind leases, as far as they can be read."""

from collections.abc import Iterable, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from acklog.wire.limits import REQUEST_MESSAGES_MAX
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.leases import Lease, counted_attempt
from storage.node.partition.partition_host import PartitionHost
from storage.node.partition.record_reader import RecordReader
from storage.rpc.messages import DeliveredMessage

_RECORD_OVERHEAD_BYTES = 64


class ReadLeases(NamedTuple):
    """`surplus` are leases that go back: nothing was read for them, or their turn has not come. `damage` is why some
    message is not among them; then the first `damaged_behind` offsets behind the last lease cannot be read either.
    `removed` are ranges of offsets, ascending, of which compaction has left nothing: those that were leased, and what
    follows them."""

    messages: list[DeliveredMessage]
    size_bytes: int
    surplus: list[Lease]
    damage: ServerError | None
    damaged_behind: int
    removed: Sequence[tuple[int, int]] = ()


class LeaseReader:
    """Of one partition."""

    def __init__(self, host: PartitionHost, reader: RecordReader) -> None:
        self._host = host
        self._reader = reader

    async def read(
        self, group: GroupInPartition, leases: list[Lease], *, max_messages: int, max_bytes: int, is_first: bool
    ) -> ReadLeases:
        """The leased messages up to both limits; with `is_first` one is given whatever its size. Those that retention
        has just removed are left out. So are those that are damaged, which stay leased; where the group does not pass
        them, the first one ends what is given, and stays leased once it is the first of all.

        Raises ServerError: STORAGE_FAILED."""
        found: list[DeliveredMessage] = []
        size_bytes = 0
        topic_id, number = self._host.topic.id, self._host.partition
        prefix, group_part = f"r-{topic_id}-{number}-", f"-{group.group_id}-"
        readable_end = self._host.readable_end
        damage: ServerError | None = None
        base, end, damaged, damaged_end = 0, 0, 0, 0
        removed: list[tuple[int, int]] = []
        for index, lease in enumerate(leases):
            offset = lease.offset
            if not base <= offset < end:
                if damaged <= offset < damaged_end:
                    continue
                try:
                    batch = self._reader.cached(offset)  # where keys have an order, of another batch each time
                    if batch is None:
                        batch = await self._reader.batch_at(offset, readable_end=readable_end)
                    header, records = batch.header, batch.records()
                except ServerError as error:
                    if error.code is ProblemCode.OFFSET_OUT_OF_RANGE:
                        continue  # retention has just removed it, and the group's jump ends the lease
                    if error.code is not ProblemCode.RECORDS_CORRUPT:
                        raise
                    damage, damaged, damaged_end = error, offset, end_of_damage(error, offset)
                    if group.passes_damage:
                        continue
                    return ReadLeases(
                        found, size_bytes, leases[index if found else index + 1 :], damage, 0, _ascending(removed)
                    )
                base, end = header.base_offset, header.next_offset
            record = records[offset - base]
            if record is None:
                if not removed or offset >= removed[-1][1]:
                    removed.append((offset, offset + _gap_at(records, offset - base)))
                continue
            length = len(record.body) + _RECORD_OVERHEAD_BYTES
            if len(found) == max_messages or (size_bytes + length > max_bytes and (found or not is_first)):
                return ReadLeases(found, size_bytes, leases[index:], damage, 0, _ascending(removed))
            size_bytes += length
            found.append(
                DeliveredMessage(
                    topic_id,
                    number,
                    offset,
                    header.leader_epoch,
                    header.append_time_ms,
                    counted_attempt(lease.attempt),
                    f"{prefix}{offset}{group_part}{lease.generation}-{lease.leader_epoch}-{lease.attempt}",
                    record,
                )
            )
        damaged_behind = max(min(damaged_end - leases[-1].offset - 1, REQUEST_MESSAGES_MAX), 0)
        return ReadLeases(found, size_bytes, [], damage, damaged_behind, _ascending(removed))


def _gap_at(records: Sequence[Record | None], at: int) -> int:
    """How many are missing from there on."""
    return sum(1 for _ in takewhile(lambda record: record is None, islice(records, at, None)))


def _ascending(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Each offset once: what came back is leased before what is in front of it."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def end_of_damage(damage: ServerError, offset: int) -> int:
    """Where messages can be read again, as far as that is known."""
    end = damage.extra.get("next_offset")
    return end if isinstance(end, int) else offset + 1
