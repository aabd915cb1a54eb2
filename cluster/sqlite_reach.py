"""How far the coordination file has surely got: the revision of the last commit that is durable.

One line of text beside the file, `<revision> <CRC-32C of it>`, padded to a fixed length. It is written in place behind
each commit and synced with nothing: after a killed process it is exact, after a loss of power it may be an earlier one,
which is true all the same. SQLite ends its write-ahead log where a checksum is wrong, so that a log that is gone, short
or damaged shows an earlier state without a word: then the file ends before its reach.
"""

import contextlib
import os

from crc32c import crc32c

REACH_SUFFIX = ".reach"
_LINE_BYTES = 64


class CommitReach:
    """Of the coordination file at `path`; the file is opened at the first write."""

    def __init__(self, path: str) -> None:
        self._path = path + REACH_SUFFIX
        self._number: int | None = None

    def write(self, revision: int) -> None:
        """A revision is durable. Where it cannot be noted (a full disk) what was noted before stays true."""
        with contextlib.suppress(OSError):
            if self._number is None:
                self._number = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
            os.pwrite(self._number, _line(revision), 0)

    def close(self) -> None:
        if self._number is not None:
            os.close(self._number)
            self._number = None


def read_reach(path: str) -> int:
    """What is known of the coordination file at `path`; 0 where nothing is, or a loss of power has torn it."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        number = os.open(path + REACH_SUFFIX, os.O_RDONLY | os.O_CLOEXEC)
        try:
            line = os.read(number, _LINE_BYTES)
        finally:
            os.close(number)
        revision = int(line.split(b" ", 1)[0])
        if line == _line(revision):
            return revision
    return 0


def _line(revision: int) -> bytes:
    text = b"%d" % revision
    return (b"%s %08x" % (text, crc32c(text))).ljust(_LINE_BYTES - 1) + b"\n"
