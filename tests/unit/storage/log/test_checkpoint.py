import pytest

from storage.disk.port import DiskFullError
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint, write_checkpoint
from tests.sim.sim_disk import CAPACITY_BYTES_DEFAULT, SimDisk


def test_what_was_written_is_read() -> None:
    disk = SimDisk()
    disk.make_directory("somewhere")
    assert read_checkpoint(disk, "somewhere/point") is None
    for payload in (b"", b"one", b"another" * 1000):
        write_checkpoint(disk, "somewhere/point", payload)
        assert read_checkpoint(disk, "somewhere/point") == payload
    assert disk.list_directory("somewhere") == ["point"]


def test_every_flipped_bit_and_every_truncation_is_noticed() -> None:
    disk = SimDisk()
    write_checkpoint(disk, "point", b"payload")
    whole = disk.files()["point"]
    harmed = [whole[:length] for length in range(len(whole))]
    for position in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[position // 8] ^= 1 << (position % 8)
        harmed.append(bytes(flipped))
    for content in (*harmed, whole + b"x"):
        file = disk.open("point")
        file.truncate(0)
        file.write(0, [content])
        with pytest.raises(CheckpointDamagedError):
            read_checkpoint(disk, "point")


def test_a_full_disk_leaves_the_old_one() -> None:
    disk = SimDisk()
    write_checkpoint(disk, "point", b"old")
    disk.capacity_bytes = disk.used_bytes + 20
    with pytest.raises(DiskFullError):
        write_checkpoint(disk, "point", b"new" * 100)
    assert read_checkpoint(disk, "point") == b"old"
    assert disk.list_directory("") == ["point"]
    disk.capacity_bytes = CAPACITY_BYTES_DEFAULT
    write_checkpoint(disk, "point", b"new")
    assert read_checkpoint(disk, "point") == b"new"
