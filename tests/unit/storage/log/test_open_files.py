import pytest

from storage.log.open_files import OpenFiles
from storage.log.write_behind import FILE_BYTES_MAX
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


def test_small_writes_need_no_thread_while_there_is_room_for_them_in_memory() -> None:
    files = OpenFiles(SimDisk(), limit=2, write_behind_bytes_max=100)
    assert not files.write_to_memory("a", 0, 1, [b"0"])
    files.create("a")
    assert files.write_to_memory("a", 0, 60, [b"0" * 30, b"1" * 30])
    assert files.gathered_bytes == 60
    assert not files.write_to_memory("a", 60, 41, [b"2" * 41])
    assert files.write_to_memory("a", 60, 40, [b"3" * 40])
    files.create("b")
    assert not files.write_to_memory("b", 0, 1, [b"4"])
    with files.use("a") as file:
        assert file.read(0, 200) == b"0" * 30 + b"1" * 30 + b"3" * 40


def test_a_file_has_a_limit_of_its_own_for_what_waits_in_memory() -> None:
    files = OpenFiles(SimDisk(), limit=2, write_behind_bytes_max=10 * FILE_BYTES_MAX)
    files.create("a")
    size = FILE_BYTES_MAX - 1
    assert not files.write_to_memory("a", 0, size + 1, [bytes(size + 1)])
    assert files.write_to_memory("a", 0, size, [bytes(size)])
    assert not files.write_to_memory("a", size, 1, [b"1"])


def test_a_write_to_memory_goes_on_where_the_last_one_ended() -> None:
    files = OpenFiles(SimDisk(), limit=2, write_behind_bytes_max=100)
    files.create("a")
    assert files.write_to_memory("a", 0, 5, [b"01234"])
    assert not files.write_to_memory("a", 3, 1, [b"x"])
    with files.use("a") as file:
        assert file.read(0, 200) == b"01234"
