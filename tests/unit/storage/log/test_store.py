"""The log store's promises, one by one."""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from acklog.wire.batch import BatchCorruptError
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.disk.port import FileLockedError
from storage.log.data_directory import DataDirectoryError
from storage.log.journal_files import found_files
from storage.log.keys import LogKey
from storage.log.log_settings import LogSettings
from storage.log.log_table import LogKind, Space
from storage.log.partition_log import PartitionLog
from storage.log.store import LogStore
from tests.sim.environment import SimEntropy
from tests.sim.inline_executor import InlineExecutor
from tests.sim.sim_disk import CAPACITY_BYTES_DEFAULT
from tests.support.log_harness import (
    SMALL_LOG,
    SMALL_STORE,
    LogHarness,
    content_of,
    keyed_batch,
    opaque_batch,
    read_all,
)

KEY = LogKey("alpha", 0, LogKind.MESSAGES)
OTHER = LogKey("alpha", 0, LogKind.DELIVERY)


@pytest.fixture
def harness() -> Iterator[LogHarness]:
    harness = LogHarness()
    harness.open()
    yield harness
    harness.dispose()


def log_of(harness: LogHarness, key: LogKey = KEY, settings: LogSettings = SMALL_LOG) -> PartitionLog:
    return harness.run(harness.store.open_log(key, settings))


def fill(harness: LogHarness, log: PartitionLog, serials: range, *, epoch: int = 0, size: int = 200) -> None:
    async def work() -> None:
        waiting = [log.append(opaque_batch(serial, size=size), leader_epoch=epoch) for serial in serials]
        await asyncio.gather(*waiting)

    harness.run(work())


def test_everything_of_one_turn_of_the_loop_shares_one_sync(harness: LogHarness) -> None:
    logs = [log_of(harness), log_of(harness, OTHER)]

    async def work() -> list[int]:
        waiting = [logs[n % 2].append(opaque_batch(n, records=2), leader_epoch=0) for n in range(10)]
        return [(await done).base_offset for done in waiting]

    fill(harness, logs[0], range(1))
    before = harness.disk.syncs
    assert harness.run(work()) == [1, 0, 3, 2, 5, 4, 7, 6, 9, 8]
    assert harness.disk.syncs == before + 1


def test_the_log_end_is_what_is_durable(harness: LogHarness) -> None:
    log = log_of(harness)

    async def work() -> None:
        done = log.append(opaque_batch(1, records=5), leader_epoch=3)
        assert (log.log_end, log.last_leader_epoch) == (0, -1)
        assert await done == (0, harness.clock.now_ms(), 5)
        assert (log.log_end, log.last_leader_epoch) == (5, 3)

    harness.run(work())


def test_append_times_never_fall_across_a_restart(harness: LogHarness) -> None:
    log = log_of(harness)
    harness.run(harness.clock.advance_ms(10_000))
    fill(harness, log, range(2))
    last_ms = harness.run(log.read(0, max_bytes=1))[0].header.append_time_ms
    harness.kill()
    harness.clock = type(harness.clock)()
    harness.open()
    log = log_of(harness)

    async def append() -> int:
        return (await log.append(opaque_batch(9), leader_epoch=0)).append_time_ms

    assert harness.run(append()) == last_ms


def test_a_read_takes_whole_batches_up_to_its_limits(harness: LogHarness) -> None:
    log = log_of(harness)
    fill(harness, log, range(20))
    length = harness.run(log.read(0, max_bytes=1))[0].header.length
    assert len(harness.run(log.read(3, max_bytes=3 * length))) == 3
    assert [batch.header.base_offset for batch in harness.run(log.read(3, max_bytes=10**6, until=6))] == [3, 4, 5]
    assert harness.run(log.read(20, max_bytes=100)) == []
    for offset in (-1, 21):
        with pytest.raises(ServerError) as caught:
            harness.run(log.read(offset, max_bytes=100))
        assert caught.value.code is ProblemCode.OFFSET_OUT_OF_RANGE
        assert caught.value.extra == {"log_start": 0, "log_end": 20}


