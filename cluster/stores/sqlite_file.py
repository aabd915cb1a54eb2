"""The SQLite file behind `cluster.stores.sqlite_store`: blocking, one connection, never two calls at once.

Synchronous = FULL with a write-ahead log: a commit that returns is on disk. Locking mode EXCLUSIVE: whoever opens the
file keeps every other process out until it is closed.

What rots is found at an opening: SQLite's own check looks at the pages, a checksum in each row at its content, and the
reach beside the file (`sqlite_reach`) and the rest of the directory (`sqlite_evidence`) at whether commits are missing.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import (
    Connection,
    Engine,
    create_engine,
    event,
    select,
    update,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

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
    FORGET_CHECKSUM,
    FORMAT,
    checksum_of,
    items_table,
    metadata,
    put_row,
    remove_row,
    row_of,
    store_table,
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
        self._engine: Engine = create_engine(
            URL.create("sqlite+pysqlite", database=path),
            poolclass=StaticPool,
            connect_args={"check_same_thread": False, "timeout": 0},
        )
        event.listen(self._engine, "connect", _configure)
        event.listen(self._engine, "begin", _begin_immediate)

    def open(self, evidence: StoreEvidence = NO_EVIDENCE) -> Opened:
        """Take the file, end every lease of the last opening in one revision, and read everything.

        Raises StoreLockedError, and StoreUnreadableError where it is damaged or behind what `evidence` says.
        """
        try:
            with self._engine.begin() as connection:
                self._check_pages(connection)
                metadata.create_all(connection)
                _add_checksums(connection)
                revision, openings = self._count_opening(connection)
                self._check_reach(connection, revision)
                items = self._checked_items(connection)
                lost = losses_of(items, 0 if openings == FIRST_OPENING else revision, evidence)
                if lost:
                    raise StoreUnreadableError(f"{self.path} {BEHIND}: {'; '.join(lost)}. {REMEDY}")
                if self._reach.make():
                    connection.exec_driver_sql(f"PRAGMA user_version = {KEEPS_REACH}")
                keys = KeySpace(revision=revision, items=items)
                expired = [item.key for item in items if item.lease_id != NO_LEASE]
                if expired:
                    keys = KeySpace(revision=revision + 1, items=[item for item in items if item.lease_id == NO_LEASE])
                    self._write(
                        connection, [Mutation(revision + 1, tuple(Removed(key, revision + 1) for key in expired))]
                    )
            self._reach.write(keys.revision)
            return Opened(keys, openings)
        except (DBAPIError, sqlite3.Error) as error:
            self.close()
            if _code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                raise StoreLockedError(f"another process has {self.path} open") from error
            cause = error.orig if isinstance(error, DBAPIError) else error
            if _code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
                raise StoreUnreadableError(f"{self.path} is damaged: {cause}. {REMEDY}") from error
            if _code(error) == sqlite3.SQLITE_FULL:
                raise CoordinationFullError(f"there is no space left on the disk for {self.path}: free some") from error
            raise StoreUnreadableError(f"{self.path} cannot be used: {cause}") from error
        except BaseException:
            self.close()
            raise

    def _check_pages(self, connection: Connection) -> None:
        faults = [row[0] for row in connection.exec_driver_sql(f"PRAGMA integrity_check({FAULTS_MAX})")]
        if faults != ["ok"]:
            raise StoreUnreadableError(f"{self.path} is damaged: {'; '.join(faults)}. {REMEDY}")

    def _check_reach(self, connection: Connection, revision: int) -> None:
        if connection.exec_driver_sql("PRAGMA user_version").scalar_one() and (fault := reach_fault(self.path)):
            raise StoreUnreadableError(f"{self.path} is damaged: {fault}. {REMEDY}")
        reached = read_reach(self.path)
        if reached > revision:
            raise StoreUnreadableError(f"{self.path} is damaged: {lost_commits(revision, reached)}. {REMEDY}")

    def _checked_items(self, connection: Connection) -> list[KeyValue]:
        """Rows that an earlier version wrote get their checksum."""
        rows = [(KeyValue(*row[:-1]), row[-1]) for row in connection.execute(select(items_table))]
        damaged = [item.key for item, checksum in rows if checksum not in {None, checksum_of(item)}]
        if damaged:
            text = f"the checksum of {', '.join(map(repr, damaged[:FAULTS_MAX]))} does not match"
            raise StoreUnreadableError(f"{self.path} is damaged: {text}. {REMEDY}")
        unchecked = [row_of(item) for item, checksum in rows if checksum is None]
        if unchecked:
            connection.execute(put_row, unchecked)
        return [item for item, _ in rows]

    def _count_opening(self, connection: Connection) -> tuple[int, int]:
        row = connection.execute(
            select(store_table.c.format, store_table.c.revision, store_table.c.openings)
        ).one_or_none()
        if row is None:
            connection.execute(
                store_table.insert().values(only_row=1, format=FORMAT, revision=FIRST_REVISION, openings=FIRST_OPENING)
            )
            return FIRST_REVISION, FIRST_OPENING
        if row.format != FORMAT:
            raise StoreUnreadableError(f"{self.path} has format {row.format}, this version reads {FORMAT}")
        connection.execute(update(store_table).values(openings=row.openings + 1))
        return row.revision, row.openings + 1

    def commit(self, mutations: Sequence[Mutation]) -> None:
        """Make the mutations durable together. Raises CommitFailedError if surely nothing was written.

        Any other exception leaves it unknown, and the file must not be used any more.
        """
        try:
            with self._engine.begin() as connection:
                self._write(connection, mutations)
            self._reach.write(mutations[-1].revision)
        except DBAPIError as error:
            if _code(error) == sqlite3.SQLITE_FULL:
                raise CommitFailedError(str(error.orig)) from error
            raise

    def _write(self, connection: Connection, mutations: Sequence[Mutation]) -> None:
        """Only the last state of each key needs to be written."""
        last = {key_of(event): event for mutation in mutations for event in mutation.events}
        rows = [row_of(event.item) for event in last.values() if isinstance(event, Changed)]
        removed = [{"removed_key": event.key} for event in last.values() if isinstance(event, Removed)]
        if rows:
            connection.execute(put_row, rows)
        if removed:
            connection.execute(remove_row, removed)
        connection.execute(update(store_table).values(revision=mutations[-1].revision))

    def close(self) -> None:
        self._engine.dispose()
        self._reach.close()


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_immediate` says, not where the driver guesses
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _add_checksums(connection: Connection) -> None:
    """To a file of an earlier version."""
    columns = {row[1] for row in connection.exec_driver_sql("PRAGMA table_info(items)")}
    if "checksum" not in columns:
        connection.exec_driver_sql("ALTER TABLE items ADD COLUMN checksum INTEGER")
    connection.exec_driver_sql(FORGET_CHECKSUM)


def lost_commits(revision: int, reached: int) -> str:
    return f"it ends at revision {revision}, but {reached} was committed (is its -wal file gone, or is it an old copy?)"


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _code(error: DBAPIError | sqlite3.Error) -> int | None:
    """The primary result code, without SQLite's extension of it."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
