"""Files that are read while a process serves: whatever may never end, or never begin, is refused at once."""

import os
from pathlib import Path

import pytest

from cluster.regular_file import read_regular_file

pytestmark = pytest.mark.timeout(10)


def test_what_is_in_it_also_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert read_regular_file(str(tmp_path / "link")) == b"content"


def test_what_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="is no regular file"):
            read_regular_file(str(path))
    with pytest.raises(IsADirectoryError):
        read_regular_file(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        read_regular_file(str(tmp_path / "none"))


def test_a_pipe_that_somebody_writes_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(tmp_path / "pipe", os.O_WRONLY)
    try:
        with pytest.raises(OSError, match="is no regular file"):
            read_regular_file(str(tmp_path / "pipe"))
    finally:
        os.close(writer)
        os.close(reader)
