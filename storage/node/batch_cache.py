"""Recent batches in memory, over all partitions of a node: consumers at the tail of a log never touch its files.

A receive takes ten messages of a batch that may hold a thousand, so a batch is decoded once and kept decoded while it
stays in the cache. The least recently used batch goes first; the limit is in bytes of encoded batches.
"""

from bisect import bisect_right, insort
from collections import OrderedDict
from dataclasses import dataclass, field

from acklog.wire.batch import BatchHeader, Buffer, decode_records
from acklog.wire.record import Record
from storage.log.keys import LogKey


@dataclass(slots=True)
class CachedBatch:
    """A committed batch. `records` decodes on first use."""

    header: BatchHeader
    data: Buffer
    decoded: list[Record] | None = None

    def records(self) -> list[Record]:
        if self.decoded is None:
            self.decoded = decode_records(self.data, self.header)
        return self.decoded


@dataclass(slots=True)
class _Shelf:
    """One partition's cached batches by base offset."""

    bases: list[int] = field(default_factory=list)
    batches: dict[int, CachedBatch] = field(default_factory=dict)


class BatchCache:
    """Bounded by `bytes_max`; a batch larger than that is not kept."""

    def __init__(self, *, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._shelves: dict[LogKey, _Shelf] = {}
        self._used: OrderedDict[tuple[LogKey, int], None] = OrderedDict()

    @property
    def size_bytes(self) -> int:
        return self._bytes

    def put(self, key: LogKey, header: BatchHeader, data: Buffer) -> CachedBatch:
        """Keep the batch, unless it is there already; returns the cached one."""
        shelf = self._shelves.setdefault(key, _Shelf())
        known = shelf.batches.get(header.base_offset)
        if known is not None:
            return known
        batch = CachedBatch(header, data)
        if header.length > self._bytes_max:
            return batch
        shelf.batches[header.base_offset] = batch
        if shelf.bases and header.base_offset < shelf.bases[-1]:
            insort(shelf.bases, header.base_offset)
        else:
            shelf.bases.append(header.base_offset)
        self._used[key, header.base_offset] = None
        self._bytes += header.length
        while self._bytes > self._bytes_max:
            (oldest_key, oldest_base), _ = self._used.popitem(last=False)
            self._forget(oldest_key, oldest_base)
        return batch

    def find(self, key: LogKey, offset: int) -> CachedBatch | None:
        """The cached batch that holds `offset`."""
        shelf = self._shelves.get(key)
        if shelf is None:
            return None
        at = bisect_right(shelf.bases, offset) - 1
        if at < 0:
            return None
        batch = shelf.batches[shelf.bases[at]]
        if offset >= batch.header.next_offset:
            return None
        self._used.move_to_end((key, batch.header.base_offset))
        return batch

    def drop(self, key: LogKey) -> None:
        """Forget a partition: it was removed, truncated or is led elsewhere."""
        shelf = self._shelves.get(key)
        for base in list(shelf.bases) if shelf else ():
            del self._used[key, base]
            self._forget(key, base)

    def _forget(self, key: LogKey, base: int) -> None:
        shelf = self._shelves[key]
        self._bytes -= shelf.batches.pop(base).header.length
        del shelf.bases[bisect_right(shelf.bases, base) - 1]
        if not shelf.bases:
            del self._shelves[key]
