import pytest

from storage.log.open_files import OpenFiles
from tests.sim.sim_disk import SimDisk


def test_the_least_recently_used_file_is_closed_unless_it_is_in_use() -> None:
    files = OpenFiles(SimDisk(), limit=2)
    for name in "abc":
        files.create(name)
    assert len(files) == 2
    with files.use("a") as a, files.use("b"), files.use("c"):
        assert len(files) == 3
        a.write(0, [b"still open"])
    with files.use("b"):
        assert len(files) == 2


def test_a_forgotten_file_is_closed_after_its_last_use() -> None:
    files = OpenFiles(SimDisk(), limit=2)
    files.create("a")
    with files.use("a") as file:
        files.forget("a")
        file.write(0, [b"1"])
    with pytest.raises(ValueError, match="closed"):
        file.size()
    with files.use("a") as again:
        assert again.size() == 1


def test_reading_what_is_not_open_needs_a_thread() -> None:
    files = OpenFiles(SimDisk(), limit=2)
    files.create("a")
    assert files.read_cached("a", 0, 5) == b""
    files.forget("a")
    assert files.read_cached("a", 0, 5) is None
