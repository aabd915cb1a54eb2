"""The index of a table on disk: a file of SQLite per partition that somebody has asked for keys of.

What is taken over is one transaction, together with how far it goes. It need not be durable: what the machine forgets
when it loses power is taken over again from the log. A file that is damaged, or of another version, is made anew.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from storage.disk.executor import IoExecutor
from storage.log.keys import LogKey
from storage.table.table_index import NOWHERE, TableIndex, TableIndexFailedError, TableState

_FORMAT = 1
_CACHE_KIB = 2048
_TABLES = f"""
CREATE TABLE IF NOT EXISTS latest (offset INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS state (
    applied INTEGER NOT NULL, applied_epoch INTEGER NOT NULL, lost_end INTEGER NOT NULL
);
PRAGMA user_version = {_FORMAT};
"""
_INSERT_STATE = "INSERT INTO state VALUES (?, ?, ?)"

_Result = TypeVar("_Result")


class SqliteTableIndex:
    """One partition's. Its calls come one at a time, each on some I/O thread."""

    def __init__(self, path: Path) -> None:
        """For `SqliteTableIndexes.open` only."""
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in {0, _FORMAT}:
            raise TableIndexFailedError(f"it has the format {version}")
        self._connection.executescript(_TABLES)
        row = self._connection.execute("SELECT * FROM state").fetchone()
        self.state = TableState(0) if row is None else TableState(*row)

    def apply(self, latest: Mapping[bytes, int], state: TableState) -> None:
        in_order = sorted(latest.items())  # neighbours in the file come one after the other
        gone = [(digest,) for digest, offset in in_order if offset == NOWHERE]
        places = [(offset, digest) for digest, offset in in_order if offset != NOWHERE]
        with self._transaction():
            self._connection.executemany("DELETE FROM latest WHERE digest = ?", gone)
            self._connection.executemany("INSERT OR REPLACE INTO latest VALUES (?, ?)", places)
            self._note(state)
        self.state = state

    def find(self, digest: bytes) -> int:
        with _failing():
            row = self._connection.execute("SELECT offset FROM latest WHERE digest = ?", (digest,)).fetchone()
        return NOWHERE if row is None else int(row[0])

    def forget_below(self, log_start: int) -> None:
        with self._transaction():
            self._connection.execute("DELETE FROM latest WHERE offset < ?", (log_start,))

    def clear(self, log_start: int) -> None:
        state = TableState(log_start)
        with self._transaction():
            self._connection.execute("DELETE FROM latest")
            self._note(state)
        self.state = state

    def close(self) -> None:
        self._connection.close()

    def _note(self, state: TableState) -> None:
        self._connection.execute("DELETE FROM state")
        self._connection.execute(_INSERT_STATE, state)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _failing():
            self._connection.execute("BEGIN")
            yield
            self._connection.execute("COMMIT")


@contextmanager
def _failing() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise TableIndexFailedError(str(error)) from error


class SqliteTableIndexes:
    """In a directory of their own, which is made with the first."""

    def __init__(self, directory: str, io: IoExecutor) -> None:
        """`io` is best one of their own: what is taken over at leisure must not keep appends from the disk."""
        self._directory = Path(directory)
        self._io = io

    async def run(self, call: Callable[[], _Result]) -> _Result:
        return await self._io.run(call)

    def open(self, key: LogKey) -> TableIndex:
        """Raises TableIndexFailedError where it cannot be made either."""
        try:
            self._directory.mkdir(exist_ok=True)
            try:
                return SqliteTableIndex(self._path(key))
            except (sqlite3.Error, TableIndexFailedError):
                self.remove(key)
                return SqliteTableIndex(self._path(key))
        except (OSError, sqlite3.Error) as error:
            raise TableIndexFailedError(str(error)) from error

    def remove(self, key: LogKey) -> None:
        path = self._path(key)
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)

    def _path(self, key: LogKey) -> Path:
        return self._directory / f"{key.topic_id}-{key.partition}.sqlite"
