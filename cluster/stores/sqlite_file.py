"""The SQLite file behind `cluster.stores.sqlite_store`: blocking, one connection, never two calls at once.

Synchronous = FULL with a write-ahead log: a commit that returns is on disk. Locking mode EXCLUSIVE: whoever opens the
file keeps every other process out until it is closed.

What rots is found at an opening: SQLite's own check looks at the pages, a checksum in each row at its content, and the
reach beside the file (`sqlite_reach`) and the rest of the directory (`sqlite_evidence`) at whether commits are missing.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cluster.ports.coordination import (
    NO_LEASE,
    Changed,
    CoordinationError,
    CoordinationFullError,
    CoordinationUnavailableError,
    KeyValue,
    Removed,
    key_of,
)
from cluster.stores.key_space import FIRST_REVISION, KeySpace, Mutation
from cluster.stores.sqlite_evidence import NO_EVIDENCE, StoreEvidence, losses_of
from cluster.stores.sqlite_reach import CommitReach, reach_fault, read_reach
from cluster.stores.sqlite_tables import (
    FORMAT,
    INSERT_STORE,
    PUT_ROW,
    REMOVE_ROW,
    SELECT_ITEMS,
    checksum_of,
    make_tables,
    row_of,
)

FAULTS_MAX = 20
FIRST_OPENING = 1
BEHIND = "lacks what the rest of the data directory rests on (is it an old copy, or is its -wal file gone?)"
KEEPS_REACH = 1  # SQLite's user_version: the file beside it is durable, and is missed from then on
REMEDY = "Restore the data directory from a backup, or make the file anew with acklog rebuild"


class StoreLockedError(CoordinationUnavailableError):
    """Another process has the file open."""


class StoreUnreadableError(CoordinationError):
    """The file is damaged, or of a format that this version does not know."""


class CommitFailedError(Exception):
    """Nothing of the commit is in the file: it is full, and the transaction was rolled back."""


@dataclass(frozen=True, slots=True)
class Opened:
    """`openings` counts how often the file was opened, this time included."""

    keys: KeySpace
    openings: int


class SqliteFile:
    """One process at a time has it open; every method blocks."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._reach = CommitReach(path)
        self._connection: sqlite3.Connection | None = None

    def open(self, evidence: StoreEvidence = NO_EVIDENCE) -> Opened:
        """Take the file, end every lease of the last opening in one revision, and read everything.

        Raises StoreLockedError, and StoreUnreadableError where it is damaged or behind what `evidence` says.
        """
        try:
            self._connection = _connect(self.path)
            with self._transaction() as connection:
                self._check_pages(connection)
                make_tables(connection)
                revision, openings = self._count_opening(connection)
                self._check_reach(connection, revision)
                items = self._checked_items(connection)
                lost = losses_of(items, 0 if openings == FIRST_OPENING else revision, evidence)
                if lost:
                    raise StoreUnreadableError(f"{self.path} {BEHIND}: {'; '.join(lost)}. {REMEDY}")
                if self._reach.make():
                    connection.execute(f"PRAGMA user_version = {KEEPS_REACH}")
                keys = KeySpace(revision=revision, items=items)
                expired = [item.key for item in items if item.lease_id != NO_LEASE]
                if expired:
                    keys = KeySpace(revision=revision + 1, items=[item for item in items if item.lease_id == NO_LEASE])
                    self._write(
                        connection, [Mutation(revision + 1, tuple(Removed(key, revision + 1) for key in expired))]
                    )
            self._reach.write(keys.revision)
            return Opened(keys, openings)
        except sqlite3.Error as error:
            self.close()
            if _code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                raise StoreLockedError(f"another process has {self.path} open") from error
            if _code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
                raise StoreUnreadableError(f"{self.path} is damaged: {error}. {REMEDY}") from error
            if _code(error) == sqlite3.SQLITE_FULL:
                raise CoordinationFullError(f"there is no space left on the disk for {self.path}: free some") from error
            raise StoreUnreadableError(f"{self.path} cannot be used: {error}") from error
        except UnicodeDecodeError as error:  # what SQLite complains of has a damaged name
            self.close()
            raise StoreUnreadableError(f"{self.path} is damaged: {error}. {REMEDY}") from error
        except BaseException:
            self.close()
            raise

    def _check_pages(self, connection: sqlite3.Connection) -> None:
        faults = [row[0] for row in connection.execute(f"PRAGMA integrity_check({FAULTS_MAX})")]
        if faults != ["ok"]:
            raise StoreUnreadableError(f"{self.path} is damaged: {'; '.join(faults)}. {REMEDY}")

    def _check_reach(self, connection: sqlite3.Connection, revision: int) -> None:
        ((keeps_reach,),) = connection.execute("PRAGMA user_version")
        if keeps_reach and (fault := reach_fault(self.path)):
            raise StoreUnreadableError(f"{self.path} is damaged: {fault}. {REMEDY}")
        reached = read_reach(self.path)
        if reached > revision:
            raise StoreUnreadableError(f"{self.path} is damaged: {lost_commits(revision, reached)}. {REMEDY}")

    def _checked_items(self, connection: sqlite3.Connection) -> list[KeyValue]:
        """Rows that an earlier version wrote get their checksum."""
        rows = [(KeyValue(*row[:-1]), row[-1]) for row in connection.execute(SELECT_ITEMS)]
        damaged = [item.key for item, checksum in rows if checksum not in {None, checksum_of(item)}]
        if damaged:
            text = f"the checksum of {', '.join(map(repr, damaged[:FAULTS_MAX]))} does not match"
            raise StoreUnreadableError(f"{self.path} is damaged: {text}. {REMEDY}")
        unchecked = [row_of(item) for item, checksum in rows if checksum is None]
        if unchecked:
            connection.executemany(PUT_ROW, unchecked)
        return [item for item, _ in rows]

    def _count_opening(self, connection: sqlite3.Connection) -> tuple[int, int]:
        row = connection.execute("SELECT format, revision, openings FROM store").fetchone()
        if row is None:
            connection.execute(INSERT_STORE, (FORMAT, FIRST_REVISION, FIRST_OPENING))
            return FIRST_REVISION, FIRST_OPENING
        found, revision, openings = row
        if found != FORMAT:
            raise StoreUnreadableError(f"{self.path} has format {found}, this version reads {FORMAT}")
        connection.execute("UPDATE store SET openings = ?", (openings + 1,))
        return revision, openings + 1

    def commit(self, mutations: Sequence[Mutation]) -> None:
        """Make the mutations durable together. Raises CommitFailedError if surely nothing was written.

        Any other exception leaves it unknown, and the file must not be used any more.
        """
        try:
            with self._transaction() as connection:
                self._write(connection, mutations)
            self._reach.write(mutations[-1].revision)
        except sqlite3.Error as error:
            if _code(error) == sqlite3.SQLITE_FULL:
                raise CommitFailedError(str(error)) from error
            raise

    def _write(self, connection: sqlite3.Connection, mutations: Sequence[Mutation]) -> None:
        """Only the last state of each key needs to be written."""
        last = {key_of(event): event for mutation in mutations for event in mutation.events}
        rows = [row_of(event.item) for event in last.values() if isinstance(event, Changed)]
        removed = [(event.key,) for event in last.values() if isinstance(event, Removed)]
        if rows:
            connection.executemany(PUT_ROW, rows)
        if removed:
            connection.executemany(REMOVE_ROW, removed)
        connection.execute("UPDATE store SET revision = ?", (mutations[-1].revision,))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Committed at its end, and rolled back where anything is raised, by the commit as well."""
        assert self._connection is not None, "the file is not open"
        with self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._reach.close()


def _connect(path: str) -> sqlite3.Connection:
    """Its thread may be any; transactions begin where `BEGIN` is said, not where the driver guesses."""
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def lost_commits(revision: int, reached: int) -> str:
    return f"it ends at revision {revision}, but {reached} was committed (is its -wal file gone, or is it an old copy?)"


def _code(error: sqlite3.Error) -> int | None:
    """The primary result code, without SQLite's extension of it."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
