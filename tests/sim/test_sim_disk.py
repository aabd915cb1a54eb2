"""What the simulated disk loses, keeps and refuses: every outcome that it allows must turn up, and no other."""

import random

import pytest

from storage.disk.port import DiskFailedError, DiskFullError
from tests.sim.sim_disk import DiskOperation, OperationKind, SimDisk, SimulatedPowerLoss

SEEDS = range(300)


def durable_file(disk: SimDisk, path: str, content: bytes) -> None:
    file = disk.create(path)
    file.write(0, [content])
    file.sync()
    disk.sync_directory(path.rpartition("/")[0])


def test_synced_bytes_and_names_always_survive() -> None:
    for seed in SEEDS:
        disk = SimDisk()
        durable_file(disk, "a", b"x" * 5000)
        disk.power_loss(random.Random(seed))
        assert disk.files() == {"a": b"x" * 5000}


def test_unsynced_writes_are_kept_dropped_or_torn() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = SimDisk()
        durable_file(disk, "a", b"." * 2048)
        disk.open("a").write(0, [b"1" * 2048])
        disk.power_loss(random.Random(seed))
        outcomes.add(disk.files()["a"])
    assert {b"." * 2048, b"1" * 2048} <= outcomes
    torn = outcomes - {b"." * 2048, b"1" * 2048}
    assert any(content.startswith(b"1") and content.endswith(b".") for content in torn)
    assert any(content.startswith(b"." * 512 + b"1" * 512) for content in torn), "sectors may survive out of order"
    assert any(content.count(b"1") % 512 for content in torn), "a write may be torn within a sector"


def test_an_append_may_leave_a_hole_of_zeros() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = SimDisk()
        durable_file(disk, "a", b"head")
        file = disk.open("a")
        file.write(4, [b"one"])
        file.write(7, [b"two"])
        disk.power_loss(random.Random(seed))
        outcomes.add(disk.files()["a"])
    assert {b"head", b"headone", b"headonetwo", b"head\0\0\0two", b"head\0\0\0"} <= outcomes
    assert all(content.startswith(b"head") for content in outcomes)


def test_writes_behind_a_sync_do_not_touch_what_it_made_durable() -> None:
    for seed in SEEDS:
        disk = SimDisk()
        durable_file(disk, "a", b"")
        file = disk.open("a")
        file.write(0, [b"safe"])
        file.sync()
        file.write(4, [b"loose"])
        disk.power_loss(random.Random(seed))
        assert disk.files()["a"].startswith(b"safe")


def test_truncations_may_come_back() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = SimDisk()
        durable_file(disk, "a", b"0123")
        disk.open("a").truncate(1)
        disk.power_loss(random.Random(seed))
        outcomes.add(disk.files()["a"])
    assert outcomes == {b"0123", b"0"}


def test_syncing_a_file_does_not_make_its_name_durable() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = SimDisk()
        file = disk.create("a")
        file.write(0, [b"x"])
        file.sync()
        disk.power_loss(random.Random(seed))
        outcomes.add(tuple(disk.files().items()))
    assert outcomes == {(), (("a", b"x"),)}


def test_syncing_a_directory_does_not_make_its_files_bytes_durable() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = SimDisk()
        disk.create("a").write(0, [b"x"])
        disk.sync_directory("")
        disk.power_loss(random.Random(seed))
        outcomes.add(disk.files()["a"])
    assert {b"", b"x"} <= outcomes


def test_names_survive_or_are_undone_one_by_one() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = SimDisk()
        durable_file(disk, "old", b"1")
        disk.create("new")
        disk.remove("old")
        disk.make_directory("d")
        disk.power_loss(random.Random(seed))
        outcomes.add(tuple(disk.list_directory("")))
    assert outcomes == {
        ("d",),
        ("d", "new"),
        ("d", "new", "old"),
        ("d", "old"),
        ("new",),
        ("new", "old"),
        ("old",),
        (),
    }


def test_a_rename_over_a_file_is_atomic_and_never_leaves_two_names() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = SimDisk()
        durable_file(disk, "checkpoint", b"old")
        temporary = disk.create("checkpoint.tmp")
        temporary.write(0, [b"new"])
        temporary.sync()
        disk.rename("checkpoint.tmp", "checkpoint")
        disk.power_loss(random.Random(seed))
        outcomes.add(tuple(disk.files().items()))
    old, new = ("checkpoint", b"old"), ("checkpoint", b"new")
    assert outcomes == {(old,), (new,), (old, ("checkpoint.tmp", b"new"))}


