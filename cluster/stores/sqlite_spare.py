"""The spare of the coordination file: the same content in another file beside it, for `acklog rebuild`."""

import contextlib
import os
import sqlite3

from cluster.ports.coordination import NO_LEASE
from cluster.stores.key_space import KeySpace
from cluster.stores.sqlite_tables import FORMAT, INSERT_STORE, PUT_ROW, make_tables, row_of


def spare_path(path: str) -> str:
    """`coordination.sqlite` has `coordination-copy.sqlite`."""
    stem, suffix = os.path.splitext(path)
    return f"{stem}-copy{suffix}"


def write_whole(path: str, keys: KeySpace, *, openings: int) -> None:
    """A file with these keys, without those of leases: atomically and durably, in the place of any other at `path`.
    Raises sqlite3.Error and OSError; what was there before is there then."""
    temporary = path + ".tmp"
    _remove(temporary)
    rows = [row_of(item) for item in keys.list("").items if item.lease_id == NO_LEASE]
    try:
        with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as connection, connection:
            connection.execute("BEGIN")
            make_tables(connection)
            connection.execute(INSERT_STORE, (FORMAT, keys.revision, openings))
            connection.executemany(PUT_ROW, rows)
    except BaseException:
        _remove(temporary)
        raise
    _sync(temporary)
    os.replace(temporary, path)
    _sync(os.path.dirname(os.path.abspath(path)))


def _sync(path: str) -> None:
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
