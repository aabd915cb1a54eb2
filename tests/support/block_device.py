"""File systems of our own on loop devices: what a power cut and a full disk do, for real.

The image behind a loop device shows exactly what the mounted file system has handed to its block device. Data that was
written and never synced stays in the page cache of the mounted files, as long as nothing writes it back; so a copy of
the image is what a machine finds after a power cut (with a device that loses nothing it was given).
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MIB = 1024 * 1024
COMMIT_SECONDS = 300  # ext4 would commit its journal, and what the commit depends on, every 5 s

_WRITE_BACK = {
    "dirty_writeback_centisecs": "0",  # no periodic write-back
    "dirty_background_ratio": "80",  # none by amount either
    "dirty_ratio": "90",
}
_IN_BYTES = {"dirty_background_ratio": "dirty_background_bytes", "dirty_ratio": "dirty_bytes"}
_SYSTEM = Path("/proc/sys/vm")


def skip_unless_mountable(directory: Path) -> None:
    """Skip the test where loop mounts are impossible; the reason is in the report."""
    if os.geteuid() != 0:
        pytest.skip("loop mounts need root")
    for program in ("mkfs.ext4", "mount", "umount", "losetup"):
        if shutil.which(program) is None:
            pytest.skip(f"loop mounts need {program}")
    try:
        with LoopFileSystem.create(directory / "probe.img", directory / "probe", size_bytes=8 * MIB).mounted():
            pass
    except subprocess.CalledProcessError as error:
        pytest.skip(f"loop mounts are impossible here: {error.stderr.strip()}")
    finally:
        (directory / "probe.img").unlink(missing_ok=True)


class LoopFileSystem:
    """An ext4 file system in the file `image`, which can be mounted at `mount_point`."""

    def __init__(self, image: Path, mount_point: Path) -> None:
        self.image = image
        self.mount_point = mount_point

    @classmethod
    def create(cls, image: Path, mount_point: Path, *, size_bytes: int) -> "LoopFileSystem":
        with image.open("wb") as file:
            file.truncate(size_bytes)
        _run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", str(image))
        return cls(image, mount_point)

    @contextmanager
    def mounted(self) -> Iterator[Path]:
        self.mount_point.mkdir(exist_ok=True)
        _run("mount", "-o", f"loop,commit={COMMIT_SECONDS}", str(self.image), str(self.mount_point))
        try:
            yield self.mount_point
        finally:
            _run("umount", str(self.mount_point))

    def copy_of_device(self, image: Path, mount_point: Path) -> "LoopFileSystem":
        """What is on the device now, as a file system of its own. Nothing is flushed for it."""
        _run("cp", "--sparse=always", str(self.image), str(image))
        return LoopFileSystem(image, mount_point)


@contextmanager
def write_back_off() -> Iterator[None]:
    """The kernel writes no dirty page on its own account meanwhile. Restored afterwards; one user at a time."""
    with (Path(tempfile.gettempdir()) / "acklog-tests-write-back.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = {name: _read(name) for name in (*_WRITE_BACK, *_IN_BYTES.values())}
        try:
            for name, value in _WRITE_BACK.items():
                (_SYSTEM / name).write_text(value)
            yield
        finally:
            for name in _WRITE_BACK:
                in_bytes = _IN_BYTES.get(name)  # of a ratio and its twin in bytes, one is set and the other reads 0
                restored = in_bytes if in_bytes is not None and before[in_bytes] != "0" else name
                (_SYSTEM / restored).write_text(before[restored])


def _read(name: str) -> str:
    return (_SYSTEM / name).read_text().strip()


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
