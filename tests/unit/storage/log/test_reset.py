"""A log that begins anew somewhere else: what is left of it, and what a crash at any point may leave."""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from tests.sim.sim_disk import CAPACITY_BYTES_DEFAULT, SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, LogHarness, opaque_batch, stamped_run

KEY = LogKey("alpha", 0, LogKind.MESSAGES)
OTHER = LogKey("beta", 0, LogKind.MESSAGES)


@pytest.fixture
def harness() -> Iterator[LogHarness]:
    harness = LogHarness()
    harness.open()
    yield harness
    harness.dispose()


def log_of(harness: LogHarness, key: LogKey = KEY) -> PartitionLog:
    return harness.run(harness.store.open_log(key, SMALL_LOG))


async def fill(log: PartitionLog, serials: range, *, leader_epoch: int = 0) -> None:
    await asyncio.gather(*(log.append(opaque_batch(n, size=200), leader_epoch=leader_epoch) for n in serials))


def bounds(log: PartitionLog) -> tuple[int, int, list[tuple[int, int]]]:
    return log.log_start, log.log_end, log.leader_epochs.entries()


@pytest.mark.parametrize("offset", [0, 3, 7, 9, 12, 40])
def test_the_log_is_empty_at_the_offset_and_goes_on_there(harness: LogHarness, offset: int) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        await fill(log, range(12), leader_epoch=4)
        await log.remove_before(4)
        await log.reset_to(offset)
        assert bounds(log) == (offset, offset, [])
        assert (log.size_bytes, log.last_leader_epoch) == (0, -1)
        assert await log.read(offset, max_bytes=1) == []
        await log.append_stamped(stamped_run(offset, range(20, 23), leader_epoch=2, append_ms=5))
        assert bounds(log) == (offset, offset + 3, [(2, offset)])
        assert await log.offset_at_time(5) == offset
        for outside in {offset - 1, offset + 4} - {-1}:
            with pytest.raises(ServerError, match="OFFSET_OUT_OF_RANGE"):
                await log.read(outside, max_bytes=1)

    harness.run(main())
    harness.lose_power()
    harness.open()
    log = log_of(harness)
    assert bounds(log) == (offset, offset + 3, [(2, offset)])
    assert b"".join(harness.read_bytes(log)) == stamped_run(offset, range(20, 23), leader_epoch=2, append_ms=5)


@pytest.mark.parametrize("offset", [0, 3, 9, 40])
def test_it_stays_empty_once_its_segments_count_again(offset: int) -> None:
    """The first checkpoint behind the new beginning says that what is found in the directory is the log."""
    for seed in range(12):
        harness = LogHarness(seed=seed)
        harness.open()
        log = log_of(harness)
        harness.run(fill(log, range(12), leader_epoch=4))
        if seed % 2:
            harness.run(harness.store.sync())
        assert log._state.active.base_offset == 9
        harness.run(log.reset_to(offset))
        harness.run(harness.store.sync())
        harness.lose_power()
        report = harness.open().report
        assert not report.torn_tails
        assert bounds(log_of(harness)) == (offset, offset, [])
        harness.dispose()


def test_a_negative_offset_is_refused(harness: LogHarness) -> None:
    with pytest.raises(ValueError, match="cannot begin at offset -1"):
        harness.run(log_of(harness).reset_to(-1))


def test_a_log_that_is_empty_there_already_costs_nothing(harness: LogHarness) -> None:
    log = log_of(harness)
    harness.run(log.reset_to(9))
    operations = harness.disk.operations
    harness.run(log.reset_to(9))
    assert harness.disk.operations == operations


def test_appends_that_wait_go_behind_the_offset_and_stamped_ones_only_if_they_begin_there(harness: LogHarness) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        await fill(log, range(3))
        resetting = asyncio.ensure_future(log.reset_to(50))
        await asyncio.sleep(0)
        lost = log.append_stamped(stamped_run(3, range(3, 5)))
        own = log.append(opaque_batch(9), leader_epoch=1)
        await resetting
        with pytest.raises(ServerError) as caught:
            await lost
        assert caught.value.code is ProblemCode.CONFLICT
        assert (await own).base_offset == 50
        assert bounds(log) == (50, 51, [(1, 50)])

    harness.run(main())


