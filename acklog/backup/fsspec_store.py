"""Backups in any file system that fsspec knows: object stores, and others behind a URL."""

from typing import Any

from acklog.backup.backup_error import BackupDamaged, BackupError


class FsspecStore:
    """What an object store takes it takes in one piece; a file system whose writes may break off half-way is told from
    that by the checksum in each name."""

    def __init__(self, file_system: Any, root: str) -> None:
        self._files = file_system
        self._root = root.rstrip("/")

    @classmethod
    def open(cls, url: str) -> "FsspecStore":
        """Raises BackupError."""
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise BackupError(f'{url} needs fsspec: pip install "acklog[backup]"') from error
        try:
            file_system, root = url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise BackupError(f"{url} cannot be opened: {error}") from error
        return cls(file_system, root)

    def sizes(self, folder: str) -> dict[str, int]:
        self._files.invalidate_cache()
        try:
            found = self._files.find(f"{self._root}/{folder}", detail=True)
        except FileNotFoundError:
            return {}
        prefix = f"{self._root}/"
        return {name.removeprefix(prefix).lstrip("/"): int(facts["size"]) for name, facts in found.items()}

    def read(self, name: str) -> bytes:
        try:
            return bytes(self._files.cat_file(f"{self._root}/{name}"))
        except FileNotFoundError as error:
            raise BackupDamaged(f"the file {name} is missing") from error

    def put_new(self, name: str, content: bytes) -> bool:
        path = f"{self._root}/{name}"
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        try:
            self._files.pipe_file(path, content, mode="create")
        except FileExistsError:
            return False
        return True

    def unfinished(self, folder: str) -> dict[str, int]:
        """What an object store takes in one piece is there or not."""
        return {}

    def remove(self, name: str) -> None:
        if self._files.exists(f"{self._root}/{name}"):
            self._files.rm_file(f"{self._root}/{name}")
