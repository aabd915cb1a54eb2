"""How far the coordination file has surely got: the revision of the last commit that is durable.

One line of text beside the file, `<revision> <CRC-32C of it>`, padded to a fixed length. It is written in place behind
each commit and synced with nothing: after a killed process it is exact, after a loss of power it may be an earlier one,
which is true all the same. SQLite ends its write-ahead log where a checksum is wrong, so that a log that is gone, short
or damaged shows an earlier state without a word: then the file ends before its reach.

The coordination file notes that it has such a file, once that is durable: from then on, one that is missing or short is
damage, and no start takes its absence for an answer (rule R34).
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

    def make(self) -> bool:
        """Whether the file is there, durably: one that is whole stays, any other is made anew and says nothing yet.
        Nobody may have synced it before, be it whole in the page cache."""
        try:
            if reach_fault(self._path.removesuffix(REACH_SUFFIX)):
                number = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o640)
                try:
                    os.write(number, _line(0))
                finally:
                    os.close(number)
            _sync(self._path)
            _sync(os.path.dirname(os.path.abspath(self._path)))
        except OSError:
            return False
        return True

    def close(self) -> None:
        if self._number is not None:
            os.close(self._number)
            self._number = None


def read_reach(path: str) -> int:
    """What is known of the coordination file at `path`; 0 where nothing is, or a loss of power has torn it."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        line = _read(path)
        revision = int(line.split(b" ", 1)[0])
        if line == _line(revision):
            return revision
    return 0


def reach_fault(path: str) -> str:
    """What is wrong with the file beside `path` as no crash leaves it, "" where nothing is: its length and its end are
    the same in all that is ever written."""
    try:
        line = _read(path)
    except FileNotFoundError:
        return f"{os.path.basename(path)}{REACH_SUFFIX} is missing"
    is_whole = len(line) == _LINE_BYTES and line.endswith(b"\n")
    return "" if is_whole else f"{os.path.basename(path)}{REACH_SUFFIX} is cut or overwritten"


def _read(path: str) -> bytes:
    number = os.open(path + REACH_SUFFIX, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(number, _LINE_BYTES + 1)
    finally:
        os.close(number)


def _sync(path: str) -> None:
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _line(revision: int) -> bytes:
    text = b"%d" % revision
    return (b"%s %08x" % (text, crc32c(text))).ljust(_LINE_BYTES - 1) + b"\n"
