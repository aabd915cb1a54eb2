"""What only a real disk can show: translated errors, partial writes, locks of other processes."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from storage.disk.port import DiskFailedError, DiskFullError, FileLockedError, ShortageError
from storage.disk.real_disk import ZEROS_PER_WRITE_BYTES, RealDisk


@pytest.fixture
def disk(tmp_path: Path) -> RealDisk:
    return RealDisk(tmp_path)


def fail_with(number: int) -> object:
    def failing(*_arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    return failing


def test_each_sync_of_a_file_is_told(tmp_path: Path) -> None:
    told: list[float] = []
    disk = RealDisk(tmp_path, on_sync=told.append)
    created = disk.create("a")
    created.write(0, [b"x"])
    created.sync()
    disk.open("a").sync()
    assert len(told) == 2
    assert min(told) > 0


@pytest.mark.parametrize(
    ("number", "kind"),
    [(errno.ENOSPC, DiskFullError), (errno.EDQUOT, DiskFullError), (errno.EIO, DiskFailedError), (99, DiskFailedError)],
)
def test_write_errors_are_told_apart(
    disk: RealDisk, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[OSError]
) -> None:
    file = disk.create("a")
    monkeypatch.setattr(os, "pwritev", fail_with(number))
    with pytest.raises(kind):
        file.write(0, [b"x"])


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EDQUOT])
def test_a_failed_sync_is_never_merely_a_full_disk(
    disk: RealDisk, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    file = disk.create("a")
    monkeypatch.setattr(os, "fdatasync", fail_with(number))
    monkeypatch.setattr(os, "fsync", fail_with(number))
    with pytest.raises(DiskFailedError):
        file.sync()
    with pytest.raises(DiskFailedError):
        disk.sync_directory("")


def test_no_more_than_a_piece_of_a_new_file_waits_for_the_device(
    disk: RealDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsynced = [0]
    real_pwritev, real_fdatasync = os.pwritev, os.fdatasync

    def counted_write(number: int, buffers: Sequence[memoryview], position: int) -> int:
        written = real_pwritev(number, buffers, position)
        unsynced.append(unsynced[-1] + written)
        return written

    def counted_sync(number: int) -> None:
        real_fdatasync(number)
        unsynced.append(0)

    monkeypatch.setattr(os, "pwritev", counted_write)
    monkeypatch.setattr(os, "fdatasync", counted_sync)
    disk.create("journal").preallocate(3 * ZEROS_PER_WRITE_BYTES + 1)
    assert max(unsynced) == ZEROS_PER_WRITE_BYTES
    assert unsynced[-1] == 0
    assert len(unsynced) == 1 + 2 * 4


def test_a_new_file_that_cannot_be_synced_is_never_merely_a_full_disk(
    disk: RealDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = disk.create("journal")
    monkeypatch.setattr(os, "fdatasync", fail_with(errno.ENOSPC))
    with pytest.raises(DiskFailedError):
        file.preallocate(1)


def test_read_errors(disk: RealDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = disk.create("a")
    monkeypatch.setattr(os, "pread", fail_with(errno.EIO))
    monkeypatch.setattr(os, "preadv", fail_with(errno.EIO))
    with pytest.raises(DiskFailedError):
        file.read(0, 1)
    with pytest.raises(DiskFailedError):
        file.read_cached(0, 1)


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EOPNOTSUPP])
def test_what_is_not_cached_or_cannot_be_known_is_none(
    disk: RealDisk, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    file = disk.create("a")
    file.write(0, [b"x"])
    monkeypatch.setattr(os, "preadv", fail_with(number))
    assert file.read_cached(0, 1) is None


def test_a_short_cached_read_before_the_end_is_none(disk: RealDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = disk.create("a")
    file.write(0, [b"0123456789"])
    real_preadv = os.preadv

    def short(number: int, targets: Sequence[bytearray], position: int, flags: int) -> int:
        return min(3, real_preadv(number, targets, position, flags))

    monkeypatch.setattr(os, "preadv", short)
    assert file.read_cached(0, 5) is None
    assert file.read_cached(7, 5) == b"789"


def test_partial_writes_and_reads_are_completed(disk: RealDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = disk.create("a")
    real_pwritev, real_pread = os.pwritev, os.pread

    def few(number: int, buffers: Sequence[bytes], position: int) -> int:
        return real_pwritev(number, [memoryview(b"".join(buffers))[:3]], position)

    monkeypatch.setattr(os, "pwritev", few)
    monkeypatch.setattr(os, "pread", lambda number, length, at: real_pread(number, min(length, 2), at))
    file.write(1, [b"abcd", b"", b"efghij", b"k"])
    assert file.read(1, 50) == b"abcdefghijk"


def test_a_write_without_progress_fails(disk: RealDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = disk.create("a")
    monkeypatch.setattr(os, "pwritev", lambda *_arguments: 0)
    with pytest.raises(DiskFailedError):
        file.write(0, [b"x"])


def test_preallocation_that_does_not_fit_leaves_the_file(disk: RealDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = disk.create("a")
    file.write(0, [b"abc"])
    monkeypatch.setattr(os, "posix_fallocate", fail_with(errno.ENOSPC))
    with pytest.raises(DiskFullError):
        file.preallocate(1 << 20)
    assert file.read(0, 10) == b"abc"


def test_name_errors_are_translated(disk: RealDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, kind in ((errno.ENOSPC, DiskFullError), (errno.EIO, DiskFailedError), (errno.EMFILE, OSError)):
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", fail_with(number))
            with pytest.raises(kind):
                disk.create("a")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN])
def test_an_open_without_descriptors_is_a_shortage(
    disk: RealDisk, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    disk.make_directory("below")
    monkeypatch.setattr(os, "open", fail_with(number))
    monkeypatch.setattr(os, "listdir", fail_with(number))
    for work in (disk.open, disk.create, disk.list_directory, disk.sync_directory):
        with pytest.raises(ShortageError):
            work("below")
    disk.sync_directory("")  # what is renamed there decides, and needs no descriptor


def test_the_lock_keeps_another_disk_object_out_until_it_is_closed(tmp_path: Path) -> None:
    first, second = RealDisk(tmp_path), RealDisk(tmp_path)
    first.lock("lock")
    first.lock("lock")
    with pytest.raises(FileLockedError):
        second.lock("lock")
    first.close()
    second.lock("lock")


def test_an_operation_that_is_running_outlives_close(disk: RealDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else another file could get the number, and be read in this one's place."""
    file = disk.create("a")
    file.write(0, [b"mine"])
    other = []
    real_pread = os.pread

    def close_meanwhile(number: int, length: int, position: int) -> bytes:
        file.close()
        other.append(disk.create("b"))
        other[0].write(0, [b"not mine"])
        return real_pread(number, length, position)

    monkeypatch.setattr(os, "pread", close_meanwhile)
    assert file.read(0, 4) == b"mine"


def test_the_root_is_made_with_its_parents(tmp_path: Path) -> None:
    RealDisk(tmp_path / "x" / "y").create("a").close()
    assert (tmp_path / "x" / "y" / "a").exists()
