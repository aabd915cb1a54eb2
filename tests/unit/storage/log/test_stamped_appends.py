"""What a follower appends: batches that keep the stamps of another node's leader."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from acklog.wire.batch import BatchCorruptError
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.log.keys import LogKey
from storage.log.log_settings import LogSettings
from storage.log.log_table import LogKind, Space
from storage.log.partition_log import PartitionLog
from tests.sim.sim_disk import CAPACITY_BYTES_DEFAULT
from tests.support.log_harness import (
    SMALL_LOG,
    SMALL_STORE,
    LogHarness,
    keyed_batch,
    opaque_batch,
    stamped,
    stamped_run,
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


async def append(log: PartitionLog, batches: bytes) -> tuple[int, int, int]:
    return await log.append_stamped(batches)


def test_they_are_kept_to_the_byte_over_segments_and_restarts(harness: LogHarness) -> None:
    log = log_of(harness)
    first = stamped_run(0, range(9), leader_epoch=2, append_ms=50)
    second = stamped_run(9, range(9, 20), leader_epoch=5, append_ms=60)
    assert harness.run(append(log, first)) == (0, 50, 9)
    assert harness.run(append(log, second)) == (9, 60, 20)
    assert len(log._state.segments) == 7
    for _ in range(2):
        assert b"".join(harness.read_bytes(log)) == first + second
        assert log.leader_epochs.entries() == [(2, 0), (5, 9)]
        assert log.leader_epochs.log_end == log.log_end == 20
        assert [harness.run(log.offset_at_time(time_ms)) for time_ms in (50, 51, 61)] == [0, 9, 20]
        harness.lose_power()
        harness.open()
        log = log_of(harness)
    assert not harness.store.report.torn_tails


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_will_do(harness: LogHarness, kind: type) -> None:
    log = log_of(harness)
    run = stamped_run(0, range(3))
    assert harness.run(append(log, kind(bytearray(run)))) == (0, 0, 3)
    assert b"".join(harness.read_bytes(log)) == run


def test_all_of_one_turn_share_one_sync_and_are_told_in_order(harness: LogHarness) -> None:
    log, other = log_of(harness), log_of(harness, OTHER)

    async def main() -> list[object]:
        waiting = [
            log.append_stamped(stamped_run(0, range(2))),
            other.append_stamped(stamped_run(0, range(1))),
            log.append_stamped(stamped_run(2, range(2, 5), leader_epoch=1)),
        ]
        assert log.log_end == 0
        return await asyncio.gather(*waiting)

    syncs = harness.disk.syncs
    assert harness.run(main()) == [(0, 0, 2), (0, 0, 1), (2, 0, 5)]
    assert harness.disk.syncs == syncs + 1


def test_a_batch_larger_than_a_segment_gets_one_of_its_own(harness: LogHarness) -> None:
    log = log_of(harness)
    run = stamped_run(0, range(1)) + stamped_run(1, range(1, 2), size=3000) + stamped_run(2, range(2, 4))
    harness.run(append(log, run))
    assert [segment.base_offset for segment in log._state.segments] == [0, 1, 2]
    assert b"".join(harness.read_bytes(log)) == run


def test_own_appends_go_on_behind_them_and_never_before_their_time(harness: LogHarness) -> None:
    log = log_of(harness)
    later_ms = harness.clock.now_ms() + 10_000

    async def main() -> None:
        stored = log.append_stamped(stamped_run(0, range(3), leader_epoch=4, append_ms=later_ms))
        with pytest.raises(ValueError, match="leader epoch 3 after 4"):
            log.append(opaque_batch(3), leader_epoch=3)
        own = log.append(opaque_batch(3), leader_epoch=6)
        again = log.append_stamped(stamped_run(4, range(4, 5), leader_epoch=6, append_ms=later_ms + 1))
        assert await stored == (0, later_ms, 3)
        assert await own == (3, later_ms, 4)
        assert await again == (4, later_ms + 1, 5)

    harness.run(main())
    assert log.leader_epochs.entries() == [(4, 0), (6, 3)]


def test_behind_own_appends_that_wait_a_time_before_theirs_does_not_fit(harness: LogHarness) -> None:
    log = log_of(harness)

    async def main() -> None:
        own = log.append(opaque_batch(0), leader_epoch=1)
        lost = log.append_stamped(stamped_run(1, range(1, 2), leader_epoch=1, append_ms=0))
        assert (await own).base_offset == 0
        with pytest.raises(ServerError, match="CONFLICT"):
            await lost
        now_ms = harness.clock.now_ms()
        assert await append(log, stamped_run(1, range(1, 2), leader_epoch=1, append_ms=now_ms)) == (1, now_ms, 2)

    harness.run(main())


@pytest.mark.parametrize("batch", range(3))
@pytest.mark.parametrize("position", [0, 5, 10, 17, 25, 30, 33, 41, 81, 100, 200])
def test_a_harmed_batch_refuses_all_of_them(harness: LogHarness, batch: int, position: int) -> None:
    log = log_of(harness)
    run = bytearray(stamped_run(0, range(3)))
    run[batch * (len(run) // 3) + position] ^= 4
    expect_refusal(harness, log, bytes(run), "", BatchCorruptError)


def expect_refusal(
    harness: LogHarness, log: PartitionLog, batches: bytes, text: str, kind: type[Exception] = ValueError
) -> None:
    """Refused at once; nothing is queued, and what fits is taken."""
    before = log.log_end, harness.disk.operations

    async def main() -> None:
        with pytest.raises(kind, match=text or None):
            log.append_stamped(batches)
        assert harness.store.pending_bytes == 0
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (log.log_end, harness.disk.operations) == before

    harness.run(main())
    end, epoch = log.log_end, max(log.last_leader_epoch, 0)
    last_ms = max(log._state.last_append_ms, 0)
    harness.run(append(log, stamped_run(end, range(end, end + 1), leader_epoch=epoch, append_ms=last_ms)))


def test_what_does_not_follow_is_refused(harness: LogHarness) -> None:
    log = log_of(harness)
    harness.run(append(log, stamped_run(0, range(3), leader_epoch=4, append_ms=100)))

    def run(offset: int, *, leader_epoch: int = 4, append_ms: int = 100) -> bytes:
        return stamped_run(offset, range(2), leader_epoch=leader_epoch, append_ms=append_ms)

    refused: list[tuple[Callable[[int], bytes], str]] = [
        (lambda end: b"", "there is no batch"),
        (lambda end: run(end - 1), "the batches begin at offset 3, the log ends at 4"),
        (lambda end: run(end + 1), "the batches begin at offset 6, the log ends at 5"),
        (lambda end: run(end, leader_epoch=3), "leader epoch 3 after 4"),
        (lambda end: run(end, append_ms=99), "append time 99 after 100"),
        (lambda end: run(end) + run(end + 3), "the batch behind offset 9 begins at 11"),
        (lambda end: run(end) + run(end + 1), "the batch behind offset 10 begins at 10"),
        (lambda end: run(end) + run(end + 2, leader_epoch=3), "leader epoch 3 after 4 at offset 12"),
        (lambda end: run(end) + run(end + 2, append_ms=99), "append time 99 after 100 at offset 13"),
    ]
    for batches, text in refused:
        expect_refusal(harness, log, batches(log.log_end), text)


@pytest.mark.parametrize(
    ("epoch", "append_ms", "offset", "text"),
    [(-1, 0, 0, "leader epoch -1"), (0, -1, 0, "append time -1"), (0, 0, -1, "no leader has stamped")],
)
def test_what_no_leader_stamps_is_refused(
    harness: LogHarness, epoch: int, append_ms: int, offset: int, text: str
) -> None:
    batch = stamped(opaque_batch(1), base_offset=offset, leader_epoch=epoch, append_ms=append_ms)
    expect_refusal(harness, log_of(harness), batch, text, BatchCorruptError)


def test_bytes_behind_the_last_batch_are_refused(harness: LogHarness) -> None:
    run = stamped_run(0, range(2))
    for surplus in (b"AKB1", run[:100], bytes(90)):
        expect_refusal(
            harness, log_of(harness), stamped_run(log_of(harness).log_end, range(2)) + surplus, "", ValueError
        )


def test_beyond_the_limit_of_pending_bytes_they_are_refused(harness: LogHarness) -> None:
    log = log_of(harness)
    length = len(stamped_run(0, range(10)))

    async def main() -> None:
        calls = SMALL_STORE.pending_bytes_max // length
        waiting = [log.append_stamped(stamped_run(n * 10, range(10))) for n in range(calls)]
        with pytest.raises(ServerError) as caught:
            log.append_stamped(stamped_run(calls * 10, range(10)))
        assert caught.value.code is ProblemCode.OVERLOADED
        await asyncio.gather(*waiting)
        await log.append_stamped(stamped_run(calls * 10, range(10)))

    harness.run(main())


def test_more_than_a_journal_file_holds_is_refused(harness: LogHarness) -> None:
    size = SMALL_STORE.journal_file_bytes
    with pytest.raises(ServerError, match="REQUEST_TOO_LARGE"):
        harness.run(append(log_of(harness), stamped_run(0, range(2), size=size // 2)))


def test_a_closing_or_removed_log_refuses_them(harness: LogHarness) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        other = await harness.store.open_log(OTHER, SMALL_LOG)
        await harness.store.remove_log(OTHER)
        with pytest.raises(ServerError, match="TOPIC_NOT_FOUND"):
            other.append_stamped(stamped_run(0, range(1)))
        stored = log.append_stamped(stamped_run(0, range(1)))
        await harness.store.close()
        assert (await stored).next_offset == 1
        with pytest.raises(ServerError):
            log.append_stamped(stamped_run(1, range(1)))

    harness.run(main())


def test_a_full_disk_stores_nothing_of_them_nor_of_those_behind_them(harness: LogHarness) -> None:
    log, other = log_of(harness), log_of(harness, OTHER)
    harness.run(append(log, stamped_run(0, range(1))))
    harness.disk.capacity_bytes = harness.disk.used_bytes + 500

    async def main() -> None:
        waiting = [
            log.append_stamped(stamped_run(1, range(1, 3), size=5000, leader_epoch=3)),
            log.append_stamped(stamped_run(3, range(3, 4), leader_epoch=3)),
            other.append_stamped(stamped_run(0, range(1), size=8)),
        ]
        full, behind, stored = await asyncio.gather(*waiting, return_exceptions=True)
        for error in (full, behind):
            assert isinstance(error, ServerError)
            assert error.code in (ProblemCode.STORAGE_FULL, ProblemCode.CONFLICT)
        assert stored == (0, 0, 1)
        harness.disk.capacity_bytes = CAPACITY_BYTES_DEFAULT
        # Another leader's batches of an earlier epoch fit now: nothing of the later one was stored.
        assert await append(log, stamped_run(1, range(1, 3), leader_epoch=2)) == (1, 0, 3)

    harness.run(main())
    harness.lose_power()
    harness.open()
    assert log_of(harness).leader_epochs.entries() == [(0, 0), (2, 1)]


def test_below_the_reserve_only_reserved_ones_are_taken() -> None:
    harness = LogHarness(replace(SMALL_STORE, reserve_bytes=50_000))
    harness.open()
    log = log_of(harness)
    harness.disk.capacity_bytes = harness.disk.used_bytes + 40_000

    async def main() -> None:
        first = log.append_stamped(stamped_run(0, range(1)))
        behind = log.append_stamped(stamped_run(1, range(1, 2)))
        for waiting in (first, behind):
            with pytest.raises(ServerError) as caught:
                await waiting
            assert caught.value.code is ProblemCode.STORAGE_FULL
        await harness.store.open_log(KEY, replace(SMALL_LOG, space=Space.RESERVED))
        assert (await log.append_stamped(stamped_run(0, range(1)))).next_offset == 1

    harness.run(main())
    harness.dispose()


@pytest.mark.parametrize("offset", [*range(13)])
def test_after_a_cut_a_leader_with_a_slower_clock_and_an_earlier_epoch_goes_on(
    harness: LogHarness, offset: int
) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        for number in range(12):
            run = stamped_run(
                number, range(number, number + 1), leader_epoch=1 + number, append_ms=50 + 100 * number, size=40
            )
            await log.append_stamped(run)
        await log.truncate_to(offset)
        kept_ms, kept_epoch = 100 * offset - 50, offset
        if offset:
            with pytest.raises(ValueError, match=f"append time {kept_ms - 1} after {kept_ms}"):
                log.append_stamped(stamped_run(offset, range(1), leader_epoch=kept_epoch, append_ms=kept_ms - 1))
            with pytest.raises(ValueError, match=f"leader epoch {kept_epoch - 1} after {kept_epoch}"):
                log.append_stamped(stamped_run(offset, range(1), leader_epoch=kept_epoch - 1, append_ms=kept_ms))
        run = stamped_run(offset, range(50, 52), leader_epoch=kept_epoch, append_ms=max(kept_ms, 0))
        assert (await log.append_stamped(run)).next_offset == offset + 2

    harness.run(main())
    harness.lose_power()
    report = harness.open().report
    assert offset == 12 or not report.torn_tails  # with 12 nothing was cut, so that nothing was synced
    assert log_of(harness).log_end == offset + 2


@pytest.mark.parametrize("offset", range(1, 36))
def test_after_a_cut_into_a_batch_the_last_append_time_is_that_of_the_batch_before(
    harness: LogHarness, offset: int
) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        for number in range(12):
            batch = opaque_batch(number, records=3, size=(40, 200)[number % 2])
            await log.append_stamped(stamped(batch, base_offset=3 * number, append_ms=50 + 100 * number))
        await log.truncate_to(offset)
        kept = offset // 3
        assert log.log_end == 3 * kept
        assert log._state.last_append_ms == (100 * kept - 50 if kept else -1)

    harness.run(main())


def test_a_cut_refuses_those_that_wait_behind_it(harness: LogHarness) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        await log.append_stamped(stamped_run(0, range(5), leader_epoch=1))
        cutting = asyncio.ensure_future(log.truncate_to(3))
        await asyncio.sleep(0)
        lost = log.append_stamped(stamped_run(5, range(5, 6), leader_epoch=1))
        await cutting
        with pytest.raises(ServerError, match="CONFLICT"):
            await lost
        await log.append_stamped(stamped_run(3, range(5, 6), leader_epoch=1))
        assert log.log_end == 4

    harness.run(main())


def test_retention_and_keys_go_by_the_leaders_stamps(harness: LogHarness) -> None:
    log = log_of(harness)
    now_ms = harness.clock.now_ms()
    old = stamped_run(0, range(4), append_ms=now_ms - 10_000)
    keyed = stamped(keyed_batch(4), base_offset=4, append_ms=now_ms - 9_000)
    behind = stamped_run(5, range(5, 8), append_ms=now_ms - 8_000)
    young = stamped_run(8, range(8, 18), append_ms=now_ms)
    harness.run(append(log, old + keyed + behind + young))
    assert [start <= 4 < end for start, end, _ in harness.run(log.keyed_ranges_since(now_ms - 9_000))] == [True]
    assert harness.run(log.keyed_ranges_since(now_ms - 8_999)) == []
    for keep_keyed_after_ms, log_start in [(now_ms - 9_001, 3), (now_ms - 9_000, 7)]:
        harness.run(log.retain(retention_ms=5_000, retention_bytes=-1, keep_keyed_after_ms=keep_keyed_after_ms))
        assert log.log_start == log_start
