"""Finds messages to lease: asks the group, shows it what it has to see, and records what it passes over."""

import asyncio
from collections.abc import Callable

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.delivery.candidates import CandidateIndex, CandidateKind, CandidateRun, WantedRange, runs_of
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.leases import Lease
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.groups.lease_reader import end_of_damage
from storage.node.partition.batch_cache import CachedBatch
from storage.node.partition.partition_host import PartitionHost
from storage.node.partition.record_reader import RecordReader


class LeaseFinder:
    """Of one partition. What has just been committed is in the cache that the reader looks into first. `on_more` is
    called with a group's id when it gave way before the group had seen everything."""

    def __init__(
        self,
        host: PartitionHost,
        delivery: DeliveryHost,
        reader: RecordReader,
        *,
        clock: Clock,
        looks_max: int,
        on_more: Callable[[str], None],
    ) -> None:
        self._host = host
        self._delivery = delivery
        self._reader = reader
        self._clock = clock
        self._looks_max = looks_max
        self._on_more = on_more
        self._candidates = CandidateIndex(runs_max=delivery.state.settings.candidate_runs_max)

    async def find(self, group: GroupInPartition, consumer: str, max_messages: int, visibility_ms: int) -> list[Lease]:
        """None where there are none, or it has looked for long enough.

        Where all that it saw is passed over, that is durable before it looks on (rule R41); and one receive holds up
        nobody for longer than a look takes. What it has it gives at once where seeing more takes a read of the disk.
        Raises ServerError: STORAGE_FAILED, what an append raises.
        """
        leases: list[Lease] = []
        for _ in range(self._looks_max):
            received = group.receive(
                self._candidates,
                consumer=consumer,
                max_messages=max_messages - len(leases),
                visibility_ms=visibility_ms,
                readable_end=self._host.readable_end,
                now_ms=self._clock.monotonic_ms(),
            )
            leases += received.leases
            if leases:
                if received.skipped is not None:
                    self._delivery.write(received.skipped)
                if received.wanted is None or len(leases) == max_messages or not self._show_cached(received.wanted):
                    return leases
                continue
            if received.skipped is not None:
                await self._delivery.commit(received.skipped)
            elif received.wanted is None:
                return []
            if received.wanted is not None:
                await self._show(received.wanted)
                await asyncio.sleep(0)  # what is in the cache is there at once
        if not leases:
            self._on_more(group.group_id)
        return leases

    def _show_cached(self, wanted: WantedRange) -> bool:
        """Whether the batch is at hand."""
        batch = self._reader.cached(wanted.start)
        if batch is None:
            return False
        try:
            self._feed(wanted, batch)
        except ServerError:
            return False  # who needs it next reports it
        return True

    async def _show(self, wanted: WantedRange) -> None:
        """The batch that holds the first of it. Raises ServerError STORAGE_FAILED."""
        offset = wanted.start
        try:
            self._feed(wanted, await self._reader.batch_at(offset, readable_end=self._host.readable_end))
        except ServerError as error:
            if error.code is ProblemCode.RECORDS_CORRUPT:
                end = min(end_of_damage(error, offset), wanted.end)
                self._candidates.feed(offset, end, [CandidateRun(offset, end, CandidateKind.UNREADABLE)])
            elif error.code is not ProblemCode.OFFSET_OUT_OF_RANGE:
                raise  # else retention has just removed it, and the group's jump takes it from here

    def _feed(self, wanted: WantedRange, batch: CachedBatch) -> None:
        """Raises ServerError RECORDS_CORRUPT."""
        header = batch.header
        if header.is_control:
            runs = [CandidateRun(header.base_offset, header.next_offset, CandidateKind.CONTROL)]
        else:
            runs = runs_of(header.base_offset, batch.records())
        self._candidates.feed(wanted.start, header.next_offset, runs)
