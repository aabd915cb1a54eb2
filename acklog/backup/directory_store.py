"""Backups in a directory of this machine."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from acklog.backup.backup_error import BackupDamaged

_UNFINISHED = re.compile(r"\.[0-9]+\.part$")
"""How names end of what is being written, or was when its process ended: the number of the process."""


class DirectoryStore:
    """A file gets its name once it is on the disk, and the name is on the disk before anybody counts on it."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def sizes(self, folder: str) -> dict[str, int]:
        return {name: size for name, size in self._files(folder) if not _UNFINISHED.search(name)}

    def unfinished(self, folder: str) -> dict[str, int]:
        return {name: size for name, size in self._files(folder) if _UNFINISHED.search(name)}

    def read(self, name: str) -> bytes:
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError as error:
            raise BackupDamaged(f"the file {name} is missing") from error
        except OSError as error:
            raise BackupDamaged(f"the file {name} cannot be read: {error.strerror}") from error

    def put_new(self, name: str, content: bytes) -> bool:
        path = self._root / name
        self._make(path.parent)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(part, path)  # unlike a rename it takes nobody's place
            except FileExistsError:
                return False
            _sync(path.parent)
            return True
        finally:
            part.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        path = self._root / name
        with suppress(FileNotFoundError):
            path.unlink()
            _sync(path.parent)

    def _files(self, folder: str) -> Iterator[tuple[str, int]]:
        for path in (self._root / folder).rglob("*"):
            if path.is_file():
                yield path.relative_to(self._root).as_posix(), path.stat().st_size

    def _make(self, folder: Path) -> None:
        if folder.is_dir():
            return
        self._make(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync(folder.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
