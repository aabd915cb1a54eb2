"""The power cut itself: what was synced is on the copy of the device, what was only written is not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.block_device import MIB, LoopFileSystem, skip_unless_mountable, write_back_off
from tests.support.sync_shim import sync_shim

pytestmark = [pytest.mark.integration, pytest.mark.root, pytest.mark.xdist_group("power_loss")]

WRITE_AND_SYNC = """
import os, sys
descriptor = os.open(sys.argv[1], os.O_WRONLY)
os.pwrite(descriptor, b"new", 0)
os.fdatasync(descriptor)
"""


def write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    directory = os.open(path.parent, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def after_the_cut(device: LoopFileSystem, directory: Path, names: list[str]) -> dict[str, bytes | None]:
    copy = device.copy_of_device(directory / "copy.img", directory / "copy")
    with copy.mounted() as mounted:
        return {name: (mounted / name).read_bytes() if (mounted / name).exists() else None for name in names}


def test_only_what_was_synced_is_left(tmp_path: Path) -> None:
    skip_unless_mountable(tmp_path)
    device = LoopFileSystem.create(tmp_path / "device.img", tmp_path / "device", size_bytes=32 * MIB)
    with write_back_off(), device.mounted() as mounted:
        write_durably(mounted / "synced", b"new")
        write_durably(mounted / "overwritten", b"old")
        with (mounted / "overwritten").open("r+b") as file:
            file.write(b"new")
        (mounted / "unsynced").write_bytes(b"new")
        found = after_the_cut(device, tmp_path, ["synced", "overwritten", "unsynced"])
    assert found == {"synced": b"new", "overwritten": b"old", "unsynced": None}


@pytest.mark.parametrize("syncs", [True, False])
def test_the_shim_takes_syncs_away(tmp_path: Path, syncs: bool) -> None:
    skip_unless_mountable(tmp_path)
    switch = tmp_path / "switch"
    if not syncs:
        switch.touch()
    environment = {**os.environ, **sync_shim(tmp_path, switch)}
    device = LoopFileSystem.create(tmp_path / "device.img", tmp_path / "device", size_bytes=32 * MIB)
    with write_back_off(), device.mounted() as mounted:
        write_durably(mounted / "file", b"old")
        subprocess.run([sys.executable, "-c", WRITE_AND_SYNC, str(mounted / "file")], env=environment, check=True)
        found = after_the_cut(device, tmp_path, ["file"])
    assert found == {"file": b"new" if syncs else b"old"}