def test_a_full_disk_changes_nothing(harness: LogHarness) -> None:
    log = log_of(harness)
    harness.run(fill(log, range(6)))
    before = bounds(log), harness.read_all(log)
    harness.disk.capacity_bytes = harness.disk.used_bytes
    with pytest.raises(ServerError, match="STORAGE_FULL"):
        harness.run(log.reset_to(3))
    assert (bounds(log), harness.read_all(log)) == before
    harness.disk.capacity_bytes = CAPACITY_BYTES_DEFAULT
    harness.run(fill(log, range(6, 7)))
    harness.lose_power()
    harness.open()
    assert log_of(harness).log_end == 7


@pytest.mark.parametrize("turns", range(12))
def test_a_reader_on_its_way_sees_the_old_log_or_the_new_one(harness: LogHarness, turns: int) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        await fill(log, range(8))
        await harness.store.sync()
        harness.disk.misses_cache = lambda _: True
        reading = asyncio.ensure_future(log.read(0, max_bytes=10_000))
        for _ in range(turns):
            await asyncio.sleep(0)
        await log.reset_to(0)
        log.append_stamped(stamped_run(0, range(70, 82), leader_epoch=3))
        assert len({batch.header.leader_epoch for batch in await reading}) <= 1

    harness.run(main())


def test_what_was_removed_or_lost_before_is_no_obstacle(harness: LogHarness) -> None:
    log = log_of(harness)
    harness.run(fill(log, range(12)))
    segments = [segment.path for segment in log._state.segments]
    harness.close()
    harness.disk.remove(segments[1])
    harness.open()
    log = log_of(harness)
    harness.run(log.reset_to(5))
    harness.lose_power()
    report = harness.open().report
    assert not report.corrupt_places
    assert bounds(log_of(harness)) == (5, 5, [])


def test_the_journal_is_trimmed_behind_it(harness: LogHarness) -> None:
    async def main() -> None:
        log = await harness.store.open_log(KEY, SMALL_LOG)
        for number in range(30):
            await fill(log, range(10))
            await log.reset_to(number)
        assert harness.store.journal_files <= harness.settings.journal_files_max

    harness.run(main())


@dataclass
class Steps:
    """What a scenario has completed, for the comparison after its crash. `stored` are the batches behind the reset."""

    before: list[bytes]
    is_reset: bool = False
    asked: list[bytes] = field(default_factory=list)
    stored: int = 0


OFFSETS = {"begin": 0, "within a segment": 7, "a segment's begin": 6, "the last segment's begin": 18, "beyond": 25}


async def scenario(harness: LogHarness, log: PartitionLog, steps: Steps, offset: int) -> None:
    """A log of which some is synced begins anew, goes on, is synced, and goes on."""
    await log.reset_to(offset)
    steps.is_reset = True
    for serial in range(100, 104):
        base = offset + len(steps.asked)
        run = stamped_run(base, range(serial * 10, serial * 10 + 2), leader_epoch=9, append_ms=serial)
        half = len(run) // 2
        steps.asked += [run[:half], run[half:]]
        await log.append_stamped(run)
        steps.stored = len(steps.asked)
        if serial == 101:
            other = await harness.store.open_log(OTHER, SMALL_LOG)
            await fill(other, range(1))
            await harness.store.sync()


def check(harness: LogHarness, steps: Steps, offset: int) -> None:
    log = log_of(harness)
    batches = harness.read_bytes(log)
    if batches == steps.before and log.log_start == 0:
        assert not steps.is_reset
        assert [log.leader_epochs.epoch_at(n) for n in range(20)] == [1] * 10 + [2] * 10
        return
    assert log.log_start == offset
    assert batches == steps.asked[: len(batches)]
    assert len(batches) >= steps.stored
    assert log.leader_epochs.entries() == ([(9, offset)] if batches else [])


@pytest.mark.parametrize(
    ("place", "ending"),
    [
        *((place, "power loss") for place in OFFSETS),
        ("within a segment", "kill"),
        ("begin", "power losses during recovery"),
        ("beyond", "power losses during recovery"),
    ],
)
def test_a_crash_at_any_point_leaves_the_log_as_it_was_or_empty_there(place: str, ending: str) -> None:
    offset, after = OFFSETS[place], 0
    while True:
        harness = LogHarness(seed=after)
        harness.open()
        log = log_of(harness)
        harness.run(fill(log, range(10), leader_epoch=1))
        harness.run(harness.store.sync())
        harness.run(fill(log, range(10, 20), leader_epoch=2))
        assert [segment.base_offset for segment in log._state.segments] == [*range(0, 20, 3)]
        steps = Steps(harness.read_bytes(log))
        harness.disk.crash_after_operations(after)
        is_complete = False
        with contextlib.suppress(SimulatedPowerLoss, ServerError):
            harness.run(scenario(harness, log, steps, offset))
            is_complete = True
        if ending == "kill":
            harness.kill()
        else:
            harness.lose_power()
        if ending == "power losses during recovery":
            for recovery in range(2):
                harness.disk.crash_after_operations((after * 7 + recovery * 3) % 23)
                with contextlib.suppress(SimulatedPowerLoss, ServerError):
                    harness.open()
                harness.lose_power()
        report = harness.open().report
        assert not report.refused
        assert not report.corrupt_places
        check(harness, steps, offset)
        harness.dispose()
        if is_complete:
            assert after > 30
            return
        after += 1


