"""The messages behind leases, as far as they can be read."""

from collections.abc import Iterable, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from acklog.wire.limits import REQUEST_MESSAGES_MAX
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.values import Expired, GroupSettings
from cluster.ports.clock import Clock
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
    follows them. Of what has `expired` the time to live is over, by this leader's clock: nobody may be given that."""

    messages: list[DeliveredMessage]
    size_bytes: int
    surplus: list[Lease]
    damage: ServerError | None
    damaged_behind: int
    removed: Sequence[tuple[int, int]] = ()
    expired: Sequence[Lease] = ()


class LeaseReader:
    """Of one partition. Whoever reads gets as many as the limits allow; with `is_first` one whatever its size.

    What retention has just removed is left out. So is what is damaged, which stays leased; where the group does not
    pass that, the first one ends what is given, and stays leased once it is the first of all. What has expired is left
    out, too; where it becomes a dead letter, and the group does not pass that, it ends what is given.
    """

    def __init__(self, host: PartitionHost, reader: RecordReader, clock: Clock) -> None:
        self._host = host
        self._reader = reader
        self._clock = clock

    async def read(
        self,
        group: GroupInPartition,
        settings: GroupSettings,
        leases: list[Lease],
        *,
        max_messages: int,
        max_bytes: int,
        is_first: bool,
    ) -> ReadLeases:
        """The leased messages up to both limits. Raises ServerError: STORAGE_FAILED."""
        found, expired, removed = list[DeliveredMessage](), list[Lease](), list[tuple[int, int]]()
        topic, number = self._host.topic, self._host.partition
        topic_id, topic_ttl_ms = topic.id, topic.config.ttl_ms
        prefix, group_part = f"r-{topic_id}-{number}-", f"-{group.group_id}-"
        damage: ServerError | None = None
        base, end, damaged, damaged_end, size_bytes = 0, 0, 0, 0, 0

        def ended(surplus: list[Lease], damaged_behind: int = 0) -> ReadLeases:
            return ReadLeases(found, size_bytes, surplus, damage, damaged_behind, _ascending(removed), expired)

        for index, lease in enumerate(leases):
            offset = lease.offset
            if not base <= offset < end:
                if damaged <= offset < damaged_end:
                    continue
                try:
                    batch = self._reader.cached(offset)  # where keys have an order, of another batch each time
                    if batch is None:
                        batch = await self._reader.batch_at(offset, readable_end=self._host.readable_end)
                    header, records = batch.header, batch.records()
                except ServerError as error:
                    if error.code is ProblemCode.OFFSET_OUT_OF_RANGE:
                        continue  # retention has just removed it, and the group's jump ends the lease
                    if error.code is not ProblemCode.RECORDS_CORRUPT:
                        raise
                    damage, damaged, damaged_end = error, offset, end_of_damage(error, offset)
                    if group.passes_damage:
                        continue
                    return ended(leases[index if found else index + 1 :])
                base, end = header.base_offset, header.next_offset
            record = records[offset - base]
            if record is None:
                if not removed or offset >= removed[-1][1]:
                    removed.append((offset, offset + _gap_at(records, offset - base)))
                continue
            ttl_ms = record.ttl_ms if record.ttl_ms is not None else topic_ttl_ms
            if ttl_ms is not None and self._clock.now_ms() >= header.append_time_ms + ttl_ms:
                expired.append(lease)
                if settings.on_expired is Expired.DEAD_LETTER and not group.passes_damage:
                    return ended(leases[index + 1 :])
                continue
            length = record.large_bytes + _RECORD_OVERHEAD_BYTES
            if len(found) == max_messages or (size_bytes + length > max_bytes and (found or not is_first)):
                return ended(leases[index:])
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
                    group.state.progress.first_failed_ms(offset),
                )
            )
        return ended([], max(min(damaged_end - leases[-1].offset - 1, REQUEST_MESSAGES_MAX), 0))


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
