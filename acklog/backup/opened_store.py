"""Which store a place names: a directory, or a URL of fsspec's."""

from pathlib import Path

from acklog.backup.backup_store import BackupStore
from acklog.backup.directory_store import DirectoryStore
from acklog.backup.fsspec_store import FsspecStore


def opened_store(place: str) -> BackupStore:
    """Raises BackupError for a URL that cannot be opened."""
    if place.startswith("file://"):
        return DirectoryStore(Path(place.removeprefix("file://")))
    return FsspecStore.open(place) if "://" in place else DirectoryStore(Path(place))
