"""Recent batches in memory, over all partitions of a node: consumers at the tail of a log never touch its files.

A receive takes ten messages of a batch that may hold a thousand, so a batch is decoded once and kept decoded while it
stays in the cache. The least recently used batch goes first; the limit is in bytes of encoded batches and of what
keeping them takes.
"""

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from dataclasses import dataclass, field

import msgspec

from acklog.wire.batch import BatchHeader, Buffer
from acklog.wire.compacted_batch import decode_remaining
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from storage.log.batch_cipher import IN_CLEAR, BatchCipher
from storage.log.keys import LogKey
from storage.log.segment_reader import StoredBatch

BATCH_OVERHEAD_BYTES = 768
"""Header, places in the cache and the allocator's rounding: of single messages more than their batches take."""


class UndecodableError(ServerError):
    """A batch as its leader took it, whose messages nobody can make out: neither rot nor to be mended by a replica."""

    def __init__(self, key: LogKey, header: BatchHeader, reason: str) -> None:
        super().__init__(
            ProblemCode.RECORDS_CORRUPT,
            f"the batch at offset {header.base_offset} of log {key} cannot be decoded: {reason}",
            extra={"offset": header.base_offset, "next_offset": header.next_offset},
        )


class CachedBatch(msgspec.Struct, gc=False, eq=False):
    """A committed batch as it is stored, and what decrypts it. `records` decodes on first use.

    There are a hundred thousand of them, none in a cycle: out of the garbage collector's sight they do not bring on its
    runs, which hold the event loop up (15 to 18 ms for 50,000 objects).
    """

    key: LogKey
    header: BatchHeader
    data: Buffer
    cipher: BatchCipher = IN_CLEAR
    decoded: list[Record | None] | None = None

    @property
    def size_bytes(self) -> int:
        return self.header.length + BATCH_OVERHEAD_BYTES

    def records(self) -> list[Record | None]:
        """None in the place of what compaction removed. Raises UndecodableError, and ServerError UNAVAILABLE where the
        key for it is not known."""
        if self.decoded is None:
            try:
                header, data = self.header, self.data
                if header.is_encrypted:
                    header, data = self.cipher.decrypted(StoredBatch(header, memoryview(data)))
                self.decoded = decode_remaining(data, header)
            except ValueError as error:
                raise UndecodableError(self.key, self.header, str(error)) from error
        if not self.decoded:
            raise UndecodableError(self.key, self.header, "it is the log's own and holds no message")
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
        self._used: OrderedDict[CachedBatch, None] = OrderedDict()

    @property
    def size_bytes(self) -> int:
        return self._bytes

    def put(self, key: LogKey, header: BatchHeader, data: Buffer, cipher: BatchCipher = IN_CLEAR) -> CachedBatch:
        """Keep the batch, unless it is there already; returns the cached one. `cipher` decrypts it: what is kept is
        what is stored, as followers are given it."""
        batch = CachedBatch(key, header, data, cipher)
        if batch.size_bytes > self._bytes_max:
            return batch
        shelf = self._shelves.get(key)
        if shelf is None:
            shelf = self._shelves[key] = _Shelf()
        known = shelf.batches.get(header.base_offset)
        if known is not None:
            return known
        shelf.batches[header.base_offset] = batch
        if shelf.bases and header.base_offset < shelf.bases[-1]:
            insort(shelf.bases, header.base_offset)
        else:
            shelf.bases.append(header.base_offset)
        self._used[batch] = None
        self._bytes += batch.size_bytes
        while self._bytes > self._bytes_max:
            self._forget(next(iter(self._used)))
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
        self._used.move_to_end(batch)
        return batch

    def drop(self, key: LogKey) -> None:
        """Forget a partition: it was removed, truncated or is led elsewhere."""
        shelf = self._shelves.get(key)
        for batch in list(shelf.batches.values()) if shelf else ():
            self._forget(batch)

    def drop_between(self, key: LogKey, start: int, end: int) -> None:
        """Forget the batches that begin there: others stand in their place."""
        shelf = self._shelves.get(key)
        if shelf is not None:
            for base in shelf.bases[bisect_left(shelf.bases, start) : bisect_left(shelf.bases, end)]:
                self._forget(shelf.batches[base])

    def _forget(self, batch: CachedBatch) -> None:
        shelf, base = self._shelves[batch.key], batch.header.base_offset
        del self._used[batch], shelf.batches[base]
        self._bytes -= batch.size_bytes
        del shelf.bases[bisect_right(shelf.bases, base) - 1]
        if not shelf.bases:
            del self._shelves[batch.key]