def test_a_rename_between_directories_is_durable_with_either() -> None:
    for seed in SEEDS:
        for synced in ("from", "to"):
            disk = SimDisk()
            disk.make_directory("from")
            disk.make_directory("to")
            disk.sync_directory("")
            durable_file(disk, "from/a", b"1")
            disk.rename("from/a", "to/b")
            disk.sync_directory(synced)
            disk.power_loss(random.Random(seed))
            assert disk.files() == {"to/b": b"1"}


def test_a_file_in_a_directory_whose_own_name_was_not_synced_may_go_with_it() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = SimDisk()
        disk.make_directory("d")
        durable_file(disk, "d/a", b"1")
        disk.power_loss(random.Random(seed))
        outcomes.add(tuple(disk.files()))
    assert outcomes == {(), ("d/a",)}


def test_preallocated_zeros_are_not_durable_before_the_sync() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = SimDisk()
        durable_file(disk, "journal", b"")
        file = disk.open("journal")
        file.preallocate(1024)
        disk.power_loss(random.Random(seed))
        outcomes.add(disk.files()["journal"])
    assert {b"", bytes(1024)} <= outcomes


def test_kill_keeps_everything_written_and_a_later_power_loss_may_not() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = SimDisk()
        durable_file(disk, "a", b"1")
        disk.open("a").write(1, [b"2"])
        disk.create("b")
        disk.lock("lock")
        disk.kill()
        assert disk.files() == {"a": b"12", "b": b"", "lock": b""}
        disk.lock("lock")
        disk.power_loss(random.Random(seed))
        outcomes.add(disk.files()["a"])
    assert outcomes == {b"1", b"1\0", b"12"}


def test_files_of_a_process_that_ended_are_unusable() -> None:
    for end in (SimDisk.kill, lambda disk: disk.power_loss(random.Random(1))):
        disk = SimDisk()
        durable_file(disk, "a", b"1")
        file = disk.open("a")
        end(disk)
        with pytest.raises(SimulatedPowerLoss):
            file.read(0, 1)
        assert disk.open("a").read(0, 1) == b"1"


# --- full disks and failing devices ---


def test_a_full_disk_takes_what_fits_and_says_so() -> None:
    disk = SimDisk(capacity_bytes=10)
    file = disk.create("a")
    file.write(0, [b"123456"])
    with pytest.raises(DiskFullError):
        file.write(6, [b"789", b"abcdef"])
    assert file.read(0, 100) == b"123456789a"
    assert disk.free_bytes() == 0
    file.write(0, [b"overwriting needs no space"[:10]])
    other = disk.create("b")
    with pytest.raises(DiskFullError):
        other.preallocate(1)
    assert other.size() == 0
    disk.remove("a")
    assert disk.free_bytes() == 10
    other.preallocate(10)
    other.write(0, [b"0123456789"])


def test_after_a_failed_sync_nothing_is_promised_and_the_next_sync_lies() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = SimDisk(seed=seed)
        durable_file(disk, "a", b"1")
        file = disk.open("a")
        file.write(1, [b"2"])
        disk.fail_next_sync()
        with pytest.raises(DiskFailedError):
            file.sync()
        assert file.read(0, 9) == b"12"
        file.sync()
        disk.power_loss(random.Random(seed))
        outcomes.add(disk.files()["a"])
    assert outcomes == {b"1", b"1\0", b"12"}


def test_a_failed_directory_sync_promises_nothing() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = SimDisk(seed=seed)
        disk.create("a")
        disk.fail_next_sync_directory()
        with pytest.raises(DiskFailedError):
            disk.sync_directory("")
        disk.power_loss(random.Random(seed))
        outcomes.add(tuple(disk.files()))
    assert outcomes == {(), ("a",)}


def test_failing_reads_and_writes() -> None:
    disk = SimDisk()
    file = disk.create("a")
    file.write(0, [b"0123"])
    disk.fail_next_read()
    disk.fail_next_write()
    with pytest.raises(DiskFailedError):
        file.read(0, 1)
    with pytest.raises(DiskFailedError):
        file.write(4, [b"4567"])
    assert file.read(0, 4) == b"0123"
    assert b"01234567".startswith(file.read(0, 99))
    disk.fails = lambda operation: operation == DiskOperation(OperationKind.SYNC, "a")
    with pytest.raises(DiskFailedError):
        file.sync()
    disk.create("b").sync()


