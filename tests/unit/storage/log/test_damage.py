"""Damage to every byte of a small data directory: truncation at every length, a flipped bit in every byte.

The outcome is always one of three: the exact data; fewer batches, with a report, where what is missing was never in a
checkpoint and not in the journal; or a clear refusal. Never other bytes, never silence.
"""

import asyncio
import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import replace

import msgspec
import pytest
import structlog

from acklog.wire.batch import encode_opaque_batch, stamp
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.log.checkpoint import write_checkpoint
from storage.log.data_directory import DataDirectoryError
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from tests.sim.sim_disk import SimDisk, SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, SMALL_STORE, LogHarness, content_of, opaque_batch

IS_THOROUGH = os.environ.get("ACKLOG_LOG_PROFILE") == "thorough"
pytestmark = pytest.mark.timeout(3600 if IS_THOROUGH else 300)

KEY = LogKey("alpha", 0, LogKind.MESSAGES)
SIZES = [30, 90, 400, 30, 700, 40, 60, 30]
CONTENTS = [content_of(opaque_batch(serial, size=size)) for serial, size in enumerate(SIZES)]
STORE = replace(SMALL_STORE, journal_file_bytes=10 * 4096)

Files = dict[str, bytes]


@pytest.fixture(autouse=True)
def silent_log() -> Iterator[None]:
    """Thousands of damaged directories would each say so."""
    structlog.configure(processors=[_drop])
    yield
    structlog.reset_defaults()


def _drop(*_: object) -> str:
    raise structlog.DropEvent


