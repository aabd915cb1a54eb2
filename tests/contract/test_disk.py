"""What every disk does, the real one and the simulated one alike."""

from pathlib import Path

import pytest

from storage.disk.port import Disk, FileLockedError
from storage.disk.real_disk import BUFFERS_PER_WRITE_MAX, RealDisk
from tests.sim.sim_disk import SimDisk


@pytest.fixture(params=["real", "simulated"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    return RealDisk(tmp_path / "data") if request.param == "real" else SimDisk()


def test_a_new_file_is_empty_and_keeps_what_is_written(disk: Disk) -> None:
    file = disk.create("a.log")
    assert file.size() == 0
    assert file.read(0, 10) == b""
    file.write(0, [b"hello ", bytearray(b"wor"), memoryview(b"ld")])
    assert file.size() == 11
    assert file.read(0, 100) == b"hello world"
    assert file.read(6, 3) == b"wor"
    assert file.read(11, 5) == b""
    assert file.read(200, 5) == b""
    file.sync()
    file.close()
    assert disk.open("a.log").read(0, 11) == b"hello world"


def test_overwriting_and_writing_behind_the_end(disk: Disk) -> None:
    file = disk.create("a.log")
    file.write(0, [b"0123456789"])
    file.write(2, [b"xy"])
    assert file.read(0, 10) == b"01xy456789"
    file.write(12, [b"end"])
    assert file.read(0, 20) == b"01xy456789\0\0end"
    file.write(4, [])
    file.write(4, [b""])
    assert file.size() == 15


def test_a_write_of_more_buffers_than_one_system_call_takes(disk: Disk) -> None:
    file = disk.create("a.log")
    buffers = [b"%07d\n" % number for number in range(2 * BUFFERS_PER_WRITE_MAX + 3)]
    file.write(5, buffers)
    assert file.read(5, file.size()) == b"".join(buffers)


def test_a_wide_memoryview_counts_in_bytes(disk: Disk) -> None:
    file = disk.create("a.log")
    file.write(0, [memoryview(b"12345678").cast("I"), b"9"])
    assert file.read(0, 20) == b"123456789"


def test_cached_reads_agree_with_reads(disk: Disk) -> None:
    file = disk.create("a.log")
    file.write(0, [b"x" * 10_000])
    assert file.read_cached(9_990, 10) in {None, b"x" * 10}
    assert file.read_cached(9_990, 100) in {None, b"x" * 10}
    assert file.read_cached(10_000, 100) in {None, b""}


def test_truncate_shortens_and_extends_with_zeros(disk: Disk) -> None:
    file = disk.create("a.log")
    file.write(0, [b"0123456789"])
    file.truncate(4)
    assert file.read(0, 10) == b"0123"
    file.truncate(6)
    assert file.read(0, 10) == b"0123\0\0"


@pytest.mark.parametrize("size", [0, 1, 4096, 1024 * 1024 + 7])
def test_preallocate_gives_exactly_so_many_zeros(disk: Disk, size: int) -> None:
    file = disk.create("journal")
    file.write(0, [b"old"])
    file.preallocate(size)
    file.sync()
    assert file.size() == size
    assert file.read(0, size + 1) == bytes(size)
    if size:
        file.write(0, [b"n"])
        assert file.size() == size


def test_a_closed_file_is_unusable(disk: Disk) -> None:
    file = disk.create("a.log")
    file.close()
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.read(0, 1)
    with pytest.raises(ValueError, match="closed"):
        file.write(0, [b"x"])
    with pytest.raises(ValueError, match="closed"):
        file.sync()


def test_names_that_are_missing_or_taken(disk: Disk) -> None:
    disk.create("a").close()
    with pytest.raises(FileExistsError):
        disk.create("a")
    with pytest.raises(FileNotFoundError):
        disk.open("b")
    with pytest.raises(FileNotFoundError):
        disk.create("no-such-directory/b")
    with pytest.raises(FileNotFoundError):
        disk.remove("b")
    with pytest.raises(FileNotFoundError):
        disk.rename("b", "c")
    with pytest.raises(FileNotFoundError):
        disk.list_directory("no-such-directory")
    with pytest.raises(FileNotFoundError):
        disk.remove_directory("no-such-directory")
    with pytest.raises(FileExistsError):
        disk.make_directory("a")


def test_directories(disk: Disk) -> None:
    assert disk.list_directory("") == []
    disk.make_directory("partitions/one")
    disk.make_directory("partitions/one")
    disk.create("partitions/one/b").close()
    disk.create("partitions/one/a").close()
    disk.create("top").close()
    assert disk.list_directory("partitions/one") == ["a", "b"]
    assert disk.list_directory("") == ["partitions", "top"]
    assert disk.exists("partitions/one")
    assert disk.exists("partitions/one/a")
    assert not disk.exists("partitions/one/c")
    disk.sync_directory("")
    disk.sync_directory("partitions/one")
    with pytest.raises(OSError):  # not empty
        disk.remove_directory("partitions/one")
    disk.remove("partitions/one/a")
    disk.remove("partitions/one/b")
    disk.remove_directory("partitions/one")
    assert disk.list_directory("partitions") == []
    with pytest.raises(FileNotFoundError):
        disk.sync_directory("partitions/one")


def test_rename_replaces_and_open_files_follow(disk: Disk) -> None:
    disk.make_directory("d")
    old = disk.create("d/checkpoint")
    old.write(0, [b"old"])
    new = disk.create("d/checkpoint.tmp")
    new.write(0, [b"new"])
    disk.rename("d/checkpoint.tmp", "d/checkpoint")
    assert disk.list_directory("d") == ["checkpoint"]
    assert disk.open("d/checkpoint").read(0, 9) == b"new"
    assert old.read(0, 9) == b"old"
    new.write(3, [b"er"])
    assert disk.open("d/checkpoint").read(0, 9) == b"newer"


def test_renaming_a_directory_takes_its_files_along(disk: Disk) -> None:
    disk.make_directory("d")
    disk.create("d/a").write(0, [b"1"])
    disk.rename("d", "d.removed")
    assert disk.list_directory("") == ["d.removed"]
    assert disk.open("d.removed/a").read(0, 1) == b"1"


def test_a_removed_file_stays_readable_for_who_has_it_open(disk: Disk) -> None:
    file = disk.create("a")
    file.write(0, [b"still here"])
    disk.remove("a")
    assert not disk.exists("a")
    assert file.read(0, 100) == b"still here"


@pytest.mark.parametrize("path", ["../a", "d/../../a", "/etc/passwd"])
def test_no_path_leaves_the_directory(disk: Disk, path: str) -> None:
    with pytest.raises(ValueError, match="leaves"):
        disk.open(path)


def test_there_is_free_space(disk: Disk) -> None:
    assert disk.free_bytes() > 0


def test_a_lock_keeps_another_process_out(disk: Disk, tmp_path: Path) -> None:
    another = RealDisk(tmp_path / "data") if isinstance(disk, RealDisk) else disk
    disk.lock("lock")
    with pytest.raises(FileLockedError):
        another.lock("lock")
    another.lock("another")
