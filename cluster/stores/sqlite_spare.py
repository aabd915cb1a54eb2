"""The spare of the coordination file: the same content in another file beside it, for `acklog rebuild`."""

import contextlib
import os

from sqlalchemy import create_engine
from sqlalchemy.engine import URL
from sqlalchemy.pool import StaticPool

from cluster.ports.coordination import NO_LEASE
from cluster.stores.key_space import KeySpace
from cluster.stores.sqlite_tables import FORGET_CHECKSUM, FORMAT, metadata, put_row, row_of, store_table


def spare_path(path: str) -> str:
    """`coordination.sqlite` has `coordination-copy.sqlite`."""
    stem, suffix = os.path.splitext(path)
    return f"{stem}-copy{suffix}"


def write_whole(path: str, keys: KeySpace, *, openings: int) -> None:
    """A file with these keys, without those of leases: atomically and durably, in the place of any other at `path`.
    Raises DBAPIError and OSError; what was there before is there then."""
    temporary = path + ".tmp"
    _remove(temporary)
    engine = create_engine(URL.create("sqlite+pysqlite", database=temporary), poolclass=StaticPool)
    try:
        with engine.begin() as connection:
            metadata.create_all(connection)
            connection.exec_driver_sql(FORGET_CHECKSUM)
            connection.execute(
                store_table.insert().values(only_row=1, format=FORMAT, revision=keys.revision, openings=openings)
            )
            rows = [row_of(item) for item in keys.list("").items if item.lease_id == NO_LEASE]
            if rows:
                connection.execute(put_row, rows)
    except BaseException:
        engine.dispose()
        _remove(temporary)
        raise
    engine.dispose()
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
