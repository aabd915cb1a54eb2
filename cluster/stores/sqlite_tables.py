"""The tables of the coordination file in SQL, and the checksum of a row."""

import sqlite3

from crc32c import crc32c

from cluster.ports.coordination import KeyValue

FORMAT = 1

# A checksum that is NULL: an earlier version wrote the row.
_ITEMS = """CREATE TABLE IF NOT EXISTS items (
    key VARCHAR NOT NULL PRIMARY KEY, value BLOB NOT NULL, create_revision INTEGER NOT NULL,
    mod_revision INTEGER NOT NULL, version INTEGER NOT NULL, lease_id INTEGER NOT NULL, checksum INTEGER
)"""
_STORE = """CREATE TABLE IF NOT EXISTS store (
    only_row INTEGER NOT NULL PRIMARY KEY, format INTEGER NOT NULL, revision INTEGER NOT NULL, openings INTEGER NOT NULL
)"""
# An earlier version leaves the checksum as it was.
_FORGET_CHECKSUM = """CREATE TRIGGER IF NOT EXISTS forget_checksum AFTER UPDATE OF value ON items
WHEN NEW.checksum IS OLD.checksum BEGIN UPDATE items SET checksum = NULL WHERE key = NEW.key; END"""

INSERT_STORE = "INSERT INTO store (only_row, format, revision, openings) VALUES (1, ?, ?, ?)"
SELECT_ITEMS = "SELECT key, value, create_revision, mod_revision, version, lease_id, checksum FROM items"
PUT_ROW = """INSERT INTO items (key, value, create_revision, mod_revision, version, lease_id, checksum)
VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value,
create_revision = excluded.create_revision, mod_revision = excluded.mod_revision, version = excluded.version,
lease_id = excluded.lease_id, checksum = excluded.checksum"""
REMOVE_ROW = "DELETE FROM items WHERE key = ?"

Row = tuple[str, bytes, int, int, int, int, int]


def make_tables(connection: sqlite3.Connection) -> None:
    """Those that are missing. A file of an earlier version has no checksums yet."""
    connection.execute(_ITEMS)
    connection.execute(_STORE)
    columns = {row[1] for row in connection.execute("PRAGMA table_info(items)")}
    if "checksum" not in columns:
        connection.execute("ALTER TABLE items ADD COLUMN checksum INTEGER")
    connection.execute(_FORGET_CHECKSUM)


def row_of(item: KeyValue) -> Row:
    """As `PUT_ROW` takes it."""
    return (
        item.key,
        item.value,
        item.create_revision,
        item.mod_revision,
        item.version,
        item.lease_id,
        checksum_of(item),
    )


def checksum_of(item: KeyValue) -> int:
    """CRC-32C over everything in the row."""
    numbers = f"{item.key}\0{item.create_revision}\0{item.mod_revision}\0{item.version}\0{item.lease_id}\0"
    return int(crc32c(item.value, crc32c(numbers.encode())))
