import pytest

from storage.log.open_files import OpenFiles
from tests.sim.sim_disk import SimDisk


def test_the_least_recently_used_file_is_closed_unless_it_is_in_use() -> None:
    files = OpenFiles(SimDisk(), limit=2, write_behind_bytes_max=100)
    for name in "abc":
        files.create(name)
    assert len(files) == 2
    with files.use("a") as a, files.use("b"), files.use("c"):
        assert len(files) == 3
        a.write(0, [b"still open"])
    with files.use("b"):
        assert len(files) == 2


def test_a_forgotten_file_is_closed_after_its_last_use() -> None:
    files = OpenFiles(SimDisk(), limit=2, write_behind_bytes_max=100)
    files.create("a")
    with files.use("a") as file:
        files.forget("a")
        file.write(0, [b"1"])
        file.flush()
    with pytest.raises(ValueError, match="closed"):
        file.size()
    with files.use("a") as again:
        assert again.size() == 1


def test_reading_what_is_not_open_needs_a_thread() -> None:
    files = OpenFiles(SimDisk(), limit=2, write_behind_bytes_max=100)
    files.create("a")
    assert files.read_cached("a", 0, 5) == b""
    files.forget("a")
    assert files.read_cached("a", 0, 5) is None


def test_a_file_is_closed_with_all_that_was_written_to_it() -> None:
    disk = SimDisk()
    files = OpenFiles(disk, limit=1, write_behind_bytes_max=100)
    files.create("a")
    with files.use("a") as file:
        file.write(0, [b"gathered"])
    assert files.gathered_bytes == 8
    files.create("b")
    assert len(files) == 1
    assert files.gathered_bytes == 0
    with files.use("a") as file:
        assert file.read(0, 100) == b"gathered"


def test_a_file_that_finds_no_space_stays_open_until_there_is_some() -> None:
    disk = SimDisk(capacity_bytes=0)
    files = OpenFiles(disk, limit=1, write_behind_bytes_max=100)
    files.create("a")
    with files.use("a") as file:
        file.write(0, [b"gathered"])
    files.create("b")
    assert files.gathered_bytes == 8
    with files.use("a") as file:
        assert file.read(0, 100) == b"gathered"
    disk.capacity_bytes = 1000
    with files.use("b"):
        pass
    assert files.gathered_bytes == 0
    assert len(files) == 1
