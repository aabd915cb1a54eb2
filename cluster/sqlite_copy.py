"""The content of a coordination file that nobody has open, read without touching it.

SQLite cannot read a file with a write-ahead log beside it without writing there, and without the log it would show an
old state: so the file and its log are copied into a private temporary directory and read in that place.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from cluster.coordination import KeyValue
from cluster.sqlite_file import FORMAT

_SUFFIXES = ("", "-wal")  # -shm is derived from -wal
_ITEMS = "SELECT key, value, create_revision, mod_revision, version, lease_id FROM items ORDER BY key"
_FAULTS_MAX = 20


@dataclass(frozen=True, slots=True)
class SqliteContent:
    """`faults` is what is wrong with the file, in SQLite's words where they are its own; empty for a sound one."""

    items: list[KeyValue] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def read_copy(path: str, *, copied: Callable[[int], None] = lambda _count: None) -> SqliteContent | None:
    """What the file at `path` holds, None if there is no such file; `copied` is told the bytes of each file.

    Raises OSError when it cannot be copied: no permission, no space for temporary files.
    """
    if not Path(path).exists():
        return None
    with tempfile.TemporaryDirectory(prefix="acklog-fsck-") as directory:
        copy = Path(directory) / "coordination.sqlite"
        for suffix in _SUFFIXES:
            source = Path(path + suffix)
            if source.exists():
                shutil.copyfile(source, str(copy) + suffix)
                copied(source.stat().st_size)
        return _read(copy)


def _read(path: Path) -> SqliteContent:
    items: list[KeyValue] = []
    try:
        with closing(sqlite3.connect(path)) as connection:
            faults = [row[0] for row in connection.execute(f"PRAGMA integrity_check({_FAULTS_MAX})")]
            if faults != ["ok"]:
                return SqliteContent(_salvage(connection), faults)
            formats = [row[0] for row in connection.execute("SELECT format FROM store")]
            if formats != [FORMAT]:
                return SqliteContent(items, [f"it has the format {formats}, this version reads {FORMAT}"])
            return SqliteContent(_items(connection), [])
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return SqliteContent(items, [str(error)])


def _items(connection: sqlite3.Connection) -> list[KeyValue]:
    return [KeyValue(*row) for row in connection.execute(_ITEMS)]


def _salvage(connection: sqlite3.Connection) -> list[KeyValue]:
    """What can still be read of a damaged file, so that the rest of the directory can be named."""
    try:
        return _items(connection)
    except (sqlite3.Error, UnicodeDecodeError):
        return []