def segment_files(harness: LogHarness) -> list[str]:
    """Of the log, oldest first."""
    return sorted(path for path in harness.disk.files() if path.startswith(KEY.directory) and ".log" in path)


def rot_first_segment(harness: LogHarness) -> None:
    harness.disk.bit_rot(segment_files(harness)[0], 90, 1)


def test_damage_is_told_once_and_ends_with_a_new_beginning(harness: LogHarness) -> None:
    log = log_of(harness)
    harness.run(fill(log, range(12)))
    harness.close()
    rot_first_segment(harness)
    harness.open()
    log = log_of(harness)
    told: list[str] = []
    log.on_damaged = lambda: told.append(log.damage)
    assert log.damage == "", "a start after an orderly stop does not read what is synced"

    async def main() -> None:
        for _ in range(2):
            with pytest.raises(ServerError, match="RECORDS_CORRUPT"):
                await log.read(0, max_bytes=1)
        assert told == [log.damage] != [""]
        await log.reset_to(0)
        assert log.damage == ""
        await log.append_stamped(stamped_run(0, range(3), leader_epoch=2))
        assert len(await log.read(0, max_bytes=10_000)) == 3

    harness.run(main())


def test_a_log_that_recovery_refused_is_served_again(harness: LogHarness) -> None:
    """Whatever segments it found and did not take are gone, too: the next start must not come upon them."""
    log = log_of(harness)
    harness.run(fill(log, range(30)))
    harness.close()
    first, second, *_ = segment_files(harness)
    harness.disk.remove(first)
    file = harness.disk.create(f"{second.rpartition('/')[0]}/{1:020d}.log")  # begins before its turn
    content = harness.disk.files()[second]
    file.write(0, [content])
    file.sync()
    harness.open()
    log = log_of(harness)
    assert log.damage
    harness.run(log.reset_to(4))
    assert log.damage == ""
    harness.run(fill(log, range(40, 43), leader_epoch=7))
    harness.lose_power()
    report = harness.open().report
    assert (report.refused, report.corrupt_places) == ({}, [])
    assert bounds(log_of(harness)) == (4, 7, [(7, 4)])


def test_damage_is_remembered_by_the_next_start_until_the_log_begins_anew(harness: LogHarness) -> None:
    """A start reads little of what is synced, so it would take the log for a whole one."""
    log = log_of(harness)
    harness.run(fill(log, range(12)))
    harness.close()
    rot_first_segment(harness)
    harness.open()
    log = log_of(harness)
    with pytest.raises(ServerError, match="RECORDS_CORRUPT"):
        harness.run(log.read(0, max_bytes=1))
    harness.close()
    harness.open()
    log = log_of(harness)
    assert log.damage
    harness.run(log.reset_to(0))
    harness.close()
    harness.open()
    assert log_of(harness).damage == ""


def test_a_cut_behind_damage_is_refused_and_takes_nothing(harness: LogHarness) -> None:
    """The batches between the damage and the cut may be committed."""
    log = log_of(harness)
    harness.run(fill(log, range(3)))
    end = log.log_end
    harness.close()
    path = next(path for path in sorted(harness.disk.files()) if path.startswith(KEY.directory) and ".log" in path)
    first_bytes = int.from_bytes(harness.disk.files()[path][4:8], "big")
    harness.disk.bit_rot(path, first_bytes + 90, 1)
    harness.open()
    log = log_of(harness)
    with pytest.raises(ServerError, match="RECORDS_CORRUPT"):
        harness.run(log.truncate_to(2))
    assert (log.log_end, bool(log.damage)) == (end, True)
    harness.run(fill(log, range(50, 52), leader_epoch=3))
    assert log.log_end == end + 2
