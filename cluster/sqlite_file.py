"""The SQLite file behind `cluster.sqlite_store`: blocking, one connection, never two calls at once.

Synchronous = FULL with a write-ahead log: a commit that returns is on disk. Locking mode EXCLUSIVE: whoever opens the
file keeps every other process out until it is closed.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    bindparam,
    create_engine,
    delete,
    event,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from cluster.coordination import (
    NO_LEASE,
    Changed,
    CoordinationError,
    CoordinationUnavailableError,
    KeyValue,
    Removed,
    key_of,
)
from cluster.key_space import FIRST_REVISION, KeySpace, Mutation

FORMAT = 1

_metadata = MetaData()
_items = Table(
    "items",
    _metadata,
    Column("key", String, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    Column("create_revision", Integer, nullable=False),
    Column("mod_revision", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("lease_id", Integer, nullable=False),
)
_store = Table(
    "store",
    _metadata,
    Column("only_row", Integer, primary_key=True),
    Column("format", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("openings", Integer, nullable=False),
)
_columns = [column for column in _items.columns if column.name != "key"]
_put = insert(_items)
_put = _put.on_conflict_do_update(index_elements=["key"], set_={c.name: _put.excluded[c.name] for c in _columns})
_remove = delete(_items).where(_items.c.key == bindparam("removed_key"))


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
    def __init__(self, path: str) -> None:
        self._path = path
        self._engine: Engine = create_engine(
            URL.create("sqlite+pysqlite", database=path),
            poolclass=StaticPool,
            connect_args={"check_same_thread": False, "timeout": 0},
        )
        event.listen(self._engine, "connect", _configure)
        event.listen(self._engine, "begin", _begin_immediate)

    def open(self) -> Opened:
        """Take the file, end every lease of the last opening in one revision, and read everything."""
        try:
            with self._engine.begin() as connection:
                _metadata.create_all(connection)
                revision, openings = self._count_opening(connection)
                items = [KeyValue(*row) for row in connection.execute(select(_items))]
                keys = KeySpace(revision=revision, items=items)
                expired = [item.key for item in items if item.lease_id != NO_LEASE]
                if expired:
                    keys = KeySpace(revision=revision + 1, items=[item for item in items if item.lease_id == NO_LEASE])
                    self._write(
                        connection, [Mutation(revision + 1, tuple(Removed(key, revision + 1) for key in expired))]
                    )
                return Opened(keys, openings)
        except (DBAPIError, sqlite3.Error) as error:
            self.close()
            if _code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                raise StoreLockedError(f"another process has {self._path} open") from error
            raise StoreUnreadableError(f"{self._path}: {error}") from error
        except BaseException:
            self.close()
            raise

    def _count_opening(self, connection: Connection) -> tuple[int, int]:
        row = connection.execute(select(_store.c.format, _store.c.revision, _store.c.openings)).one_or_none()
        if row is None:
            connection.execute(_store.insert().values(only_row=1, format=FORMAT, revision=FIRST_REVISION, openings=1))
            return FIRST_REVISION, 1
        if row.format != FORMAT:
            raise StoreUnreadableError(f"{self._path} has format {row.format}, this version reads {FORMAT}")
        connection.execute(update(_store).values(openings=row.openings + 1))
        return row.revision, row.openings + 1

    def commit(self, mutations: Sequence[Mutation]) -> None:
        """Make the mutations durable together. Raises CommitFailedError if surely nothing was written.

        Any other exception leaves it unknown, and the file must not be used any more.
        """
        try:
            with self._engine.begin() as connection:
                self._write(connection, mutations)
        except DBAPIError as error:
            if _code(error) == sqlite3.SQLITE_FULL:
                raise CommitFailedError(str(error.orig)) from error
            raise

    def _write(self, connection: Connection, mutations: Sequence[Mutation]) -> None:
        """Only the last state of each key needs to be written."""
        last = {key_of(event): event for mutation in mutations for event in mutation.events}
        rows = [_row(event.item) for event in last.values() if isinstance(event, Changed)]
        removed = [{"removed_key": event.key} for event in last.values() if isinstance(event, Removed)]
        if rows:
            connection.execute(_put, rows)
        if removed:
            connection.execute(_remove, removed)
        connection.execute(update(_store).values(revision=mutations[-1].revision))

    def close(self) -> None:
        self._engine.dispose()


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_immediate` says, not where the driver guesses
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _row(item: KeyValue) -> dict[str, Any]:
    return {
        "key": item.key,
        "value": item.value,
        "create_revision": item.create_revision,
        "mod_revision": item.mod_revision,
        "version": item.version,
        "lease_id": item.lease_id,
    }


def _code(error: DBAPIError | sqlite3.Error) -> int | None:
    """The primary result code, without SQLite's extension of it."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