def test_reads_that_need_the_device_go_through_the_executor(harness: LogHarness) -> None:
    log = log_of(harness)
    fill(harness, log, range(20), size=1500)
    harness.disk.misses_cache = lambda _: True
    assert [batch.content for batch in harness.read_all(log)] == [
        content_of(opaque_batch(serial, size=1500)) for serial in range(20)
    ]


def test_offset_at_time(harness: LogHarness) -> None:
    log = log_of(harness)
    start_ms = harness.clock.now_ms()
    for serial in range(12):
        fill(harness, log, range(serial, serial + 1))
        harness.run(harness.clock.advance_ms(100))
    for time_ms, offset in [(0, 0), (0 + 1, 1), (100, 1), (550, 6), (1100, 11), (1101, 12)]:
        assert harness.run(log.offset_at_time(start_ms + time_ms)) == offset


def test_a_batch_that_is_harmed_is_refused(harness: LogHarness) -> None:
    log = log_of(harness)

    async def refused() -> None:
        for position in (0, 5, 41, 100):
            batch = opaque_batch(1)
            batch[position] ^= 1
            with pytest.raises(BatchCorruptError):
                log.append(batch, leader_epoch=0)

    harness.run(refused())


def test_a_leader_epoch_never_falls(harness: LogHarness) -> None:
    log = log_of(harness)

    async def work() -> None:
        done = log.append(opaque_batch(1), leader_epoch=5)
        with pytest.raises(ValueError, match="leader epoch 4 after 5"):
            log.append(opaque_batch(2), leader_epoch=4)
        await done

    harness.run(work())