@functools.cache
def directory_after(*, synced: int, is_clean: bool) -> Files:
    """The files of a directory with all batches, of which the first `synced` are covered by a checkpoint."""
    harness = LogHarness(STORE)
    store = harness.open()
    log = harness.run(store.open_log(KEY, SMALL_LOG))

    async def append(serials: range) -> None:
        for serial in serials:
            await log.append(opaque_batch(serial, size=SIZES[serial]), leader_epoch=serial // 3)

    harness.run(append(range(synced)))
    harness.run(store.sync())
    harness.run(append(range(synced, len(SIZES))))
    if is_clean:
        harness.close()
    files = harness.disk.files()
    harness.dispose()
    return files


def open_on(files: Files) -> LogHarness:
    harness = LogHarness(STORE)
    disk = SimDisk()
    for path, content in files.items():
        directory = path.rpartition("/")[0]
        if directory:
            disk.make_directory(directory)
        if path != "lock":
            file = disk.create(path)
            file.write(0, [content])
            file.sync()
    for directory in {path.rpartition("/")[0] for path in files}:
        while directory:
            disk.sync_directory(directory)
            directory = directory.rpartition("/")[0]
    disk.sync_directory("")
    harness.disk = disk
    return harness


async def readable(log: PartitionLog) -> tuple[list[bytes | None], bool]:
    """The contents by offset, None where reading is refused, from 0 to the log end."""
    contents: list[bytes | None] = []
    refused = False
    while len(contents) < log.log_end:
        try:
            batches = await log.read(len(contents), max_bytes=500)
        except ServerError as error:
            if error.code is not ProblemCode.RECORDS_CORRUPT:
                raise
            refused = True
            following = error.extra.get("next_offset")
            if following is None:
                return contents, True
            assert isinstance(following, int)
            assert following > len(contents)
            contents += [None] * (following - len(contents))
            continue
        assert batches
        contents += [content_of(data) for _, data in batches]
    return contents, refused


def judge(files: Files, *, synced: int, lost_at_most: int) -> str:
    """Open the directory and compare. `lost_at_most`: so many of the last batches may be cut if that is reported."""
    harness = open_on(files)
    try:
        try:
            store = harness.open()
        except DataDirectoryError:
            return "refused"
        if store.failure is not None:
            return "refused"
        assert store.keys() == [KEY]
        log = harness.run(store.open_log(KEY, SMALL_LOG))
        if store.report.refused:
            with pytest.raises(ServerError, match="RECORDS_CORRUPT"):
                harness.run(log.read(0, max_bytes=1))
            return "refused"
        assert log.log_start == 0
        contents, refused = harness.run(readable(log))
        assert len(contents) >= len(SIZES) - lost_at_most
        for offset, content in enumerate(contents):
            if content is None:
                assert offset < synced, "only what was durable elsewhere may be unreadable; the rest is in the journal"
            else:
                assert content == CONTENTS[offset], f"other bytes at {offset}"
        if refused:
            check_appends_go_on(harness, log)
            return "unreadable"
        if len(contents) < len(SIZES):
            assert store.report.torn_tails or lost_at_most
            return "cut"
        return "exact"
    finally:
        harness.dispose()


def check_appends_go_on(harness: LogHarness, log: PartitionLog) -> None:
    end = log.log_end

    async def append() -> int:
        return (await log.append(opaque_batch(99), leader_epoch=9)).base_offset

    assert harness.run(append()) == end
    assert content_of(harness.run(log.read(end, max_bytes=1))[0].data) == content_of(opaque_batch(99))


def flips(content: bytes, step: int) -> list[bytes]:
    """A bit flipped in every `step`th byte, or every one of them if ACKLOG_LOG_PROFILE is "thorough"."""
    flipped = []
    for position in range(0, len(content), 1 if IS_THOROUGH else step):
        harmed = bytearray(content)
        harmed[position] ^= 1 << (position % 8)
        flipped.append(bytes(harmed))
    return flipped


def cuts(content: bytes, step: int) -> list[bytes]:
    """Cut off at every `step`th byte, or every one of them."""
    return [content[:length] for length in range(0, len(content), 1 if IS_THOROUGH else step)]


def zero_tails(content: bytes, step: int) -> list[bytes]:
    """Zeros from every `step`th byte on: as many of the last frames as there are."""
    return [content[:length] + bytes(len(content) - length) for length in range(0, len(content), step)]


def damages(content: bytes, step: int) -> list[bytes]:
    return flips(content, step) + cuts(content, step)


def outcomes(
    pattern: str,
    *,
    synced: int,
    is_clean: bool = False,
    lost_at_most: int = 0,
    step: int = 1,
    damaged: Callable[[bytes, int], list[bytes]] = damages,
) -> set[str]:
    files = directory_after(synced=synced, is_clean=is_clean)
    paths = [path for path in files if pattern in path]
    assert paths, sorted(files)
    return {
        judge({**files, path: harmed}, synced=len(SIZES) if is_clean else synced, lost_at_most=lost_at_most)
        for path in paths
        for harmed in damaged(files[path], step)
    }


def test_undamaged_directories_are_exact() -> None:
    for synced in (0, 4, len(SIZES)):
        for is_clean in (False, True):
            assert judge(directory_after(synced=synced, is_clean=is_clean), synced=synced, lost_at_most=0) == "exact"


def test_damaged_segments_beyond_the_checkpoint_are_written_again_from_the_journal() -> None:
    assert outcomes(".log", synced=0, step=17) == {"exact"}


def test_damaged_segments_below_the_checkpoint_are_refused_where_they_are_damaged() -> None:
    assert outcomes(".log", synced=len(SIZES), step=17) == {"unreadable"}


def test_damaged_segments_with_some_of_both() -> None:
    assert outcomes(".log", synced=4, step=17) <= {"unreadable", "exact"}


def test_damaged_segments_behind_stored_indexes() -> None:
    assert outcomes(".log", synced=4, is_clean=True, step=17) <= {"unreadable", "exact"}


def test_damaged_indexes_are_rebuilt() -> None:
    assert outcomes(".index", synced=4, is_clean=True) == {"exact"}


def test_a_rotten_journal_is_refused_unless_nothing_of_it_is_missed() -> None:
    assert outcomes(".journal", synced=0, step=499, damaged=flips) == {"exact", "refused"}


@pytest.mark.parametrize("synced", [0, 4, len(SIZES)])
def test_a_journal_that_was_cut_off_is_refused(synced: int) -> None:
    """No crash cuts a preallocated file, and nobody can say what else has been lost with its end."""
    assert outcomes(".journal", synced=synced, step=4099, damaged=cuts) == {"refused"}


@pytest.mark.parametrize("synced", [0, 4, len(SIZES)])
def test_a_journal_whose_end_is_zeros_is_refused_unless_it_is_covered(synced: int) -> None:
    """It looks like one that has not got that far; however many frames went with it."""
    found = outcomes(".journal", synced=synced, step=4096, damaged=zero_tails)
    assert found == ({"exact"} if synced == len(SIZES) else {"exact", "refused"})


@pytest.mark.parametrize("name", ["00000000.journal", "00000001.journal", "journal/files", "journal/reach"])
def test_a_journal_that_lacks_a_file_is_refused_unless_the_stop_was_orderly(name: str) -> None:
    for synced in (0, 4, len(SIZES)):
        for is_clean in (False, True):
            files = directory_after(synced=synced, is_clean=is_clean)
            left = {path: content for path, content in files.items() if name not in path}
            assert len(left) == len(files) - 1
            outcome = judge(left, synced=len(SIZES) if is_clean else synced, lost_at_most=0)
            assert outcome == ("exact" if is_clean else "refused")


@pytest.mark.parametrize("is_clean", [False, True])
def test_a_journal_that_is_gone_altogether_is_refused_unless_the_stop_was_orderly(is_clean: bool) -> None:
    files = directory_after(synced=4, is_clean=is_clean)
    left = {path: content for path, content in files.items() if not path.startswith("journal/")}
    assert judge(left, synced=len(SIZES) if is_clean else 4, lost_at_most=0) == ("exact" if is_clean else "refused")


@pytest.mark.parametrize("name", ["journal/files", "journal/reach"])
def test_damage_to_what_is_noted_of_the_journal_loses_nothing(name: str) -> None:
    assert outcomes(name, synced=4, step=7) <= {"exact", "refused"}
    assert outcomes(name, synced=4, is_clean=True, step=7) == {"exact"}


def test_a_reach_that_a_power_loss_has_torn_says_nothing() -> None:
    """The recovery points say as much as they can: the frames that were durable when they were written, and that there
    was one."""
    files = directory_after(synced=4, is_clean=False)
    torn = {**files, "journal/reach": files["journal/reach"][:19] + b"\xff" + files["journal/reach"][20:]}
    assert judge(torn, synced=4, lost_at_most=0) == "exact"
    first = "journal/00000000.journal"
    emptied = {**torn, first: bytes(len(files[first]))}
    assert judge(emptied, synced=4, lost_at_most=0) == "refused"


@pytest.mark.parametrize("is_clean", [False, True])
def test_a_directory_of_a_version_that_noted_nothing_is_opened_and_then_held_to_it(is_clean: bool) -> None:
    files = as_of_an_earlier_version(directory_after(synced=4, is_clean=is_clean))
    assert judge(files, synced=len(SIZES) if is_clean else 4, lost_at_most=0) == "exact"
    for after in range(40):  # operations of the first start, in the middle of which the power fails
        harness = open_on(files)
        harness.disk.crash_after_operations(after)
        with contextlib.suppress(SimulatedPowerLoss):
            harness.open()
        harness.lose_power()
        assert harness.open().failure is None
        harness.kill()
        harness.disk.remove("journal/reach")
        assert "journal/reach" in str(harness.open().failure)
        harness.dispose()


def test_what_an_earlier_version_did_in_between_is_no_damage() -> None:
    """It leaves what it finds of the record, takes other files, and writes recovery points that do not count on it."""
    files = directory_after(synced=4, is_clean=False)
    renumbered = {path.replace("00000001.journal", "00000007.journal"): content for path, content in files.items()}
    points = msgspec.msgpack.decode(checkpoint_payload(renumbered["recovery-points"]))
    renumbered["recovery-points"] = checkpoint(msgspec.msgpack.encode(points[:4]))
    assert judge(renumbered, synced=4, lost_at_most=0) == "exact"


def as_of_an_earlier_version(files: Files) -> Files:
    left = {path: content for path, content in files.items() if path not in {"journal/files", "journal/reach"}}
    points = msgspec.msgpack.decode(checkpoint_payload(left["recovery-points"]))
    return {**left, "recovery-points": checkpoint(msgspec.msgpack.encode(points[:4]))}


def checkpoint_payload(content: bytes) -> bytes:
    return content[16:]


def checkpoint(payload: bytes) -> bytes:
    disk = SimDisk()
    write_checkpoint(disk, "checkpoint", payload)
    return disk.files()["checkpoint"]


def test_a_rotten_journal_that_is_covered_does_not_matter() -> None:
    assert outcomes(".journal", synced=len(SIZES), step=1999, damaged=flips) == {"exact"}


@pytest.mark.parametrize("is_clean", [False, True])
def test_damaged_recovery_points_are_refused(is_clean: bool) -> None:
    assert outcomes("recovery-points", synced=4, is_clean=is_clean) == {"refused"}


def test_damaged_meta_is_refused() -> None:
    assert outcomes("meta.json", synced=4) <= {"refused", "exact"}


def test_damaged_leader_epochs_are_rebuilt() -> None:
    assert outcomes("leader-epochs", synced=4, is_clean=True) == {"exact"}


@pytest.mark.parametrize("is_clean", [False, True])
def test_surplus_bytes_behind_a_closed_segment_cost_nothing(is_clean: bool) -> None:
    files = directory_after(synced=len(SIZES), is_clean=is_clean)
    segments = sorted(path for path in files if path.endswith(".log"))
    assert len(segments) > 2
    for path in segments:
        for surplus in (b"x", bytes(200), files[segments[0]]):
            assert judge({**files, path: files[path] + surplus}, synced=len(SIZES), lost_at_most=0) == "exact"


@pytest.mark.parametrize("missing", [".log", "recovery-points", "meta.json"])
def test_a_missing_file_is_noticed(missing: str) -> None:
    files = directory_after(synced=len(SIZES), is_clean=True)
    for path in [path for path in files if missing in path]:
        left = {other: content for other, content in files.items() if other != path}
        assert judge(left, synced=len(SIZES), lost_at_most=0) in {"refused", "unreadable"}


def test_a_body_that_imitates_a_batch_is_not_taken_for_one() -> None:
    """Below a damaged header the file is searched for the next batch, and messages may hold anything."""
    harness = LogHarness(STORE)
    store = harness.open()
    log = harness.run(store.open_log(KEY, SMALL_LOG))
    forged = opaque_batch(77)
    stamp(forged, base_offset=1, leader_epoch=0, append_time_ms=1)
    outer = encode_opaque_batch(b"x" * 33 + bytes(forged) + b"y" * 21, count=1)

    async def fill() -> None:
        await asyncio.gather(log.append(outer, leader_epoch=0), log.append(opaque_batch(1), leader_epoch=0))
        await store.sync()

    harness.run(fill())
    harness.disk.bit_rot(f"{KEY.directory}/{0:020d}.log", 5, 3)
    harness.lose_power()
    log = harness.run(harness.open().open_log(KEY, SMALL_LOG))
    contents, refused = harness.run(readable(log))
    assert refused
    assert contents == [None, content_of(opaque_batch(1))]
    harness.dispose()
