"""A segment that takes the place of another one: a crash at any step leaves the one or the other."""

import asyncio
import contextlib
from collections.abc import Sequence

import pytest

from acklog.wire.batch import (
    HEADER_BYTES,
    BatchCorruptError,
    BatchHeader,
    Buffer,
    encode_again,
    encode_batch,
    read_header,
)
from acklog.wire.record import Record
from cluster.errors import ServerError
from storage.compaction.segment_compaction import CompactionTerms, SegmentCompaction
from storage.disk.port import DiskFailedError
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from storage.log.segment_rewrite import RewrittenSegment
from tests.sim.sim_disk import SimulatedPowerLoss
from tests.support.compaction import TERMS, latest_in, remaining, table
from tests.support.log_harness import SMALL_LOG, LogHarness

KEY = LogKey("alpha", 0, LogKind.MESSAGES)
BATCHES = 24
EXPECTED = {f"k{number}": b'"%d"' % (BATCHES - 3 + number) for number in range(3)}


def keyed(serial: int) -> bytearray:
    return encode_batch([Record(b'"%d"' % serial, f"k{serial % 3}")])


def filled(seed: int = 0) -> tuple[LogHarness, PartitionLog]:
    """A log of several segments, all of it covered by a checkpoint; more has been appended behind."""
    harness = LogHarness(seed=seed)
    store = harness.open()
    log = harness.run(store.open_log(KEY, SMALL_LOG))

    async def work() -> None:
        for serial in range(BATCHES):
            await log.append(keyed(serial), leader_epoch=serial // 9)
        await store.sync()

    harness.run(work())
    return harness, log


async def no_pause(_size_bytes: int) -> None:
    pass


async def compact(log: PartitionLog, *, terms: CompactionTerms = TERMS, step_bytes: int = 150) -> int:
    """Every sealed segment; how many were rewritten."""
    latest = latest_in([await bytes_of(log)])
    rewritten = 0
    for segment in log.sealed_segments():
        compaction = SegmentCompaction(latest, terms)
        done = await log.rewrite_segment(segment.base_offset, compaction, step_bytes=step_bytes, pause=no_pause)
        rewritten += done is not None
    return rewritten


async def bytes_of(log: PartitionLog) -> list[bytes]:
    found: list[bytes] = []
    offset = log.log_start
    while offset < log.log_end:
        batches = await log.read(offset, max_bytes=700)
        assert batches
        assert batches[0].header.base_offset == offset
        found += [bytes(data) for _, data in batches]
        offset = batches[-1].header.next_offset
    return found


def test_sealed_segments_get_smaller_and_keep_their_offsets() -> None:
    harness, log = filled()
    size_bytes, log_end = log.size_bytes, log.log_end
    epochs = log.leader_epochs.entries()
    assert len(log.sealed_segments()) > 1
    assert harness.run(compact(log)) > 1
    assert log.size_bytes < size_bytes
    assert (log.log_start, log.log_end, log.leader_epochs.entries()) == (0, log_end, epochs)
    left = remaining(harness.run(bytes_of(log)))
    assert table(left) == EXPECTED
    assert len(left) < BATCHES
    assert harness.run(compact(log)) == 0, "there is nothing left to be done"
    harness.dispose()


def test_what_was_not_on_the_disk_yet_when_the_log_was_cut_is_sealed_like_all_else() -> None:
    """A cut makes all of it durable. What stayed out of compaction for ever kept values whose tombstones were gone."""
    harness = LogHarness()
    store = harness.open()
    log = harness.run(store.open_log(KEY, SMALL_LOG))

    async def work() -> None:
        for serial in range(2 * BATCHES):
            await log.append(keyed(serial), leader_epoch=1)
        await log.truncate_to(2 * BATCHES - 1)
        await log.append(keyed(2 * BATCHES), leader_epoch=2)
        await store.sync()

    harness.run(work())
    closed = [each.base_offset for each in log._state.segments[:-1]]
    assert len(closed) > 2
    assert [each.base_offset for each in log.sealed_segments()] == closed
    assert all(each.index is None for each in log._state.segments[:-1])
    left = harness.run(bytes_of(log))
    assert len(left) == 2 * BATCHES
    harness.dispose()


def test_what_is_behind_a_segment_that_may_not_be_rewritten_waits_for_it() -> None:
    """Or a tombstone would go while what it removes is still there."""
    harness, log = filled()
    state = log._state
    sealed = log.sealed_segments()
    assert len(sealed) > 1
    state.dirty_segments[state.segments[0]] = None
    assert log.sealed_segments() == []
    del state.dirty_segments[state.segments[0]]
    assert log.sealed_segments() == sealed
    harness.dispose()


def test_reads_from_the_middle_of_a_placeholder() -> None:
    harness, log = filled()
    harness.run(compact(log))
    for offset in range(log.log_end):
        header = harness.run(log.read(offset, max_bytes=1))[0].header
        assert header.base_offset <= offset < header.next_offset
    harness.dispose()


@pytest.mark.parametrize("is_orderly", [True, False])
def test_a_start_finds_the_new_segments(is_orderly: bool) -> None:
    harness, log = filled()
    harness.run(compact(log))
    before = harness.run(bytes_of(log))
    epochs = log.leader_epochs.entries()
    harness.close() if is_orderly else harness.lose_power()
    store = harness.open()
    assert store.failure is None
    assert not store.report.corrupt_places
    log = harness.run(store.open_log(KEY, SMALL_LOG))
    assert harness.run(bytes_of(log)) == before
    assert log.leader_epochs.entries() == epochs
    harness.dispose()


@pytest.mark.parametrize("seed", range(6))
def test_a_power_loss_at_any_step_leaves_the_old_or_the_new(seed: int) -> None:
    for operations in range(120):
        harness, log = filled(seed)
        before = harness.run(bytes_of(log))
        harness.disk.crash_after_operations(operations)
        is_over = False
        with contextlib.suppress(SimulatedPowerLoss, DiskFailedError, ServerError):
            harness.run(compact(log))
            is_over = True
        harness.lose_power()
        store = harness.open()
        assert store.failure is None
        assert not store.report.corrupt_places, (seed, operations)
        log = harness.run(store.open_log(KEY, SMALL_LOG))
        assert not [name for name in harness.disk.files() if name.endswith(".tmp")]
        left = remaining(harness.run(bytes_of(log)))
        assert table(left) == EXPECTED, (seed, operations)
        assert left.items() <= remaining(before).items()
        assert log.log_end == BATCHES

        async def append(log: PartitionLog = log) -> None:
            await log.append(keyed(BATCHES), leader_epoch=9)

        harness.run(append())
        harness.run(store.sync())
        harness.run(compact(log))
        assert len(remaining(harness.run(bytes_of(log)))) < BATCHES
        harness.dispose()
        if is_over:
            return
    raise AssertionError("it never came to its end")


def test_a_power_loss_right_behind_appends_replays_nothing_over_it() -> None:
    """What the journal still has of a segment must not be held against its new batches."""
    for seed in range(6):
        harness, log = filled(seed)

        async def work(log: PartitionLog = log, store: object = harness.store) -> None:
            for serial in range(BATCHES, BATCHES + 30):
                await log.append(keyed(serial), leader_epoch=5)
            await compact(log)

        harness.run(work())
        before = remaining(harness.run(bytes_of(log)))
        harness.lose_power()
        store = harness.open()
        log = harness.run(store.open_log(KEY, SMALL_LOG))
        assert remaining(harness.run(bytes_of(log))) == before
        harness.dispose()


class Shifting:
    """Makes one batch smaller and the next one as much larger, so that the file's size is what it was."""

    has_changed = True

    def __init__(self) -> None:
        self._count = 0

    def take(self, header: BatchHeader, data: Buffer) -> Sequence[Buffer]:
        self._count += 1
        payload = bytes(memoryview(data)[HEADER_BYTES:])
        return [encode_again(header, payload[:-2] if self._count % 2 else payload + b"xx")]

    def end(self) -> Sequence[Buffer]:
        return ()


def test_no_index_of_before_is_taken_for_that_of_a_file_of_the_same_size() -> None:
    for operations in range(40):
        harness, log = filled()
        segment = log.sealed_segments()[0]
        assert len(harness.run(bytes_of(log))) % 2 == 0
        harness.disk.crash_after_operations(operations)
        is_over = False
        with contextlib.suppress(SimulatedPowerLoss, DiskFailedError, ServerError):
            rewritten = harness.run(
                log.rewrite_segment(segment.base_offset, Shifting(), step_bytes=10_000, pause=no_pause)
            )
            assert rewritten == RewrittenSegment(segment.size_bytes, segment.size_bytes)
            is_over = True
        harness.lose_power()
        log = harness.run(harness.open().open_log(KEY, SMALL_LOG))
        for offset in range(log.log_end):
            assert harness.run(log.read(offset, max_bytes=1))[0].header.base_offset == offset
        harness.dispose()
        if is_over:
            return
    raise AssertionError("it never came to its end")


class Waiting:
    """Rewrites like `SegmentCompaction`, and lets something else happen in between."""

    def __init__(self, compaction: SegmentCompaction) -> None:
        self._compaction = compaction
        self.begun = asyncio.Event()
        self.may_go_on = asyncio.Event()

    @property
    def has_changed(self) -> bool:
        return self._compaction.has_changed

    def take(self, header: BatchHeader, data: Buffer) -> Sequence[Buffer]:
        return self._compaction.take(header, data)

    def end(self) -> Sequence[Buffer]:
        return self._compaction.end()

    async def pause(self, _size_bytes: int) -> None:
        self.begun.set()
        await self.may_go_on.wait()


@pytest.mark.parametrize("change", ["truncate", "remove_before", "reset", "append", "remove_log"])
def test_what_happens_to_the_log_meanwhile_wins(change: str) -> None:
    harness, log = filled()
    store = harness.store

    async def work() -> RewrittenSegment | None:
        latest = latest_in([await bytes_of(log)])
        segment = log.sealed_segments()[0]
        waiting = Waiting(SegmentCompaction(latest, TERMS))
        rewriting = asyncio.get_running_loop().create_task(
            log.rewrite_segment(segment.base_offset, waiting, step_bytes=100, pause=waiting.pause)
        )
        await waiting.begun.wait()
        if change == "truncate":
            await log.truncate_to(2)
        elif change == "remove_before":
            await log.remove_before(segment.end_offset)
        elif change == "reset":
            await log.reset_to(100)
        elif change == "remove_log":
            await store.remove_log(KEY)
        else:
            await log.append(keyed(BATCHES), leader_epoch=5)
        waiting.may_go_on.set()
        try:
            return await rewriting
        except (ServerError, BatchCorruptError):
            return None

    rewritten = harness.run(work())
    assert (rewritten is not None) == (change == "append")
    assert not [name for name in harness.disk.files() if name.endswith(".log.tmp")]
    if change != "remove_log":
        expected = {"truncate": (0, 2), "reset": (100, 100), "append": (0, BATCHES + 1)}
        log_start, log_end = expected.get(change, (log.log_start, BATCHES))
        assert (log.log_start, log.log_end) == (log_start, log_end)
        harness.run(bytes_of(log))
    harness.dispose()


def test_a_log_that_is_removed_when_its_new_file_is_whole_is_no_failed_disk() -> None:
    harness, log = filled()
    store = harness.store

    async def work() -> RewrittenSegment | None:
        compaction = SegmentCompaction(latest_in([await bytes_of(log)]), TERMS)

        async def remove(_size_bytes: int) -> None:
            await store.remove_log(KEY)

        base_offset = log.sealed_segments()[0].base_offset
        return await log.rewrite_segment(base_offset, compaction, step_bytes=1_000_000, pause=remove)

    assert harness.run(work()) is None
    assert not [name for name in harness.disk.files() if name.endswith(".log.tmp")]
    harness.run(store.open_log(LogKey("beta", 0, LogKind.MESSAGES), SMALL_LOG))
    harness.dispose()


def test_a_damaged_segment_is_left_as_it_is() -> None:
    harness, log = filled()
    latest = latest_in([harness.run(bytes_of(log))])
    segment = log.sealed_segments()[0]
    path = f"{KEY.directory}/{segment.base_offset:020d}.log"
    harness.disk.bit_rot(path, segment.size_bytes - 1, 1)
    before = harness.disk.files()[path]

    async def work() -> None:
        compaction = SegmentCompaction(latest, TERMS)
        await log.rewrite_segment(segment.base_offset, compaction, step_bytes=100, pause=no_pause)

    with pytest.raises(BatchCorruptError):
        harness.run(work())
    assert harness.disk.files()[path] == before
    assert not [name for name in harness.disk.files() if name.endswith(".tmp")]
    harness.dispose()


def test_a_failed_write_beside_it_changes_nothing() -> None:
    harness, log = filled()
    before = harness.run(bytes_of(log))
    harness.disk.fail_next_write()
    with pytest.raises(DiskFailedError):
        harness.run(compact(log))
    assert harness.store.failure is None
    assert harness.run(bytes_of(log)) == before
    harness.dispose()


def test_sealing_makes_the_active_segment_one_that_may_be_rewritten() -> None:
    harness, log = filled()
    harness.run(log.seal(appended_before_ms=0))
    assert log.sealed_segments()[-1].end_offset < BATCHES
    harness.run(harness.clock.advance_ms(10))
    harness.run(log.seal(appended_before_ms=harness.clock.now_ms()))
    assert log.sealed_segments()[-1].end_offset == BATCHES
    harness.run(compact(log))
    left = harness.run(bytes_of(log))
    assert table(remaining(left)) == EXPECTED
    assert len(remaining(left)) == 3
    assert read_header(left[0]).count > 1
    harness.dispose()