def test_bit_rot_is_seen_at_once_and_stays() -> None:
    disk = SimDisk()
    durable_file(disk, "a", b"\x00\x00")
    file = disk.open("a")
    file.write(2, [b"\x00"])
    disk.bit_rot("a", 1, 3)
    disk.bit_rot("a", 2, 0)
    assert file.read(0, 9) == b"\x00\x08\x01"
    file.sync()
    disk.power_loss(random.Random(1))
    assert disk.files()["a"] == b"\x00\x08\x01"
    with pytest.raises(ValueError):
        disk.bit_rot("a", 3, 0)


def test_cache_misses() -> None:
    disk = SimDisk()
    file = disk.create("a")
    file.write(0, [b"x"])
    assert file.read_cached(0, 1) == b"x"
    disk.misses_cache = lambda operation: True
    assert file.read_cached(0, 1) is None
    assert file.read(0, 1) == b"x"


# --- crashing between any two operations ---


def write_two_files(disk: SimDisk) -> None:
    for name in ("a", "b"):
        file = disk.create(name)
        file.write(0, [b"content"])
        file.sync()
        disk.sync_directory("")


def test_a_crash_at_each_operation_stops_everything_until_reopened() -> None:
    whole = SimDisk()
    write_two_files(whole)
    assert (whole.operations, whole.syncs) == (8, 4)
    for count in range(whole.operations):
        disk = SimDisk(seed=count)
        disk.crash_after_operations(count)
        with pytest.raises(SimulatedPowerLoss):
            write_two_files(disk)
        assert disk.operations == count
        with pytest.raises(SimulatedPowerLoss):
            disk.exists("a")
        disk.power_loss(random.Random(count))
        if count >= 4:
            assert disk.files()["a"] == b"content"
    disk = SimDisk()
    disk.crash_after_operations(8)
    write_two_files(disk)


def test_the_operation_at_the_crash_may_or_may_not_have_happened() -> None:
    outcomes = set()
    for seed in SEEDS:
        disk = SimDisk(seed=seed)
        file = disk.create("a")
        disk.crash_after_operations(0)
        with pytest.raises(SimulatedPowerLoss):
            file.write(0, [b"123"])
        disk.kill()
        disk.crash_after_operations(0)
        with pytest.raises(SimulatedPowerLoss):
            disk.create("b")
        disk.kill()
        outcomes.add(tuple(disk.files().items()))
    for content in (b"", b"1", b"12", b"123"):
        assert (("a", content),) in outcomes
        assert (("a", content), ("b", b"")) in outcomes


def test_the_hook_sees_every_operation_and_may_end_the_process() -> None:
    disk = SimDisk()
    seen: list[DiskOperation] = []

    def hook(operation: DiskOperation) -> None:
        seen.append(operation)
        if operation.kind is OperationKind.SYNC:
            raise SimulatedPowerLoss

    disk.before_operation = hook
    with pytest.raises(SimulatedPowerLoss):
        write_two_files(disk)
    assert [operation.kind for operation in seen] == [OperationKind.CREATE, OperationKind.WRITE, OperationKind.SYNC]
    with pytest.raises(SimulatedPowerLoss):
        disk.list_directory("")
    disk.crash()
    disk.before_operation = None
    disk.kill()
    assert disk.list_directory("") == ["a"]


def test_writes_that_overlap_in_time_and_place_are_a_bug_of_the_caller() -> None:
    disk = SimDisk()
    file = disk.create("a")
    again = disk.open("a")
    other = disk.create("b")

    def hook(operation: DiskOperation) -> None:
        if operation == DiskOperation(OperationKind.WRITE, "a"):
            disk.before_operation = None
            other.write(0, [b"fine"])
            again.write(4, [b"fine"])
            with pytest.raises(AssertionError, match="overlap"):
                again.write(3, [b"not fine"])

    disk.before_operation = hook
    file.write(0, [b"0123"])
    assert file.read(0, 8) == b"0123fine"


def test_equal_seeds_lose_equally() -> None:
    def run(seed: int) -> dict[str, bytes]:
        disk = SimDisk(seed=seed)
        for number in range(20):
            disk.create(f"f{number}").write(0, [bytes([number]) * 700])
        disk.power_loss(random.Random(seed))
        return disk.files()

    assert all(run(seed) == run(seed) for seed in range(20))
    assert len({tuple(run(seed).items()) for seed in range(20)}) > 5
