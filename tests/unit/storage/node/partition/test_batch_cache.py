"""The cache of recent batches: found by any of their offsets, bounded in bytes, the least recently used goes first."""

import gc

from acklog.wire.batch import encode_batch, read_header, stamp
from acklog.wire.record import Record
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.node.partition.batch_cache import BATCH_OVERHEAD_BYTES, BatchCache

KEY = LogKey("0123456789abc", 0, LogKind.MESSAGES)
OTHER = LogKey("0123456789abc", 1, LogKind.MESSAGES)


def a_batch(base_offset: int, count: int = 3, body_bytes: int = 100) -> bytearray:
    batch = encode_batch([Record(b"x" * body_bytes) for _ in range(count)])
    stamp(batch, base_offset=base_offset, leader_epoch=1, append_time_ms=1)
    return batch


def size_of(batch: bytearray) -> int:
    return len(batch) + BATCH_OVERHEAD_BYTES


def put(cache: BatchCache, key: LogKey, base_offset: int, **size: int) -> None:
    batch = a_batch(base_offset, **size)
    cache.put(key, read_header(batch), batch)


def test_a_batch_is_found_by_each_of_its_offsets_and_no_other() -> None:
    cache = BatchCache(bytes_max=1 << 20)
    put(cache, KEY, 10)
    assert [cache.find(KEY, offset) is not None for offset in (9, 10, 11, 12, 13)] == [False, True, True, True, False]
    assert cache.find(OTHER, 10) is None


def test_batches_put_out_of_order_are_found() -> None:
    cache = BatchCache(bytes_max=1 << 20)
    for base in (20, 10, 30, 0):
        put(cache, KEY, base)
    assert [found.header.base_offset for base in (0, 10, 20, 30) if (found := cache.find(KEY, base + 2))] == [
        0,
        10,
        20,
        30,
    ]


def test_the_least_recently_used_batch_goes_first_and_the_bytes_stay_below_the_limit() -> None:
    size = size_of(a_batch(0))
    cache = BatchCache(bytes_max=3 * size)
    for base in (0, 3, 6):
        put(cache, KEY, base)
    assert cache.find(KEY, 0) is not None
    put(cache, OTHER, 0)
    assert cache.find(KEY, 3) is None
    assert cache.find(KEY, 0) is not None
    assert cache.size_bytes == 3 * size


def test_a_batch_beyond_the_limit_is_returned_but_not_kept() -> None:
    batch = a_batch(0)
    cache = BatchCache(bytes_max=size_of(batch) - 1)
    assert len(cache.put(KEY, read_header(batch), batch).records()) == 3
    assert cache.find(KEY, 0) is None
    assert cache.size_bytes == 0


def test_the_same_batch_put_twice_counts_once() -> None:
    cache = BatchCache(bytes_max=1 << 20)
    put(cache, KEY, 0)
    put(cache, KEY, 0)
    assert cache.size_bytes == size_of(a_batch(0))


def test_dropping_a_partition_forgets_its_batches_alone() -> None:
    cache = BatchCache(bytes_max=1 << 20)
    for base in (0, 3):
        put(cache, KEY, base)
    put(cache, OTHER, 0)
    cache.drop(KEY)
    assert cache.find(KEY, 0) is None
    assert cache.find(OTHER, 0) is not None
    assert cache.size_bytes == size_of(a_batch(0))
    cache.drop(KEY)


def test_cached_batches_are_none_of_the_garbage_collectors_business() -> None:
    cache = BatchCache(bytes_max=1 << 20)
    put(cache, KEY, 0)
    gc.collect()
    before = gc.get_count()[0]
    for number in range(1, 101):
        put(cache, KEY, number * 3)
    assert gc.get_count()[0] - before < 50
    assert not gc.is_tracked(cache.find(KEY, 150))
