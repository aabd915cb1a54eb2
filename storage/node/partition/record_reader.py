"""Committed records by offset: from the cache where the batch is there, else from the log."""

from collections.abc import Iterable

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from storage.log.partition_log import PartitionLog
from storage.node.partition.batch_cache import BatchCache, CachedBatch
from storage.node.partition.filter_figures import FilterFigures


class RecordReader:
    """One partition's records. `read_ahead_bytes` is read at once where the cache has nothing. Who filters what was
    read counts in `filter_figures` what he passes over."""

    def __init__(
        self, log: PartitionLog, cache: BatchCache, filter_figures: FilterFigures, *, read_ahead_bytes: int
    ) -> None:
        self.filter_figures = filter_figures
        self._log = log
        self._cache = cache
        self._read_ahead_bytes = read_ahead_bytes

    def cached(self, offset: int) -> CachedBatch | None:
        return self._cache.find(self._log.key, offset)

    async def batch_at(self, offset: int, *, readable_end: int) -> CachedBatch:
        """The batch that holds `offset`. Raises ServerError: OFFSET_OUT_OF_RANGE, RECORDS_CORRUPT, STORAGE_FAILED."""
        batch = self.cached(offset)
        if batch is not None:
            return batch
        found: CachedBatch | None = None
        for stored in await self._log.read_stored(offset, max_bytes=self._read_ahead_bytes, until=readable_end):
            cached = self._cache.put(self._log.key, stored.header, stored.data, self._log.cipher)
            if stored.header.base_offset <= offset < stored.header.next_offset:
                found = cached
        if found is None:
            raise ServerError(
                ProblemCode.OFFSET_OUT_OF_RANGE, f"No record has the offset {offset}.", extra={"offset": offset}
            )
        return found

    async def batches_at(self, offset: int, *, bytes_max: int, readable_end: int) -> list[CachedBatch]:
        """As `batch_at`, with those that follow, about `bytes_max` of them. What is read is not kept: who goes through
        a whole log would push out of the cache what others need."""
        found: list[CachedBatch] = []
        at, size_bytes = offset, 0
        while at < readable_end and size_bytes < bytes_max and (batch := self.cached(at)) is not None:
            found.append(batch)
            at, size_bytes = batch.header.next_offset, size_bytes + batch.header.length
        if not found:
            stored = await self._log.read_stored(offset, max_bytes=bytes_max, until=readable_end)
            found = [CachedBatch(self._log.key, header, data, self._log.cipher) for header, data in stored]
        if not found:
            raise ServerError(
                ProblemCode.OFFSET_OUT_OF_RANGE, f"No record has the offset {offset}.", extra={"offset": offset}
            )
        return found

    def keep(self, batch: CachedBatch) -> None:
        """Keep one of those that `batches_at` found: alone, not with all that was read with it."""
        if self.cached(batch.header.base_offset) is None:
            kept = self._cache.put(self._log.key, batch.header, bytes(batch.data), batch.cipher)
            kept.decoded = batch.decoded

    async def removed_among(self, offsets: Iterable[int], *, readable_end: int) -> list[int]:
        """Those of ascending offsets that compaction has removed: not what retention has, and not what cannot be read.
        Raises ServerError STORAGE_FAILED."""
        removed: list[int] = []
        for offset in offsets:
            try:
                _, record = await self.record_at(offset, readable_end=readable_end)
            except ServerError as error:
                if error.code not in (ProblemCode.OFFSET_OUT_OF_RANGE, ProblemCode.RECORDS_CORRUPT):
                    raise
            else:
                if record is None:
                    removed.append(offset)
        return removed

    async def record_at(self, offset: int, *, readable_end: int) -> tuple[CachedBatch, Record | None]:
        """None where compaction removed it."""
        batch = await self.batch_at(offset, readable_end=readable_end)
        return batch, batch.records()[offset - batch.header.base_offset]
