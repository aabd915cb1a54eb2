"""The disk port on a real directory of which nothing may change: for checks of a data directory that lies still.

Files are opened for reading only, so the operating system itself refuses a write; whatever would change a name raises
`ReadOnlyError`.
"""

import errno
import fcntl
import os
from typing import NoReturn

from storage.disk.port import FileLockedError
from storage.disk.real_disk import RealFile


class ReadOnlyError(OSError):
    """Somebody tried to change a directory that is only to be read."""


class ReadOnlyDisk:
    """`storage.disk.port.Disk` below the existing directory `root`. Raises FileNotFoundError, NotADirectoryError."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.path.abspath(os.fspath(root))
        self._locks: list[int] = []
        os.scandir(self._root).close()

    def _full_path(self, path: str) -> str:
        parts = [part for part in path.split("/") if part not in {"", "."}]
        if path.startswith("/") or ".." in parts:
            raise ValueError(f"{path!r} leaves the data directory")
        return os.path.join(self._root, *parts)

    def open(self, path: str) -> RealFile:
        full_path = self._full_path(path)
        return RealFile(full_path, os.open(full_path, os.O_RDONLY | os.O_CLOEXEC))

    def exists(self, path: str) -> bool:
        return os.path.lexists(self._full_path(path))

    def list_directory(self, path: str) -> list[str]:
        return sorted(os.listdir(self._full_path(path)))

    def free_bytes(self) -> int:
        figures = os.statvfs(self._root)
        return figures.f_bavail * figures.f_frsize

    def lock(self, path: str) -> None:
        """A shared lock: it keeps every server out until `close`, and needs no change of the file. A file that is not
        there cannot be locked, and nobody can hold it. Raises FileLockedError."""
        full_path = self._full_path(path)
        try:
            number = os.open(full_path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(number)
            raise FileLockedError(error.errno, "another process holds the lock", full_path) from error
        self._locks.append(number)

    def close(self) -> None:
        """Give back the locks; open files stay open."""
        for number in self._locks:
            os.close(number)
        self._locks.clear()

    # --- what would change something ---------------------------------------------------------------------------------

    def create(self, path: str) -> RealFile:
        self._refuse(path)

    def make_directory(self, path: str) -> None:
        self._refuse(path)

    def rename(self, source: str, target: str) -> None:
        self._refuse(source)

    def remove(self, path: str) -> None:
        self._refuse(path)

    def remove_directory(self, path: str) -> None:
        self._refuse(path)

    def sync_directory(self, path: str) -> None:
        self._refuse(path)

    def _refuse(self, path: str) -> NoReturn:
        raise ReadOnlyError(errno.EROFS, "the directory is only to be read", self._full_path(path))