def test_beyond_the_limit_of_pending_bytes_appends_are_refused_and_the_rest_is_kept(harness: LogHarness) -> None:
    log = log_of(harness)
    limit = SMALL_STORE.pending_bytes_max
    length = len(opaque_batch(0, size=1000))

    async def work() -> None:
        waiting = [log.append(opaque_batch(n, size=1000), leader_epoch=0) for n in range(limit // length)]
        with pytest.raises(ServerError) as caught:
            log.append(opaque_batch(0, size=1000), leader_epoch=0)
        assert caught.value.code is ProblemCode.OVERLOADED
        assert caught.value.retry_after_ms
        await asyncio.gather(*waiting)
        assert harness.store.pending_bytes == 0
        await log.append(opaque_batch(0), leader_epoch=0)

    harness.run(work())
    assert log.log_end == limit // length + 1


def test_a_batch_that_no_journal_file_can_hold_is_refused(harness: LogHarness) -> None:
    log = log_of(harness)
    fill(harness, log, range(1), size=SMALL_STORE.journal_file_bytes - 4096 - 100)
    with pytest.raises(ServerError, match="REQUEST_TOO_LARGE"):
        fill(harness, log, range(1), size=SMALL_STORE.journal_file_bytes)


def test_the_journal_does_not_grow_beyond_its_limit(harness: LogHarness) -> None:
    log = log_of(harness)
    most = 0
    for serial in range(60):
        fill(harness, log, range(serial, serial + 1), size=3000)
        most = max(most, len(found_files(harness.disk)))
    assert 2 <= most <= SMALL_STORE.journal_files_max
    harness.run(harness.store.sync())
    assert len(found_files(harness.disk)) <= SMALL_STORE.journal_files_kept


def test_a_full_journal_file_is_free_again_long_before_the_interval_ends() -> None:
    harness = LogHarness(replace(SMALL_STORE, sync_interval_ms=1_000_000_000))
    harness.open()
    log = log_of(harness)
    most = 0
    for serial in range(60):
        fill(harness, log, range(serial, serial + 1), size=3000)
        harness.run(asyncio.sleep(0))  # the background sync has its turn
        most = max(most, len(found_files(harness.disk)))
    assert most == 2
    harness.dispose()


def test_below_the_reserve_only_reserved_appends_are_taken_until_there_is_space_again() -> None:
    harness = LogHarness(replace(SMALL_STORE, reserve_bytes=50_000, free_check_interval_ms=1000))
    harness.open()
    log = log_of(harness)
    harness.disk.capacity_bytes = harness.disk.used_bytes + 40_000
    operations = harness.disk.operations
    with pytest.raises(ServerError) as caught:
        fill(harness, log, range(1))
    assert harness.disk.operations == operations, "a round of nothing writes nothing"
    assert caught.value.code is ProblemCode.STORAGE_FULL
    assert caught.value.retry_after_ms

    log_of(harness, settings=replace(SMALL_LOG, space=Space.RESERVED))
    fill(harness, log, range(1))
    log_of(harness)
    harness.disk.capacity_bytes = CAPACITY_BYTES_DEFAULT
    harness.run(harness.clock.advance_ms(1000))
    fill(harness, log, range(2, 3))
    assert log.log_end == 2
    harness.dispose()


@pytest.mark.parametrize(("free_bytes", "takes"), [(25_000, True), (24_999, False)])
def test_half_of_the_reserve_is_the_audit_logs_as_well(free_bytes: int, takes: bool) -> None:
    harness = LogHarness(replace(SMALL_STORE, reserve_bytes=50_000))
    harness.open()
    log = log_of(harness, settings=replace(SMALL_LOG, space=Space.HALF_RESERVED))
    acknowledgements = log_of(harness, OTHER, replace(SMALL_LOG, space=Space.RESERVED))
    harness.disk.capacity_bytes = harness.disk.used_bytes + free_bytes
    with contextlib.nullcontext() if takes else pytest.raises(ServerError, match="no space left"):
        fill(harness, log, range(1))
    assert log.log_end == takes
    fill(harness, acknowledgements, range(1))
    harness.dispose()


def test_a_full_disk_fails_one_log_and_leaves_no_hole(harness: LogHarness) -> None:
    log, other = log_of(harness), log_of(harness, OTHER)
    fill(harness, log, range(1))
    harness.disk.capacity_bytes = harness.disk.used_bytes + 500

    async def work() -> list[object]:
        waiting = [log.append(opaque_batch(7, size=5000), leader_epoch=0), other.append(keyed_batch(8), leader_epoch=0)]
        return await asyncio.gather(*waiting, return_exceptions=True)

    failed, stored = harness.run(work())
    assert isinstance(failed, ServerError)
    assert failed.code is ProblemCode.STORAGE_FULL
    assert not isinstance(stored, BaseException)
    harness.disk.capacity_bytes = CAPACITY_BYTES_DEFAULT
    fill(harness, log, range(9, 10))
    harness.lose_power()
    harness.open()
    contents = [batch.content for batch in harness.read_all(log_of(harness))]
    assert contents == [content_of(opaque_batch(serial, size=200)) for serial in (0, 9)]


def test_after_a_failed_sync_nothing_is_served(harness: LogHarness) -> None:
    """R11."""
    log = log_of(harness)
    fill(harness, log, range(3))
    harness.disk.fail_next_sync()
    with pytest.raises(ServerError, match="STORAGE_FAILED"):
        fill(harness, log, range(3, 4))
    assert harness.store.failure is not None
    for work in (log.read(0, max_bytes=1), harness.store.open_log(OTHER, SMALL_LOG), log.truncate_to(1)):
        with pytest.raises(ServerError, match="STORAGE_FAILED"):
            harness.run(work)
    harness.lose_power()
    harness.open()
    assert [batch.content for batch in harness.read_all(log_of(harness))][:3] == [
        content_of(opaque_batch(serial, size=200)) for serial in range(3)
    ]


def test_truncation_is_durable_and_waiting_appends_come_behind_it(harness: LogHarness) -> None:
    log = log_of(harness)
    fill(harness, log, range(10))
    fill(harness, log, range(10, 20), epoch=1)

    async def work() -> int:
        truncated = asyncio.ensure_future(log.truncate_to(7))
        await asyncio.sleep(0)
        done = log.append(opaque_batch(99, size=200), leader_epoch=2)
        await truncated
        return (await done).base_offset

    assert harness.run(work()) == 7
    assert log.leader_epochs.entries() == [(0, 0), (2, 7)]
    harness.lose_power()
    harness.open()
    log = log_of(harness)
    contents = [batch.content for batch in harness.read_all(log)]
    assert contents == [content_of(opaque_batch(serial, size=200)) for serial in (*range(7), 99)]
    assert log.leader_epochs.entries() == [(0, 0), (2, 7)]
    assert log.leader_epochs.end_offset_for(1) == (0, 7)


def test_truncation_into_a_batch_removes_all_of_it(harness: LogHarness) -> None:
    log = log_of(harness)

    async def fill_uneven() -> None:
        for records in (4, 6, 2):
            await log.append(opaque_batch(records, records=records), leader_epoch=0)

    harness.run(fill_uneven())
    for offset, end in [(12, 12), (10, 10), (5, 4), (0, 0)]:
        harness.run(log.truncate_to(offset))
        assert log.log_end == end


def test_retention_by_age_empties_the_log_and_keeps_its_offsets(harness: LogHarness) -> None:
    log = log_of(harness)
    fill(harness, log, range(10))
    harness.run(harness.clock.advance_ms(5000))
    assert harness.run(log.retain(retention_ms=5000, retention_bytes=-1)).segments_removed == 0
    harness.run(harness.clock.advance_ms(1))
    retained = harness.run(log.retain(retention_ms=5000, retention_bytes=-1))
    assert retained.log_start == log.log_start == log.log_end == 10
    assert log.size_bytes == 0
    harness.lose_power()
    harness.open()
    log = log_of(harness)
    assert (log.log_start, log.log_end) == (10, 10)
    fill(harness, log, range(1))
    assert log.log_end == 11


def test_retention_by_size_and_what_holds_it_back(harness: LogHarness) -> None:
    log = log_of(harness)
    fill(harness, log, range(20))
    size = log.size_bytes
    assert harness.run(log.retain(retention_ms=-1, retention_bytes=size)).segments_removed == 0
    assert harness.run(log.retain(retention_ms=-1, retention_bytes=0, not_after_offset=7)).log_start == 6
    retained = harness.run(log.retain(retention_ms=-1, retention_bytes=1000))
    assert 1000 <= log.size_bytes < 2000
    assert retained.log_start == log.log_start
    with pytest.raises(ServerError, match="OFFSET_OUT_OF_RANGE"):
        harness.run(log.read(0, max_bytes=1))


def test_segments_with_recent_keys_are_kept(harness: LogHarness) -> None:
    log = log_of(harness)

    async def append_keyed() -> int:
        return (await log.append(keyed_batch(1), leader_epoch=0)).append_time_ms

    keyed_ms = harness.run(append_keyed())
    fill(harness, log, range(10))
    harness.close()
    harness.open()
    log = log_of(harness)
    for keep_after_ms, log_start in [(keyed_ms - 1, 0), (keyed_ms, log.log_end)]:
        harness.run(harness.clock.advance_ms(100))
        harness.run(log.retain(retention_ms=1, retention_bytes=-1, keep_keyed_after_ms=keep_after_ms))
        assert log.log_start == log_start


def test_a_removed_log_does_not_come_back_and_may_be_made_again(harness: LogHarness) -> None:
    log = log_of(harness)
    fill(harness, log, range(5))
    harness.run(harness.store.remove_log(KEY))
    with pytest.raises(ServerError, match="TOPIC_NOT_FOUND"):
        harness.run(log.read(0, max_bytes=1))
    log = log_of(harness)
    fill(harness, log, range(50, 52))
    harness.lose_power()
    harness.open()
    contents = [batch.content for batch in harness.read_all(log_of(harness))]
    assert contents == [content_of(opaque_batch(serial, size=200)) for serial in (50, 51)]
    harness.run(harness.store.remove_log(KEY))
    harness.lose_power()
    assert harness.open().keys() == []


def test_an_orderly_stop_leaves_nothing_to_recover(harness: LogHarness) -> None:
    log = log_of(harness)
    fill(harness, log, range(20))
    directory_id = harness.store.directory_id
    harness.close()
    report = harness.open().report
    assert report.was_clean
    assert (report.segments_scanned, report.journal_frames, report.batches_replayed) == (0, 0, 0)
    assert harness.store.directory_id == directory_id
    harness.kill()
    assert not harness.open().report.was_clean


def test_a_second_process_is_refused(harness: LogHarness) -> None:
    with pytest.raises(FileLockedError):
        harness.run(LogStore.open(disk=harness.disk, io=InlineExecutor(), clock=harness.clock, entropy=SimEntropy(1)))


def test_a_newer_format_is_refused(harness: LogHarness) -> None:
    harness.kill()
    content = harness.disk.files()["meta.json"].replace(b'"formatVersion":1', b'"formatVersion":2')
    harness.disk.open("meta.json").write(0, [content])
    with pytest.raises(DataDirectoryError, match="format 2"):
        harness.open()


def test_closed_logs_take_nothing_more(harness: LogHarness) -> None:
    log = log_of(harness)

    async def work() -> None:
        done = log.append(opaque_batch(1), leader_epoch=0)
        await harness.store.close()
        assert (await done).base_offset == 0
        with pytest.raises(ServerError):
            log.append(opaque_batch(2), leader_epoch=0)

    harness.run(work())


def test_few_files_stay_open(harness: LogHarness) -> None:
    logs = [log_of(harness, LogKey("many", number, LogKind.MESSAGES)) for number in range(12)]
    for log in logs:
        fill(harness, log, range(9))

    async def work() -> None:
        for log in logs:
            assert len(await read_all(log)) == 9

    harness.run(work())
    engine = harness.store._engine
    assert len(engine.files) <= SMALL_STORE.open_files_max
    harness.run(harness.store.sync())
    harness.run(work())
    assert len(engine.indexes) <= SMALL_STORE.closed_indexes_max


def test_a_rotten_batch_is_refused_and_its_neighbours_are_not(harness: LogHarness) -> None:
    log = log_of(harness, settings=LogSettings(segment_bytes=100_000, index_interval_bytes=4096))
    fill(harness, log, range(30))
    length = harness.run(log.read(0, max_bytes=1))[0].header.length
    harness.disk.bit_rot(f"{KEY.directory}/{0:020d}.log", 10 * length + 150, 1)
    with pytest.raises(ServerError) as caught:
        harness.run(log.read(10, max_bytes=1))
    assert caught.value.code is ProblemCode.RECORDS_CORRUPT
    assert caught.value.extra == {"offset": 10, "next_offset": 11}
    assert [batch.header.base_offset for batch in harness.run(log.read(8, max_bytes=10**6))] == [8, 9]
    assert harness.run(log.read(11, max_bytes=10**6))[-1].header.base_offset == 29


def test_a_journal_with_a_hole_is_not_served_and_not_touched() -> None:
    harness = LogHarness(replace(SMALL_STORE, journal_file_bytes=16 * 4096))
    harness.open()
    log = log_of(harness)
    for serial in range(4):
        fill(harness, log, range(serial, serial + 1))
    harness.kill()
    harness.disk.bit_rot("journal/00000000.journal", 4096 + 200, 2)
    before = {path: content for path, content in harness.disk.files().items() if path != os.curdir}
    store = harness.open()
    assert store.failure is not None
    assert "journal frame" in store.failure
    assert harness.disk.files() == before
    with pytest.raises(ServerError, match="STORAGE_FAILED"):
        log_of(harness)
    harness.dispose()
